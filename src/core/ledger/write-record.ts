/** Makes the record of a request from its draft. */
import { nanoFromUsd } from '../../catalog/cost.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type {
  LedgerAttempt,
  LedgerCandidate,
  LedgerExclusion,
  LedgerPlugin,
  LedgerRecord,
  LedgerTool,
  LedgerUsage,
} from '../../contracts/ledger.ts';
import type { PlanStep, Rejection, RoutePlan } from '../selection/route-plan.ts';
import { writtenPrint } from './prompt-print.ts';
import type { DraftedAttempt, DraftedPrompt, DraftedUsage, DraftedWork, PendingRecord } from './pending-record.ts';
import { refusalReason } from './refusal-reason.ts';
import { decisionOf, noteOf, type ObservedNotes } from './write-decision.ts';
import { FAILURE_RULES } from '../../contracts/failure.ts';
import type { DecisionFigures } from '../../contracts/events.ts';

/** What a record depends on besides its draft. */
export interface RecordContext {
  /** Names of members of `metadata` that are kept. */
  readonly tags: readonly string[];
  /** What stands for the session's id. */
  readonly session: string | undefined;
}

/** Writes the record of a request. Pure: the same draft always gives the same record. */
export function writeRecord(pendingRecord: PendingRecord, context: RecordContext): LedgerRecord {
  const { request, plan, attempts, works, answer, error, startedAt } = pendingRecord;
  const last = attempts.at(-1)?.step.endpoint;
  const endpoint = answer?.endpoint ?? last;
  const notes = noteOf(pendingRecord);
  const plugins = works.flatMap((work) => (work.kind === 'plugin' ? [writePlugin(work, startedAt)] : []));
  const tools = works.flatMap((work) => (work.kind === 'tool' ? [writeTool(work, startedAt)] : []));
  const usage = usageOfAnswer(pendingRecord);
  const ownKeyNanoUsd = attempts.reduce((sum, attempt) => sum + ownKeyCost(attempt), 0);
  return {
    version: 1,
    id: request.id,
    at: Math.round(pendingRecord.at),
    duration_ms: since(startedAt, pendingRecord.endedAt),
    ...(answer === undefined ? {} : { first_token_ms: since(startedAt, answer.firstTokenAt) }),
    account: request.account.id,
    ...(request.parent === undefined ? {} : { parent: request.parent }),
    ...(request.mirror === undefined ? {} : { mirror: request.mirror }),
    ...(request.id.startsWith('gen-batch-') ? { batch: true } : {}),
    ...tagsOf(request.metadata, context.tags),
    ...(context.session === undefined ? {} : { session: context.session }),
    format: request.operation === 'embeddings' ? 'embeddings' : (request.format ?? 'chat'),
    stream: request.stream,
    requested: request.requested,
    ...(request.applied === undefined ? {} : { applied: request.applied }),
    strategy: strategyOf(plan, answer?.endpoint),
    ...(pendingRecord.refused === true ? { refused: true } : {}),
    status: error?.status ?? 200,
    ...(error === undefined ? {} : { error_type: error.errorType }),
    ...reasonOf(pendingRecord),
    ...(error?.committed === true ? { committed: true } : {}),
    ...(answer === undefined || answer.finishReason === null ? {} : { finish_reason: answer.finishReason }),
    ...nativeReasonOf(answer),
    // Where a plugin or the response cache answered, nobody was called.
    ...(last === undefined || endpoint === undefined ? {} : { endpoint: endpoint.id }),
    ...(endpoint === undefined ? {} : { provider: endpoint.provider, model: endpoint.model }),
    ...(endpoint?.byok === undefined ? {} : { own_key: true }),
    ...(usage === undefined ? {} : { usage }),
    ...costOf(attempts, works),
    ...(ownKeyNanoUsd === 0 ? {} : { own_key_cost_nano_usd: ownKeyNanoUsd }),
    ...(pendingRecord.cache === undefined ? {} : { cache: pendingRecord.cache }),
    candidates: plan.steps.map((step) => writeCandidate(step, notes)),
    excluded: plan.rejected.map((rejection) => writeExclusion(rejection, notes)),
    attempts: attempts.map((attempt, index) => writeAttempt(attempt, index, startedAt)),
    ...(plugins.length === 0 ? {} : { plugins }),
    ...(tools.length === 0 ? {} : { tools }),
    ...(pendingRecord.prompt === undefined ? {} : promptOf(pendingRecord.prompt)),
    ...decisionOf(pendingRecord),
  };
}

