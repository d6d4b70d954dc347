/** Runs the hooks of the plugins of one request. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { PlanContext, PluginContext, StageRecord } from '../../contracts/plugin-context.ts';
import type { AnswerJudge, PluginAnswer, RequestChange, Verdict } from '../../contracts/plugin.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { ActivePlugin } from '../../core/pipeline/choose-plugins.ts';
import { targetOf } from '../../core/pipeline/filter-candidates.ts';
import { type ChangedRequest, applyChange, changedMembers, frozenCopy } from '../../core/pipeline/frozen.ts';
import { TransformChain } from '../../core/pipeline/transform-chain.ts';
import { ResultCollector } from '../../core/stream/collect.ts';
import { piecesOf } from '../../core/stream/pieces.ts';
import type { ChatResult } from '../../protocol/chat-result.ts';
import { completeChoices } from '../../protocol/plugin-output.ts';
import { RouterError } from '../../protocol/router-error.ts';
import { checkAnswerVerdict, checkChange, checkResult, checkVerdict, TAKEN } from './checked-output.ts';
import { warn } from '../events/events.ts';
import type { RuntimeServices } from '../chat/services.ts';
import { StageMeter } from '../events/stage-meter.ts';
import {
  type HookFailure,
  type HookName,
  handleHookFailure,
  refusesRequest,
  runBounded,
  sharedContext,
} from './inner-call.ts';
import type { RequestUsage } from './request-usage.ts';
import { loadPlugins, needsLoading } from './load-plugins.ts';
import { inspectJson } from '../../protocol/inspect-json.ts';
import type { PluginFacts, PluginOutcome } from '../../contracts/events.ts';

/** How the plugins' `onRequest` came out. */
type RequestOutcome =
  | { readonly type: 'continue'; readonly changed: ChangedRequest }
  | { readonly type: 'answer'; readonly answer: PluginAnswer; readonly by: string };

/** A non-streaming response after a hook, and whether it is another one. */
interface Rewritten {
  readonly after: ChatResult;
  readonly rewritten: boolean;
}

/** One hook of a plugin, and what makes a value of what it gives. */
interface Hook<Value> {
  readonly name: PluginFacts['hook'];
  readonly start: (context: PluginContext) => unknown;
  /** Throws for what is not what the hook's type says. */
  readonly check: (value: unknown) => Value;
}

/** Milliseconds for which a hook may keep everybody else from running before the operator is told. */
const SLOW_MS = 200;

/** The plugins of one request at work: their hooks in order, what they remember, and what becomes of failures. */
export class PluginRun {
  readonly #services: RuntimeServices;
  readonly #ledger: RequestUsage;
  readonly #signal: AbortSignal;
  readonly #roll: number;
  #active: readonly ActivePlugin[];
  readonly #states = new Map<ActivePlugin, unknown>();

  constructor(
    services: RuntimeServices,
    active: readonly ActivePlugin[],
    ledger: RequestUsage,
    {
      signal,
      roll = services.environment.random(),
    }: { readonly signal: AbortSignal; readonly roll?: number | undefined },
  ) {
    this.#services = services;
    this.#active = active;
    this.#ledger = ledger;
    this.#signal = signal;
    this.#roll = roll;
  }

  /** Plugins that take part; those that were skipped do not any more. */
  get active(): readonly ActivePlugin[] {
    return this.#active;
  }

  get roll(): number {
    return this.#roll;
  }

  stateOf(active: ActivePlugin): unknown {
    return this.#states.get(active);
  }

  /** True when some plugin wants to see requests before they go to an endpoint. */
  get prepares(): boolean {
    return this.#active.some(({ plugin }) => plugin.onAttempt !== undefined);
  }

