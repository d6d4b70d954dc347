/** The outages of simulated endpoints. */
import type { Price } from '../../catalog/price.ts';
import { Bursts } from './bursts.ts';
import { TrafficChance } from './chance.ts';
import type { Outage, RandomOutages, SimulatedEndpoint } from './world.ts';

/** Failures of single calls. */
export type Fault = Extract<Outage, { kind: 'fault' }>;

/** One that calls of a moment may meet. */
export interface PresentFault {
  readonly fault: Fault;
  /** Share of the calls that meet it now. */
  readonly share: number;
}

/** How an endpoint is at one moment. */
export interface EndpointState {
  /** `down` fails at once, `hanging` never answers. */
  readonly mode: 'up' | 'down' | 'hanging';
  /** How much longer first tokens take. */
  readonly slowness: number;
  /** Share of the calls that fail. */
  readonly errors: number;
  /** Milliseconds after which calls fail; undefined where the endpoint's own time decides. */
  readonly failMs: number | undefined;
  /** Share of the streams that end early, before or after the first token. */
  readonly breaks: { readonly before: number; readonly after: number };
  readonly faults: readonly PresentFault[];
  readonly price: Price;
  /** Number of the outage among those of its endpoint in which nothing answers; undefined when something does. */
  readonly dead: number | undefined;
  /** True while anything is wrong. */
  readonly impaired: boolean;
}

/** A time in which no call of an endpoint is answered. */
export interface DeadTime {
  readonly fromMs: number;
  readonly toMs: number;
}

const KINDS = ['fail', 'hang', 'slow', 'brownout'] as const;
const ERRORS = 0.4;
const BREAKS = 0.5;
const FAULTS = 0.1;

/** An outage in which some calls fail and others do not. */
type PartialOutage = Extract<Outage, { kind: 'brownout' | 'fault' }>;

function failsSome(outage: Outage): outage is PartialOutage {
  return outage.kind === 'brownout' || outage.kind === 'fault';
}

function shareOf(outage: PartialOutage): number {
  return outage.kind === 'brownout' ? (outage.errors ?? ERRORS) : (outage.share ?? FAULTS);
}

/** Everything that is ever wrong with one endpoint. */
export class OutageSchedule {
  /** Times in which nothing answers, in order; what is up for a moment between two flaps ends one. */
  readonly deadTimes: readonly DeadTime[];
  readonly #outages: readonly Outage[];
  readonly #bursts = new Map<Outage, Bursts>();
  readonly #price: Price;

  constructor(endpoint: SimulatedEndpoint, random: readonly Outage[], durationMs: number, seed: number) {
    this.#price = withCache(endpoint.price);
    this.#outages = [...(endpoint.outages ?? []), ...random];
    for (const outage of this.#outages) {
      if (!failsSome(outage) || outage.burstMs === undefined) continue;
      const { burstMs, fromMs } = outage;
      const errors = shareOf(outage);
      // Endpoints of one provider with the same brown-out draw the same bursts.
      const chance = new TrafficChance(
        seed,
        `bursts ${endpoint.provider ?? endpoint.name} ${fromMs} ${errors} ${burstMs}`,
      );
      this.#bursts.set(outage, new Bursts(fromMs, errors, burstMs, chance));
    }
    this.deadTimes = this.#outages.flatMap((one) => deadTimesOf(one, durationMs)).sort((a, b) => a.fromMs - b.fromMs);
  }

