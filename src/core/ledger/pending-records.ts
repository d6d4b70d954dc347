/** Keeps drafts of records until they are written, in as few objects as possible. */
import type { RoutePlan } from '../selection/route-plan.ts';
import type { DraftedAnswer, DraftedAttempt, PendingRecord } from './pending-record.ts';

/** Drafts that are kept, and later written, together. */
const TOGETHER = 500;

/**
 * Drafts that wait to be written, the oldest first, as numbers and references: most of a draft are small objects, and a
 * ledger in memory keeps a thousand of them for so long that the collector would copy each of them twice. Of what is here
 * it copies the id and little else. What writes them is in `unpack-drafts.ts`.
 */
export class PendingRecords {
  readonly #keeps: number;
  #packs: PackedDrafts[] = [];
  #length = 0;

  /** @param keeps - The latest that have to be kept; of those before them some may be gone. */
  constructor(keeps = Infinity) {
    this.#keeps = keeps;
  }

  get length(): number {
    return this.#length;
  }

  add(pendingRecord: PendingRecord): void {
    let last = this.#packs.at(-1);
    if (last === undefined || last.count === TOGETHER) {
      // Written over rather than made anew, so that a list that is full leaves nothing to the collector.
      last = this.#length - TOGETHER >= this.#keeps ? this.#packs.shift() : undefined;
      this.#length -= last?.count ?? 0;
      last ??= new PackedDrafts();
      last.clear();
      this.#packs.push(last);
    }
    last.add(pendingRecord);
    this.#length += 1;
  }

  /** Takes away the oldest, without those that need not be kept. */
  take(): PackedDrafts | undefined {
    const pack = this.#packs.shift();
    if (pack === undefined) return undefined;
    pack.skipped = Math.min(pack.count, Math.max(0, this.#length - this.#keeps));
    this.#length -= pack.count;
    return pack;
  }
}

/** Numbers or references of a draft at most, besides those in its lists … */
const MOST_IN_HEAD = 48;
/** … and those of an endpoint that was compared, or of an attempt. */
const MOST_IN_LISTS = 16;

/** Some drafts as two lists, which are read in the order in which they were written. A number that is missing is NaN. */
export class PackedDrafts {
  numbers = new Float64Array(1_024);
  things = room(1_024);
  count = 0;
  /** How many of the first are not wanted any more. */
  skipped = 0;
  #number = 0;
  #thing = 0;

  clear(): void {
    this.count = 0;
    this.#number = 0;
    this.#thing = 0;
  }

  /** Without a call for each member: it is run for every request. */
  add(pendingRecord: PendingRecord): void {
    const { plan, attempts, answer } = pendingRecord;
    const { steps, rejected } = plan;
    this.#makeRoom(MOST_IN_HEAD + MOST_IN_LISTS * (2 * steps.length + rejected.length + attempts.length));
    this.#addRequest(pendingRecord);
    this.#addPlan(plan);
    for (const attempt of attempts) this.#addAttempt(attempt);
    if (answer !== undefined) this.#addAnswer(answer, attempts);
    this.count += 1;
  }

  #addRequest(pendingRecord: PendingRecord): void {
    const { request, attempts, answer } = pendingRecord;
    const { needs, session } = request;
    const { numbers, things } = this;
    let number = this.#number;
    numbers[number++] = pendingRecord.at;
    numbers[number++] = pendingRecord.startedAt;
    numbers[number++] = pendingRecord.endedAt;
    numbers[number++] = attempts.length;
    numbers[number++] = request.created;
    numbers[number++] = request.likelyTokens ?? Number.NaN;
    numbers[number++] = session.draw ?? Number.NaN;
    numbers[number++] = needs.promptTokens;
    numbers[number++] = needs.outputTokens ?? Number.NaN;
    numbers[number++] = needs.images;
    this.#number = number;
    let thing = this.#thing;
    things[thing++] = pendingRecord.facts;
    things[thing++] = pendingRecord.cache;
    things[thing++] = pendingRecord.refused;
    things[thing++] = pendingRecord.error;
    things[thing++] = pendingRecord.works;
    things[thing++] = pendingRecord.prompt;
    things[thing++] = answer?.endpoint;
    things[thing++] = request.id;
    things[thing++] = request.operation;
    things[thing++] = request.stream;
    things[thing++] = request.requested;
    things[thing++] = request.targets;
    things[thing++] = request.serviceTier;
    things[thing++] = request.preferences;
    things[thing++] = request.account;
    things[thing++] = request.metadata;
    things[thing++] = request.format;
    things[thing++] = request.applied;
    things[thing++] = request.parent;
    things[thing++] = request.mirror;
    things[thing++] = request.noReasoning;
    things[thing++] = request.pro;
    things[thing++] = request.native;
    things[thing++] = session.id;
    things[thing++] = session.key;
    things[thing++] = needs.inputModalities;
    things[thing++] = needs.outputModalities;
    things[thing++] = needs.tools;
    things[thing++] = needs.toolChoice;
    things[thing++] = needs.parameters;
    this.#thing = thing;
  }

  #addPlan({ requested, applied, origins, steps, rejected, seen }: RoutePlan): void {
    const { numbers, things } = this;
    let number = this.#number;
    let thing = this.#thing;
    things[thing++] = requested;
    things[thing++] = applied;
    things[thing++] = origins;
    numbers[number++] = steps.length;
    for (const { endpoint, target, strategy, why, figures } of steps) {
      things[thing++] = endpoint;
      numbers[number++] = target;
      things[thing++] = strategy;
      things[thing++] = why;
      things[thing++] = figures !== undefined;
      if (figures === undefined) continue;
      numbers[number++] = figures.share;
      numbers[number++] = figures.expectedCostUsd ?? Number.NaN;
      numbers[number++] = figures.laterCostUsd ?? Number.NaN;
      numbers[number++] = figures.warmth;
      numbers[number++] = figures.health;
      numbers[number++] = figures.slowness;
      numbers[number++] = figures.headroom;
    }
    numbers[number++] = rejected.length;
    for (const { endpoint, reason, detail } of rejected) {
      things[thing++] = endpoint;
      things[thing++] = reason;
      things[thing++] = detail;
    }
    things[thing++] = seen !== undefined;
    if (seen !== undefined) {
      numbers[number++] = seen.now;
      numbers[number++] = seen.roll;
      numbers[number++] = seen.usualAnswerTokens ?? Number.NaN;
      numbers[number++] = seen.promptRatio ?? Number.NaN;
      things[thing++] = seen.served;
      things[thing++] = seen.prompts;
      things[thing++] = seen.admissions;
      numbers[number++] = seen.states.length;
      for (const { endpoint, condition, lateness, lateAt, measures, tools, tokens, charges, timing } of seen.states) {
        things[thing++] = endpoint;
        numbers[number++] = condition?.value ?? Number.NaN;
        numbers[number++] = condition?.at ?? Number.NaN;
        numbers[number++] = condition?.lostUsd ?? Number.NaN;
        numbers[number++] = lateness;
        numbers[number++] = lateAt;
        things[thing++] = measures;
        things[thing++] = tools;
        numbers[number++] = tokens ?? Number.NaN;
        numbers[number++] = charges;
        numbers[number++] = timing?.baseMs ?? Number.NaN;
        numbers[number++] = timing?.perTokenMs ?? Number.NaN;
        numbers[number++] = timing?.queueMs ?? Number.NaN;
      }
    }
    this.#number = number;
    this.#thing = thing;
  }