/** Hashes of the prompt, and why it was not in a cache. */
function promptOf({ print, report }: DraftedPrompt): Pick<LedgerRecord, 'prompt' | 'cold'> {
  const prompt = writtenPrint(print);
  const {
    cause,
    at,
    line,
    change,
    moved,
    provider_cause: found,
    expected_tokens: expected,
    cached_tokens: cached,
    lost_usd: lost = 0,
  } = report;
  if (cause === undefined) return { prompt };
  return {
    prompt,
    cold: {
      cause,
      ...(at === undefined ? {} : { at }),
      ...(line === undefined ? {} : { line }),
      ...(change === undefined ? {} : { change }),
      ...(moved === undefined ? {} : { moved }),
      ...(found === undefined ? {} : { provider_cause: found }),
      ...(expected <= cached ? {} : { missed_tokens: expected - cached }),
      ...(lost === 0 ? {} : { lost_nano_usd: nanoFromUsd(lost) }),
    },
  };
}

/** What was charged; nothing where the price of an attempt is unknown, as a part of it would look like all of it. */
function costOf(
  attempts: readonly DraftedAttempt[],
  works: readonly DraftedWork[],
): Pick<LedgerRecord, 'cost_nano_usd'> {
  let cost = 0;
  for (const { chargedNanoUsd } of attempts) {
    if (chargedNanoUsd === undefined) return {};
    cost += chargedNanoUsd;
  }
  for (const { cost_nano_usd: paid = 0 } of works) cost += paid;
  return { cost_nano_usd: cost };
}

/** Why nobody was called. */
export function reasonOf({
  error,
  attempts,
  works,
}: Pick<PendingRecord, 'error' | 'attempts' | 'works'>): Pick<LedgerRecord, 'reason'> {
  if (error === undefined || attempts.length > 0) return {};
  const plugins = works.flatMap((work) => (work.kind === 'plugin' ? [work] : []));
  const reason = refusalReason({ ...error, plugins });
  return reason === undefined ? {} : { reason };
}

/** Milliseconds with one decimal: more is noise. */
function since(startedAt: number, at: number): number {
  return Math.max(0, Math.round((at - startedAt) * 10) / 10);
}

function tagsOf(
  metadata: Readonly<Record<string, string>> | undefined,
  names: readonly string[],
): Pick<LedgerRecord, 'tags'> {
  if (metadata === undefined) return {};
  const tags = names.flatMap((name) => {
    const value = Object.hasOwn(metadata, name) ? metadata[name] : undefined;
    return value === undefined ? [] : [[name, value] as const];
  });
  return tags.length === 0 ? {} : { tags: Object.fromEntries(tags) };
}

function strategyOf({ steps }: RoutePlan, answered: Endpoint | undefined): string {
  const step = steps.find(({ endpoint }) => endpoint === answered) ?? steps[0];
  return step?.strategy ?? 'direct';
}

function nativeReasonOf(answer: PendingRecord['answer']): Pick<LedgerRecord, 'native_finish_reason'> {
  const native = answer?.nativeFinishReason;
  return native === undefined || native === answer?.finishReason ? {} : { native_finish_reason: native };
}

/** What the models of the request itself used, in all turns. */
function usageOfAnswer({ attempts, answer }: PendingRecord): LedgerUsage | undefined {
  const used = attempts.flatMap(({ outcome, usage, kept }) =>
    (outcome.ok || kept === true || (answer !== undefined && outcome.failure.kind === 'schema_mismatch')) &&
    usage !== undefined
      ? [usage]
      : [],
  );
  if (used.length === 0) return answer === undefined || attempts.length > 0 ? undefined : writeUsage(answer.usage);
  return used.map(writeUsage).reduce(addUsage);
}

function addUsage(left: LedgerUsage, right: LedgerUsage): LedgerUsage {
  const sum = (name: 'cached_tokens' | 'cache_write_tokens' | 'reasoning_tokens'): number =>
    (left[name] ?? 0) + (right[name] ?? 0);
  const [cached, written, reasoning] = [sum('cached_tokens'), sum('cache_write_tokens'), sum('reasoning_tokens')];
  return {
    prompt_tokens: left.prompt_tokens + right.prompt_tokens,
    completion_tokens: left.completion_tokens + right.completion_tokens,
    ...(cached === 0 ? {} : { cached_tokens: cached }),
    ...(written === 0 ? {} : { cache_write_tokens: written }),
    ...(reasoning === 0 ? {} : { reasoning_tokens: reasoning }),
    ...(left.estimated === true || right.estimated === true ? { estimated: true } : {}),
  };
}

