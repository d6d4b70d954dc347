import type { PendingRecord, DraftedAnswer, DraftedAttempt, DraftedRequest, DraftedUsage } from './pending-record.ts';
import type { PackedDrafts } from './pending-records.ts';
import type { PlanStep, Rejection, RoutePlan, ObservedWorld } from '../selection/route-plan.ts';
import type { DecisionFigures } from '../../contracts/events.ts';

/** Drafts that write the same records as those that were packed, the oldest first. */
export function unpackDrafts(packed: PackedDrafts): readonly PendingRecord[] {
  const reader = new Reader(packed);
  return times(packed.count, () => readPending(reader)).slice(packed.skipped);
}

/** Reads in the order in which {@link PackedDrafts} writes. */
class Reader {
  readonly #numbers: Float64Array;
  readonly #things: readonly unknown[];
  #number = 0;
  #thing = 0;

  constructor({ numbers, things }: PackedDrafts) {
    this.#numbers = numbers;
    this.#things = things;
  }

  number(): number {
    const value = this.#numbers[this.#number] ?? Number.NaN;
    this.#number += 1;
    return value;
  }

  /** A number that may be missing. */
  known(): number | undefined {
    const value = this.number();
    return Number.isNaN(value) ? undefined : value;
  }

  /** Of the type that was written in this place. */
  thing<Thing>(): Thing {
    const value = this.#things[this.#thing] as Thing;
    this.#thing += 1;
    return value;
  }
}

/** So many, one after the other. */
function times<Item>(count: number, read: () => Item): Item[] {
  return Array.from({ length: count }, read);
}

function readPending(from: Reader): PendingRecord {
  const [at, startedAt, endedAt, attempts] = [from.number(), from.number(), from.number(), from.number()];
  const facts = from.thing<PendingRecord['facts']>();
  const cache = from.thing<PendingRecord['cache']>();
  const refused = from.thing<PendingRecord['refused']>();
  const error = from.thing<PendingRecord['error']>();
  const works = from.thing<PendingRecord['works']>();
  const prompt = from.thing<PendingRecord['prompt']>();
  const endpoint = from.thing<DraftedAnswer['endpoint'] | undefined>();
  return {
    at,
    startedAt,
    endedAt,
    facts,
    cache,
    refused,
    error,
    works,
    prompt,
    request: readRequest(from),
    plan: readPlan(from),
    attempts: times(attempts, () => readAttempt(from)),
    answer: endpoint && readAnswer(from, endpoint),
  };
}

function readRequest(from: Reader): DraftedRequest {
  const [created, likelyTokens, draw] = [from.number(), from.known(), from.known()];
  const [promptTokens, outputTokens, images] = [from.number(), from.known(), from.number()];
  return {
    created,
    likelyTokens,
    id: from.thing(),
    operation: from.thing(),
    stream: from.thing(),
    requested: from.thing(),
    targets: from.thing(),
    serviceTier: from.thing(),
    preferences: from.thing(),
    account: from.thing(),
    metadata: from.thing(),
    format: from.thing(),
    applied: from.thing(),
    parent: from.thing(),
    mirror: from.thing(),
    noReasoning: from.thing(),
    pro: from.thing(),
    native: from.thing(),
    session: { id: from.thing(), key: from.thing(), draw },
    needs: {
      inputModalities: from.thing(),
      outputModalities: from.thing(),
      tools: from.thing(),
      toolChoice: from.thing(),
      parameters: from.thing(),
      promptTokens,
      outputTokens,
      images,
    },
  };
}

function readPlan(from: Reader): RoutePlan {
  return {
    requested: from.thing(),
    applied: from.thing(),
    origins: from.thing(),
    steps: times(from.number(), () => readStep(from)),
    rejected: times(from.number(), (): Rejection => ({
      endpoint: from.thing(),
      reason: from.thing(),
      detail: from.thing(),
    })),
    seen: from.thing<boolean>() ? readObserved(from) : undefined,
  };
}

function readStep(from: Reader): PlanStep {
  return {
    endpoint: from.thing(),
    target: from.number(),
    strategy: from.thing(),
    why: from.thing(),
    figures: from.thing<boolean>() ? readFigures(from) : undefined,
  };
}

function readFigures(from: Reader): DecisionFigures {
  return {
    share: from.number(),
    expectedCostUsd: from.known(),
    laterCostUsd: from.known(),
    warmth: from.number(),
    health: from.number(),
    slowness: from.number(),
    headroom: from.number(),
  };
}

function readObserved(from: Reader): ObservedWorld {
  return {
    now: from.number(),
    roll: from.number(),
    usualAnswerTokens: from.known(),
    promptRatio: from.known(),
    served: from.thing(),
    prompts: from.thing(),
    admissions: from.thing(),
    states: times(from.number(), () => {
      const endpoint = from.thing<ObservedWorld['states'][number]['endpoint']>();
      const value = from.known();
      const [at, lostUsd] = [from.number(), from.number()];
      return {
        endpoint,
        condition: value === undefined ? undefined : { value, at, lostUsd },
        lateness: from.number(),
        lateAt: from.number(),
        measures: from.thing(),
        tools: from.thing(),
        tokens: from.known(),
        charges: from.number(),
        timing: readTiming(from),
      };
    }),
  };
}

function readTiming(from: Reader): ObservedWorld['states'][number]['timing'] {
  const [baseMs, perTokenMs, queueMs] = [from.known(), from.number(), from.number()];
  return baseMs === undefined ? undefined : { baseMs, perTokenMs, queueMs };
}

function readAttempt(from: Reader): DraftedAttempt {
  const step: DraftedAttempt['step'] = { endpoint: from.thing() };
  const [startedAt, endedAt] = [from.number(), from.number()];
  const [firstTokenAt, chargedNanoUsd] = [from.known(), from.known()];
  const hedge = from.thing<boolean | undefined>();
  const seldom = from.thing<Pick<DraftedAttempt, 'refusal' | 'kept' | 'continued'> | undefined>();
  const kind = from.thing<Extract<DraftedAttempt['outcome'], { ok: false }>['failure']['kind'] | undefined>();
  const address = from.thing<string | undefined>();
  const status = from.known();
  const outcome =
    kind === undefined ? { ok: true as const } : { ok: false as const, failure: { kind, status, address } };
  return { step, startedAt, endedAt, firstTokenAt, chargedNanoUsd, hedge, outcome, usage: readUsage(from), ...seldom };
}

function readAnswer(from: Reader, endpoint: DraftedAnswer['endpoint']): DraftedAnswer {
  return {
    endpoint,
    firstTokenAt: from.number(),
    finishReason: from.thing(),
    nativeFinishReason: from.thing(),
    usage: from.thing<DraftedUsage | undefined>() ?? NOTHING_USED,
  };
}

/** Stands for what is told of the attempts. */
const NOTHING_USED: DraftedUsage = { prompt_tokens: 0, completion_tokens: 0 };

function readUsage(from: Reader): DraftedUsage | undefined {
  const estimated = from.thing<boolean | undefined>();
  if (estimated === undefined) return undefined;
  return {
    estimated,
    prompt_tokens: from.number(),
    completion_tokens: from.number(),
    prompt_tokens_details: { ...given('cached_tokens', from.known()), ...given('cache_write_tokens', from.known()) },
    completion_tokens_details: given('reasoning_tokens', from.known()),
    cost_details: given('upstream_inference_cost', from.known()),
  };
}

/** A member that is absent where its value is. */
function given<Name extends string>(name: Name, value: number | undefined): { readonly [One in Name]?: number } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [One in Name]?: number });
}
