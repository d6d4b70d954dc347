/** Runs the server tools that a turn called. */
import * as read from '../../platform/json.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { frozenRequest } from '../../core/pipeline/frozen.ts';
import {
  type ExpandableTool,
  expandableTools,
  type ExpandedTools,
  type OfferedTool,
} from '../../core/pipeline/offer-tools.ts';
import type { ToolContext, ToolOutcome } from '../../contracts/server-tool.ts';
import type { AnsweredCall } from '../../core/pipeline/turn-requests.ts';
import { errorOf, RouterError } from '../../protocol/router-error.ts';
import type { ResultToolCall } from '../../protocol/chat-result.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { MAX_PLUGIN_OUTPUT_LENGTH } from '../../protocol/limits.ts';
import { runBounded, sharedContext } from '../pipeline/inner-call.ts';
import type { RequestUsage } from '../pipeline/request-usage.ts';
import { warn } from '../events/events.ts';
import type { RuntimeServices } from '../chat/services.ts';
import { StageMeter } from '../events/stage-meter.ts';
import { errorOfFault } from '../chat/router-errors.ts';
import { inspectJson } from '../../protocol/inspect-json.ts';
import type { ToolCallOutcome } from '../../contracts/events.ts';

/** What the calls of one turn have in common. */
interface ToolRun {
  readonly services: RuntimeServices;
  readonly tools: ReadonlyMap<string, OfferedTool>;
  /** Calls so far, by function name. */
  readonly uses: Map<string, number>;
  readonly request: NormalizedRequest;
  readonly ledger: RequestUsage;
  readonly signal: AbortSignal;
}

/** A call that has its result. */
export interface FinishedCall extends AnsweredCall {
  /** Absent when the tool itself was not run, or failed. */
  readonly outcome?: ToolOutcome | undefined;
}

/**
 * Runs the calls of one turn at the same time. Nothing that a tool does is an error of the request: the model reads
 * what went wrong, and decides.
 *
 * @param stepsLeft - Calls for which there is room; the model is told of the others that there was none.
 * @throws The signal's reason when the client disconnects; the error of a tool whose outcome {@link ToolOutcome.fails}.
 */
export async function runTools(
  calls: readonly ResultToolCall[],
  run: ToolRun,
  stepsLeft: number,
): Promise<readonly FinishedCall[]> {
  const finished = await Promise.all(
    calls.map(async (call, index): Promise<FinishedCall> => {
      if (index >= stepsLeft) return refused(call, 'No more tool calls can be made for this request; answer now');
      return runTool(call, run);
    }),
  );
  for (const { outcome } of finished) if (outcome?.fails !== undefined) throw outcome.fails;
  return finished;
}

async function runTool(call: ResultToolCall, run: ToolRun): Promise<FinishedCall> {
  const { services, tools, uses, ledger } = run;
  const tool = tools.get(call.function.name);
  if (tool === undefined) return refused(call, 'There is no such tool');
  const use = (uses.get(tool.name) ?? 0) + 1;
  uses.set(tool.name, use);
  if (use > tool.maxUses) return refused(call, `max_uses exceeded: this tool can be used ${tool.maxUses} times`);
  const args = argumentsOf(call);
  if (args === undefined) return refused(call, 'The arguments must be a JSON object');
  ledger.toolCalls(0, 1);
  const meter = new StageMeter(services, run.request, ledger.nextWork());
  meter.toolStarts(tool.definition.type, tool.name);
  let reported: ToolCallOutcome = 'aborted';
  let result: string | undefined;
  try {
    const { finished, outcome } = await execute(call, run, { tool, args, use, meter });
    reported = outcome;
    ({ result } = finished);
    return finished;
  } finally {
    meter.toolSaid(call.id, args, result);
    meter.toolEnds(tool.definition.type, tool.name, reported);
  }
}

/** A call that a tool was run for. */
interface ExecutedCall {
  readonly finished: FinishedCall;
  readonly outcome: ToolCallOutcome;
}

/** What a tool is run with. */
interface ToolUse {
  readonly tool: OfferedTool;
  readonly args: JsonObject;
  /** Counted from 1 over all calls of this tool in this request. */
  readonly use: number;
  readonly meter: StageMeter;
}

async function execute(call: ResultToolCall, run: ToolRun, used: ToolUse): Promise<ExecutedCall> {
  const { services, ledger } = run;
  const { tool, args, meter } = used;
  const { definition, options } = tool;
  const outcome = await runBounded(
    services.environment,
    run.signal,
    definition.timeoutMs ?? services.timeouts.serverToolMs,
    (signal) => definition.execute(args, options, contextOf(run, used, signal)),
  );
  if (outcome.type === 'late') {
    return { finished: failed(call, run, tool, { reason: 'The tool took too long' }), outcome: 'timeout' };
  }
  if (outcome.type === 'threw') {
    return {
      finished: failed(call, run, tool, { thrown: outcome.thrown, reason: reasonOf(outcome.thrown) }),
      outcome: 'failed',
    };
  }
  try {
    const checked = checkOutcome(outcome.value);
    if (checked.used !== undefined) ledger.used(checked.used);
    meter.used(checked.used?.cost);
    const { result } = checked;
    const text = typeof result === 'string' ? result : JSON.stringify(result);
    const went = checked.fails === undefined ? 'ok' : 'failed';
    return { finished: { call, result: text, outcome: checked }, outcome: went };
  } catch (thrown) {
    return {
      finished: failed(call, run, tool, { thrown, reason: 'The tool gave no usable result' }),
      outcome: 'failed',
    };
  }
}