  at(ms: number): EndpointState {
    let mode: EndpointState['mode'] = 'up';
    let slowness = 1;
    let errors = 0;
    let failMs: number | undefined;
    let price = this.#price;
    const breaks = { before: 0, after: 0 };
    const faults: PresentFault[] = [];
    for (const outage of this.#outages) {
      if (ms < outage.fromMs || ms >= outage.toMs) continue;
      switch (outage.kind) {
        case 'fail':
          failMs ??= outage.failMs;
          if (mode === 'up') mode = 'down';
          break;
        case 'hang':
          mode = 'hanging';
          break;
        case 'flap':
          if (mode === 'up' && isFlappedDown(outage, ms)) mode = 'down';
          break;
        case 'slow':
          slowness *= outage.factor ?? 8;
          break;
        case 'brownout':
          slowness *= outage.factor ?? 6;
          failMs ??= outage.failMs;
          errors = Math.max(errors, this.#shareOf(outage, ms));
          break;
        case 'break': {
          const { at: moment = 'after', share = BREAKS } = outage;
          breaks[moment] = Math.max(breaks[moment], share);
          break;
        }
        case 'fault':
          faults.push({ fault: outage, share: this.#shareOf(outage, ms) });
          break;
        case 'price':
          price = withCache(outage.price);
      }
    }
    const dead = mode === 'up' ? -1 : this.deadTimes.findLastIndex((one) => one.fromMs <= ms && ms < one.toMs);
    return {
      mode,
      slowness,
      errors,
      failMs,
      breaks,
      faults,
      price,
      dead: dead < 0 ? undefined : dead,
      impaired:
        mode !== 'up' ||
        slowness > 1 ||
        errors > 0 ||
        breaks.before > 0 ||
        breaks.after > 0 ||
        faults.some(({ share }) => share > 0),
    };
  }

  #shareOf(outage: PartialOutage, ms: number): number {
    const bursts = this.#bursts.get(outage);
    if (bursts === undefined) return shareOf(outage);
    return bursts.includes(ms) ? 1 : 0;
  }

  /** The price with everything that the router can know of it beforehand. */
  declaredPrice(startSeconds: number): Price {
    const changes = this.#outages.flatMap((one) =>
      one.kind !== 'price' || one.announced === false
        ? []
        : [
            { from: startSeconds + one.fromMs / 1_000, price: withCache(one.price) },
            { from: startSeconds + one.toMs / 1_000, price: this.#price },
          ],
    );
    return changes.length === 0 ? this.#price : { ...this.#price, changes };
  }
}

/** Outages at random for one endpoint: as long apart as their share of the time demands. */
export function randomOutages(
  { share, meanMs = 120_000, kinds = KINDS }: RandomOutages,
  chance: TrafficChance,
  durationMs: number,
): readonly Outage[] {
  if (share <= 0 || kinds.length === 0) return [];
  const outages: Outage[] = [];
  const meanUpMs = (meanMs * (1 - share)) / share;
  for (let ms = chance.exponential(meanUpMs); ms < durationMs;) {
    const toMs = ms + chance.exponential(meanMs);
    const kind = kinds[Math.floor(chance.uniform() * kinds.length)] ?? 'fail';
    outages.push({ kind, fromMs: ms, toMs });
    ms = toMs + chance.exponential(meanUpMs);
  }
  return outages;
}

function withCache(price: Price): Price {
  return { ...price, cacheRead: price.cacheRead ?? price.prompt / 10 };
}

const UP_MS = 20_000;
const DOWN_MS = 10_000;

function isFlappedDown(
  { fromMs, upMs = UP_MS, downMs = DOWN_MS }: Extract<Outage, { kind: 'flap' }>,
  ms: number,
): boolean {
  return (ms - fromMs) % (upMs + downMs) >= upMs;
}

function deadTimesOf(outage: Outage, durationMs: number): readonly DeadTime[] {
  const { fromMs } = outage;
  const toMs = Math.min(outage.toMs, durationMs);
  if (outage.kind === 'fail' || outage.kind === 'hang') return fromMs < toMs ? [{ fromMs, toMs }] : [];
  if (outage.kind !== 'flap') return [];
  const { upMs = UP_MS, downMs = DOWN_MS } = outage;
  const times: DeadTime[] = [];
  for (let ms = fromMs + upMs; ms < toMs; ms += upMs + downMs) {
    times.push({ fromMs: ms, toMs: Math.min(toMs, ms + downMs) });
  }
  return times;
}