  #addAttempt(attempt: DraftedAttempt): void {
    const { step, startedAt, endedAt, firstTokenAt, chargedNanoUsd, hedge, outcome, usage } = attempt;
    const { refusal, kept, continued } = attempt;
    const { numbers, things } = this;
    let number = this.#number;
    let thing = this.#thing;
    things[thing++] = step.endpoint;
    numbers[number++] = startedAt;
    numbers[number++] = endedAt;
    numbers[number++] = firstTokenAt ?? Number.NaN;
    numbers[number++] = chargedNanoUsd ?? Number.NaN;
    things[thing++] = hedge;
    // Few have any of these.
    const isPlain = refusal === undefined && kept === undefined && continued === undefined;
    things[thing++] = isPlain ? undefined : { refusal, kept, continued };
    things[thing++] = outcome.ok ? undefined : outcome.failure.kind;
    things[thing++] = outcome.ok ? undefined : outcome.failure.address;
    numbers[number++] = outcome.ok ? Number.NaN : (outcome.failure.status ?? Number.NaN);
    things[thing++] = usage === undefined ? undefined : usage.estimated === true;
    if (usage !== undefined) {
      numbers[number++] = usage.prompt_tokens;
      numbers[number++] = usage.completion_tokens;
      numbers[number++] = usage.prompt_tokens_details?.cached_tokens ?? Number.NaN;
      numbers[number++] = usage.prompt_tokens_details?.cache_write_tokens ?? Number.NaN;
      numbers[number++] = usage.completion_tokens_details?.reasoning_tokens ?? Number.NaN;
      numbers[number++] = usage.cost_details?.upstream_inference_cost ?? Number.NaN;
    }
    this.#number = number;
    this.#thing = thing;
  }

  #addAnswer(answer: DraftedAnswer, attempts: readonly DraftedAttempt[]): void {
    this.numbers[this.#number++] = answer.firstTokenAt;
    this.things[this.#thing++] = answer.finishReason;
    this.things[this.#thing++] = answer.nativeFinishReason;
    // What attempts used is with each of them.
    this.things[this.#thing++] = attempts.length > 0 ? undefined : answer.usage;
  }

  /** Makes room for so many more in both lists. */
  #makeRoom(more: number): void {
    const { numbers, things } = this;
    if (numbers.length - this.#number < more) {
      this.numbers = new Float64Array(2 * (numbers.length + more));
      this.numbers.set(numbers);
    }
    if (things.length - this.#thing < more) this.things = things.concat(room(things.length + 2 * more));
  }
}

/** A list with its places: writing to places that are there is several times as fast as adding to its end. */
function room(length: number): unknown[] {
  return Array.from({ length }, () => undefined);
}