  /** True when some plugin may rewrite what goes to an endpoint or what comes back, which it sees in the chat form. */
  get rewrites(): boolean {
    return this.#active.some(
      ({ plugin }) =>
        plugin.onAttempt !== undefined ||
        plugin.onChunks !== undefined ||
        plugin.onAnswer !== undefined ||
        plugin.onResult !== undefined,
    );
  }

  /** Loads what the plugins need, the first time that each takes part in a request. */
  async load(): Promise<void> {
    if (!needsLoading(this.#active)) return;
    await loadPlugins(this.#services, this.#active, this.#signal, (active, failure) =>
      this.broken(active, 'load', failure),
    );
  }

  /** Runs `onRequest` of all plugins in order, until one answers or refuses. */
  async onRequest(request: NormalizedRequest): Promise<RequestOutcome> {
    let changed: ChangedRequest = { request, needs: {} };
    for (const active of this.#active) {
      const { plugin, options } = active;
      if (plugin.onRequest === undefined) continue;
      const before = changed.request;
      const verdict = await this.#hook(active, before, {
        name: 'onRequest',
        start: (context) => plugin.onRequest?.(before, options, context),
        check: (value) => checkVerdict(value, charactersOf(before)),
      });
      if (verdict === undefined) continue;
      if (verdict.type === 'block') throw verdict.error;
      if (verdict.type === 'answer') return { type: 'answer', answer: verdict.answer, by: plugin.id };
      if (verdict.state !== undefined) this.#states.set(active, verdict.state);
      if (verdict.change !== undefined) changed = applyChange(changed, verdict.change);
    }
    return { type: 'continue', changed };
  }

  /** What a request looks like for one endpoint. */
  async onAttempt(request: NormalizedRequest, endpoint: Endpoint): Promise<NormalizedRequest> {
    let changed: ChangedRequest = { request, needs: {} };
    for (const active of this.#active) {
      const { plugin, options } = active;
      if (plugin.onAttempt === undefined) continue;
      const before = changed.request;
      const change = await this.#hook(active, before, {
        name: 'onAttempt',
        start: (context) => plugin.onAttempt?.(before, endpoint, options, context),
        check: (value) => (value === undefined ? undefined : checkChange(value, charactersOf(before))),
      });
      if (change !== undefined) changed = applyChange(changed, change);
    }
    return changed.request;
  }

  /** The transforms of all plugins in a row, the last registered first; undefined when there are none. */
  transforms(request: NormalizedRequest, only: readonly ActivePlugin[] = this.#active): ActiveChain | undefined {
    const transforms = only.toReversed().flatMap((active) => {
      const { plugin, options } = active;
      if (plugin.onChunks === undefined) return [];
      try {
        const stage = (record: StageRecord): void => this.#ledger.stage(plugin.id, record);
        const transform = plugin.onChunks(request, options, { ...this.#planContext(active), stage });
        if (transform === undefined) return [];
        if (typeof transform.step !== 'function' || typeof transform.end !== 'function') {
          throw new TypeError('onChunks must give back a transform with start, step and end');
        }
        return [{ owner: active, transform }];
      } catch (thrown) {
        this.broken(active, 'onChunks', { type: 'threw', thrown });
        return [];
      }
    });
    if (transforms.length === 0) return undefined;
    return new TransformChain(transforms, ({ owner, thrown }) =>
      this.broken(owner, 'onChunks', { type: 'threw', thrown }),
    );
  }

  /** How the plugins judge answers before one is taken, the last registered first; undefined where none does. */
  judge(request: NormalizedRequest): AnswerJudge | undefined {
    const judges = this.#active.toReversed().flatMap((active) => {
      const { plugin, options } = active;
      try {
        const stage = (record: StageRecord): void => this.#ledger.stage(plugin.id, record);
        const judge = plugin.onAnswer?.(request, options, { ...this.#planContext(active), stage });
        return judge === undefined ? [] : [{ active, judge }];
      } catch (thrown) {
        // What a plugin says of the request itself is for the caller.
        if (RouterError.isInstance(thrown) && thrown.status < 500) throw thrown;
        this.broken(active, 'onAnswer', { type: 'threw', thrown });
        return [];
      }
    });
    if (judges.length === 0) return undefined;
    return (choices) => {
      let current = choices;
      for (const { active, judge } of judges) {
        if (!this.#active.includes(active)) continue;
        try {
          const verdict = checkAnswerVerdict(judge(frozenCopy(current)));
          if (verdict.type === 'refused') return verdict;
          current = verdict.choices ?? current;
        } catch (thrown) {
          this.broken(active, 'onAnswer', { type: 'threw', thrown });
        }
      }
      return current === choices ? TAKEN : { type: 'taken', choices: current };
    };
  }

  /** Runs a non-streaming response through all plugins, the last registered first. */
  async onResult(result: ChatResult, request: NormalizedRequest): Promise<ChatResult> {
    let current = result;
    for (const active of this.#active.toReversed()) {
      const { plugin, options } = active;
      const before = frozenCopy(current);
      if (plugin.onResult === undefined) {
        current = this.#transformed(active, current, request);
        continue;
      }
      const rewritten = await this.#hook(active, request, {
        name: 'onResult',
        start: (context) => plugin.onResult?.(before, request, options, context),
        check: (value): Rewritten => {
          if (value === before) return { after: before, rewritten: false };
          const after = checkResult(value, before);
          const untouched = JSON.stringify(completeChoices(before.choices));
          return { after, rewritten: JSON.stringify(after.choices) !== untouched };
        },
      });
      current = rewritten?.after ?? current;
    }
    return current;
  }

  /** Deals with a hook that failed: throws, or takes its plugin out of the rest of this request. */
  broken(active: ActivePlugin, hook: HookName, failure: HookFailure): void {
    handleHookFailure(this.#services, this.#ledger, { active, hook, failure });
    this.#active = this.#active.filter((one) => one !== active);
  }

  /** Notes which transforms changed an answer, once it is over. */
  noteTransforms(chain: ActiveChain): void {
    for (const { plugin } of chain.changedBy) this.#ledger.stageUnlessNoted(plugin.id, 0, 'changed the answer');
  }

  #transformed(active: ActivePlugin, result: ChatResult, request: NormalizedRequest): ChatResult {
    const chain = this.transforms(request, [active]);
    if (chain === undefined) return result;
    const collector = new ResultCollector();
    for (const piece of [...piecesOf({ choices: result.choices }).flatMap((one) => chain.push(one)), ...chain.end()]) {
      collector.add(piece);
    }
    const rewritten = new Map(collector.result().choices.map((choice) => [choice.index, choice.message]));
    this.noteTransforms(chain);
    return {
      ...result,
      choices: result.choices.map((one) => ({ ...one, message: rewritten.get(one.index) ?? one.message })),
    };
  }

  /** Runs one hook of one plugin; undefined when it was skipped. */
  async #hook<Value>(
    active: ActivePlugin,
    request: NormalizedRequest,
    { name: hook, start, check }: Hook<Value>,
  ): Promise<Value | undefined> {
    const { environment, timeouts } = this.#services;
    const { id } = active.plugin;
    const meter = new StageMeter(this.#services, request, this.#ledger.nextWork());
    // What a plugin said about the request covers what it does for each endpoint and to the answer.
    const stagesBefore = hook === 'onRequest' ? this.#ledger.stages.length : 0;
    let reported: PluginOutcome = 'aborted';
    const skip = (failure: HookFailure): undefined => {
      reported = refusesRequest(failure) ? 'refused' : 'failed';
      this.broken(active, hook, failure);
      reported = 'skipped';
    };
    meter.pluginStarts(id, hook);
    try {
      const outcome = await runBounded(
        environment,
        this.#signal,
        active.plugin.timeoutMs ?? timeouts.pluginMs,
        (signal) => this.#timed(active, hook, () => start(this.#context(active, request, signal, meter))),
      );
      if (outcome.type !== 'value') return skip(outcome);
      try {
        const value = check(outcome.value);
        const summary = summaryOf(value);
        // Every stage that changed something leaves an entry, also when its plugin did not write one.
        if (summary !== undefined) this.#ledger.stageUnlessNoted(id, stagesBefore, summary);
        reported = outcomeOf(value, summary);
        return value;
      } catch (thrown) {
        return skip({ type: 'threw', thrown });
      }
    } finally {
      meter.pluginEnds(id, hook, reported);
    }
  }

  /** A hook that computes for long stops all other requests of this process: its operator should know which. */
  #timed(active: ActivePlugin, hook: HookName, run: () => unknown): unknown {
    const { environment, events } = this.#services;
    const startedAt = environment.now();
    const usedBefore = environment.cpuTime?.();
    try {
      return run();
    } finally {
      const past = environment.now() - startedAt;
      if (past >= SLOW_MS) {
        // On a machine with other work, the process itself may have been kept waiting: that is not the plugin's doing.
        const used = usedBefore === undefined ? past : (environment.cpuTime?.() ?? 0) - usedBefore;
        const ms = Math.round(Math.min(past, used));
        const message = `The plugin "${active.plugin.id}" kept this process busy for ${ms} ms in ${hook}`;
        if (ms >= SLOW_MS) warn(events, { code: 'plugin_slow', message });
      }
    }
  }

  #planContext(active: ActivePlugin): PlanContext {
    const { catalog } = this.#services.facts;
    return {
      because: active.because,
      state: this.stateOf(active),
      catalog,
      roll: this.#roll,
      target: (model, strategy) => targetOf(catalog, model, strategy),
    };
  }

  #context(active: ActivePlugin, request: NormalizedRequest, signal: AbortSignal, meter: StageMeter): PluginContext {
    const { id } = active.plugin;
    const ledger = this.#ledger;
    return {
      ...sharedContext(this.#services, { request, ledger, signal, meter }, id),
      because: active.because,
      state: this.stateOf(active),
      stage(record) {
        if (!signal.aborted) ledger.stage(id, record);
      },
      used(use) {
        if (signal.aborted) return;
        ledger.used(use);
        meter.used(use.cost);
      },
      onError(metadata) {
        if (!signal.aborted) ledger.onError(metadata);
      },
    };
  }
}