function contextOf(
  { services, request, ledger }: ToolRun,
  { tool, use, meter }: ToolUse,
  signal: AbortSignal,
): ToolContext {
  const { type } = tool.definition;
  return {
    ...sharedContext(services, { request, ledger, signal, meter }, type),
    request: frozenRequest(request),
    name: tool.name,
    use,
    stage(record) {
      if (!signal.aborted) ledger.stage(type, { type: 'server_tools', ...record });
    },
  };
}

function argumentsOf({ function: { arguments: text } }: ResultToolCall): JsonObject | undefined {
  return read.parseObject(text || '{}');
}

function checkOutcome(value: unknown): ToolOutcome {
  if (!isJsonObject(value) || value.result === undefined) throw new TypeError('execute must give back { result }');
  const { fails, ...content } = value;
  if (fails !== undefined && !RouterError.isInstance(fails)) throw new TypeError('fails must be a RouterError');
  const inspection = inspectJson(content, { depth: 64, nodes: 400_000 });
  if (!inspection.ok) throw new TypeError(`the outcome is not JSON: ${inspection.path} ${inspection.problem}`);
  if (inspection.characters > MAX_PLUGIN_OUTPUT_LENGTH) throw new TypeError('the outcome is too large');
  const outcome = value as unknown as ToolOutcome;
  for (const list of [outcome.annotations, outcome.images]) {
    if (list !== undefined && !Array.isArray(list)) throw new TypeError('annotations and images must be lists');
  }
  return outcome;
}

/** An error of ours is written for whoever asked; what others throw is not. */
function reasonOf(thrown: unknown): string {
  return RouterError.isInstance(thrown) ? thrown.message : 'The tool failed';
}

function failed(
  call: ResultToolCall,
  { services }: ToolRun,
  { definition }: OfferedTool,
  { thrown, reason }: { readonly thrown?: unknown; readonly reason: string },
): FinishedCall {
  warn(services.events, {
    code: 'server_tool_failed',
    message: `The server tool "${definition.type}" did not give a result: ${thrown === undefined ? 'timeout' : 'error'}`,
    ...(thrown === undefined ? {} : { thrown }),
  });
  return refused(call, reason);
}

function refused(call: ResultToolCall, error: string): FinishedCall {
  return { call, result: JSON.stringify({ status: 'error', error }) };
}

/**
 * Asks the server tools of a request that become several functions what these are, all at the same time.
 *
 * @param body - As the caller sent it: faults name its paths.
 * @throws {@link RouterError} when one cannot say, or not in time: a model must not answer as if it had no tools.
 */
export async function expandTools(
  services: RuntimeServices,
  request: NormalizedRequest,
  body: unknown,
  signal: AbortSignal,
): Promise<ExpandedTools> {
  const found = expandableTools(request, services.registry, body);
  if (!found.ok) throw errorOfFault(found.fault);
  if (found.value.length === 0) return NONE;
  const options = await Promise.all(
    found.value.map(async (tool) => [tool.index, await expand(services, tool, signal)] as const),
  );
  return new Map(options);
}

const NONE: ExpandedTools = new Map();

async function expand(
  services: RuntimeServices,
  { definition, options }: ExpandableTool,
  caller: AbortSignal,
): Promise<readonly unknown[]> {
  const { environment, timeouts, notifyOperator, events } = services;
  const outcome = await runBounded(environment, caller, definition.timeoutMs ?? timeouts.serverToolMs, (signal) =>
    definition.expand?.(options, { signal, now: environment.now, warn: notifyOperator }),
  );
  if (outcome.type === 'value' && Array.isArray(outcome.value) && outcome.value.length > 0) return outcome.value;
  const thrown = outcome.type === 'threw' ? outcome.thrown : undefined;
  if (RouterError.isInstance(thrown) && thrown.status < 500) throw thrown;
  const why = outcome.type === 'late' ? 'did not say in time what it offers' : 'could not say what it offers';
  warn(events, {
    code: 'server_tool_failed',
    message: `The server tool "${definition.type}" ${why}`,
    ...(thrown === undefined ? {} : { thrown }),
  });
  if (RouterError.isInstance(thrown)) throw thrown;
  throw errorOf(502, `The server tool "${definition.type}" ${why}`);
}
