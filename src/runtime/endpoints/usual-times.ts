import type { Endpoint } from '../../catalog/endpoint.ts';
import { type AdaptivePolicy, MINIMUM_CALLS } from '../../core/selection/adaptive/policy.ts';
import { promptRatio } from '../../core/selection/adaptive/expected-cost.ts';
import type { CallMeasurement } from '../../core/selection/performance.ts';
import type { World } from '../../core/selection/world.ts';
import type { RecordMap } from './endpoint-load.ts';
import {
  type EndpointSpeed,
  grownAfter,
  levelOf,
  speedAfter,
  speedAfterGivingUp,
  type TimedCall,
  type TimedKind,
  UNKNOWN_SPEED,
  usualAmongPeers,
  type UsualTime,
} from '../../core/selection/adaptive/speed.ts';

/** How long calls usually take: of an endpoint as far as it was called itself, and otherwise of all that serve its model. */
export class UsualTimes {
  readonly #adaptive: AdaptivePolicy;
  /** By model, whoever answers. */
  readonly #peers: Map<string, EndpointSpeed>;

  constructor(adaptive: AdaptivePolicy, peers = new Map<string, EndpointSpeed>()) {
    this.#adaptive = adaptive;
    this.#peers = peers;
  }

  /** The same, shared from now on, under another policy. */
  under(adaptive: AdaptivePolicy): UsualTimes {
    return new UsualTimes(adaptive, this.#peers);
  }

  /**
   * Undefined where nothing is known of any endpoint of the model.
   *
   * @param speed - What is known of the endpoint itself.
   */
  of({ model }: Endpoint, speed: EndpointSpeed | undefined, kind: TimedKind): UsualTime | undefined {
    return usualAmongPeers(speed, this.#peers.get(model), kind);
  }

  /** Learns from a call that was given up because another one answered: it would have taken longer than this. */
  afterGivingUp(
    { model }: Endpoint,
    known: EndpointSpeed | undefined,
    { kind, ms, tokens }: Pick<TimedCall, 'kind' | 'ms' | 'tokens'>,
    now: number,
  ): EndpointSpeed | undefined {
    const { speed: policy } = this.#adaptive;
    const expected = usualAmongPeers(known, this.#peers.get(model), kind);
    const growth = expected?.growth;
    const speed = speedAfterGivingUp(known ?? UNKNOWN_SPEED, policy, { kind, ms, tokens, growth, expected }, now);
    return speed === UNKNOWN_SPEED ? undefined : speed;
  }

  /** Learns from a call, and gives what is known of its endpoint after it. */
  after(
    { model }: Endpoint,
    speed: EndpointSpeed | undefined,
    measurement: CallMeasurement | undefined,
    now: number,
  ): EndpointSpeed | undefined {
    const ms = measurement?.latencyMs;
    if (ms === undefined) return speed;
    const { speed: policy } = this.#adaptive;
    const kind = measurement?.inOnePiece === true ? 'whole' : 'streaming';
    const tokens = measurement?.computedTokens;
    const peers = this.#peers.get(model);
    // What others take matters only of an endpoint that was hardly called itself.
    const isKnown = speed !== undefined && speed[kind].calls >= MINIMUM_CALLS;
    const expected = isKnown ? undefined : usualAmongPeers(speed, peers, kind);
    const growth = peers?.[kind].growth;
    const call: TimedCall = { kind, ms, tokens, growth, expected };
    const all = speedAfter(peers ?? UNKNOWN_SPEED, policy, { kind, ms, tokens, growth }, now);
    this.#peers.set(model, grownAfter(all, call, levelOf(speed, peers, kind)));
    return speedAfter(speed ?? UNKNOWN_SPEED, policy, call, now);
  }
}

/** Weight of a new answer in the means. */
const GAIN = 0.05;

/** How long the prompts of an account and the answers that it gets from a model usually are. */
interface UsualLengths {
  readonly model: string;
  answer: number;
  /** Tokens that prompts were reported to have, and those of the rough count of the same prompts. */
  reported: number | undefined;
  rough: number | undefined;
}

/** Models that are remembered of one account; those that were not answered for the longest time go first. */
const MAX_MODELS = 20;

/** What a provider reported of the prompt of a request that is nothing but text, so that its length can be compared. */
interface ReportedPrompt {
  readonly reported: number;
  readonly rough: number;
}

/** What is usual of the lengths of prompts and answers, learned from answers. */
export class UsualTokens {
  /**
   * Models of each account, the latest first. Not one map by both names: putting them together for each request takes
   * longer than looking twice. And no map for each account: most use one model, and accounts come and go.
   */
  readonly #accounts: RecordMap<readonly UsualLengths[]>;

  constructor(accounts: RecordMap<readonly UsualLengths[]>) {
    this.#accounts = accounts;
  }

  /** What plans look at; nothing where there was no answer yet. */
  of(account: string, model: string | undefined): Pick<World, 'usualAnswerTokens' | 'promptRatio'> {
    const known = this.#accounts.get(account)?.find((one) => one.model === model);
    if (known === undefined) return NOTHING_USUAL;
    const { answer, reported, rough } = known;
    return { usualAnswerTokens: answer, promptRatio: promptRatio(reported, rough) };
  }

  note(account: string, model: string, answer: number, prompt: ReportedPrompt | undefined): void {
    const models = this.#accounts.get(account) ?? NO_MODELS;
    let usual = models.find((one) => one.model === model);
    if (usual === undefined) usual = { model, answer, reported: prompt?.reported, rough: prompt?.rough };
    else {
      usual.answer = meanAfter(usual.answer, answer);
      usual.reported = prompt === undefined ? usual.reported : meanAfter(usual.reported, prompt.reported);
      usual.rough = prompt === undefined ? usual.rough : meanAfter(usual.rough, prompt.rough);
    }
    const isLatest = models[0] === usual;
    const latest = isLatest ? models : [usual, ...models.filter((one) => one !== usual).slice(0, MAX_MODELS - 1)];
    this.#accounts.set(account, latest);
  }
}

const NO_MODELS: readonly UsualLengths[] = [];
const NOTHING_USUAL = {};

function meanAfter(mean: number | undefined, value: number): number {
  return mean === undefined ? value : mean + GAIN * (value - mean);
}