/** The transforms of a request's plugins. */
export type ActiveChain = TransformChain<ActivePlugin>;

/** What a hook did, in words; undefined when it changed nothing. */
function summaryOf(value: unknown): string | undefined {
  const output = value as Partial<Verdict> | RequestChange | Rewritten | undefined;
  if (output === undefined) return undefined;
  if ('rewritten' in output) return output.rewritten ? 'changed the answer' : undefined;
  if ('type' in output && output.type === 'answer') return 'answered by itself';
  if ('type' in output && output.type === 'block') return 'refused the request';
  const change = 'type' in output && output.type === 'continue' ? output.change : (output as RequestChange);
  const changed = change === undefined ? [] : changedMembers(change);
  return changed.length === 0 ? undefined : `changed ${changed.join(', ')}`;
}

/** How events name what a hook did. */
function outcomeOf(value: unknown, summary: string | undefined): PluginOutcome {
  const { type } = (value ?? {}) as Partial<Verdict>;
  if (type === 'answer') return 'answered';
  if (type === 'block') return 'refused';
  return summary === undefined ? 'unchanged' : 'changed';
}

/** Characters of the messages, which a change usually repeats. */
function charactersOf({ messages }: NormalizedRequest): number {
  const inspection = inspectJson(messages, { depth: Infinity, nodes: Infinity });
  return inspection.ok ? inspection.characters : 0;
}