function writeUsage(usage: DraftedUsage): LedgerUsage {
  const { cached_tokens: cached = 0, cache_write_tokens: written = 0 } = usage.prompt_tokens_details ?? {};
  const reasoning = usage.completion_tokens_details?.reasoning_tokens ?? 0;
  return {
    prompt_tokens: usage.prompt_tokens,
    completion_tokens: usage.completion_tokens,
    ...(cached === 0 ? {} : { cached_tokens: cached }),
    ...(written === 0 ? {} : { cache_write_tokens: written }),
    ...(reasoning === 0 ? {} : { reasoning_tokens: reasoning }),
    ...(usage.estimated === true ? { estimated: true } : {}),
  };
}

/** What its provider charges the account itself. */
function ownKeyCost({ step, usage }: DraftedAttempt): number {
  const usd = step.endpoint.byok === undefined ? undefined : usage?.cost_details?.upstream_inference_cost;
  return typeof usd === 'number' ? nanoFromUsd(usd) : 0;
}

function writeCandidate({ endpoint, target, why, figures }: PlanStep, notes: ObservedNotes): LedgerCandidate {
  const seen = notes(endpoint);
  return {
    endpoint: endpoint.id,
    ...(target === 0 ? {} : { target }),
    why,
    ...(figures === undefined ? {} : writeFigures(figures)),
    ...(seen === undefined ? {} : { seen }),
  };
}

/** Numbers that are as usual are left out: records are many, and most numbers say nothing. */
function writeFigures(figures: DecisionFigures): Partial<LedgerCandidate> {
  const { expectedCostUsd, laterCostUsd } = figures;
  const [warmth, health] = [rounded(figures.warmth), rounded(figures.health)];
  const [slowness, headroom] = [rounded(figures.slowness), rounded(figures.headroom)];
  return {
    ...(expectedCostUsd === undefined ? {} : { expected_cost_nano_usd: nanoFromUsd(expectedCostUsd) }),
    ...(laterCostUsd === undefined ? {} : { later_cost_nano_usd: nanoFromUsd(laterCostUsd) }),
    ...(warmth === 0 ? {} : { warmth }),
    ...(health === 1 ? {} : { health }),
    ...(slowness === 1 ? {} : { slowness }),
    ...(headroom === 1 ? {} : { headroom }),
    share: rounded(figures.share),
  };
}

/** As `router_metadata` has them. */
function rounded(value: number): number {
  return Math.round(value * 1e4) / 1e4;
}

function writeExclusion({ endpoint, reason, detail }: Rejection, notes: ObservedNotes): LedgerExclusion {
  const seen = notes(endpoint);
  return {
    endpoint: endpoint.id,
    reason,
    ...(detail === undefined ? {} : { detail }),
    ...(seen === undefined ? {} : { seen }),
  };
}

function writeAttempt(attempt: DraftedAttempt, index: number, startedAt: number): LedgerAttempt {
  const { step, hedge, outcome, firstTokenAt, usage, chargedNanoUsd, refusal, kept, continued } = attempt;
  return {
    number: index + 1,
    endpoint: step.endpoint.id,
    ...(hedge === true ? { hedge } : {}),
    start_ms: since(startedAt, attempt.startedAt),
    ...(firstTokenAt === undefined ? {} : { first_token_ms: since(startedAt, firstTokenAt) }),
    end_ms: since(startedAt, attempt.endedAt),
    outcome: outcome.ok ? 'ok' : outcome.failure.kind,
    status: outcome.ok ? 200 : (outcome.failure.status ?? FAILURE_RULES[outcome.failure.kind].status),
    ...(outcome.ok || outcome.failure.address === undefined ? {} : { provider_url: outcome.failure.address }),
    ...(usage === undefined ? {} : { usage: writeUsage(usage) }),
    ...(chargedNanoUsd === undefined
      ? { unpriced: true }
      : chargedNanoUsd === 0
        ? {}
        : { cost_nano_usd: chargedNanoUsd }),
    ...(refusal === undefined ? {} : { refusal }),
    ...(kept === true ? { kept } : {}),
    ...(continued === undefined ? {} : { continued: continued.way }),
  };
}

function writePlugin(work: Extract<DraftedWork, { kind: 'plugin' }>, startedAt: number): LedgerPlugin {
  const { kind: _, startedAt: from, endedAt, cost_nano_usd: cost, ...shown } = work;
  const times = { start_ms: since(startedAt, from), end_ms: since(startedAt, endedAt) };
  return { ...shown, ...times, ...(cost === undefined ? {} : { cost_nano_usd: cost }) };
}

function writeTool(work: Extract<DraftedWork, { kind: 'tool' }>, startedAt: number): LedgerTool {
  const { kind: _, startedAt: from, endedAt, cost_nano_usd: cost, ...shown } = work;
  const times = { start_ms: since(startedAt, from), end_ms: since(startedAt, endedAt) };
  return { ...shown, ...times, ...(cost === undefined ? {} : { cost_nano_usd: cost }) };
}
