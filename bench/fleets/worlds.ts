import { seededRandom } from '../../src/providers/simulated/chance.ts';
import type { SimulatedEndpoint, SimulatedInference, TracedRequest, TrafficWorld } from '../../src/entries/testing.ts';
import { endpointsOf } from '../routing/worlds.ts';

/**
 * An inference server about like a node of eight graphics cards with a model of 70 billion parameters: 7,000 tokens of
 * prompts a second, 40 tokens a second for one answer, half of that for each of 33, and memory for 1,500,000 tokens, some of it beside the cards.
 */
const SERVER: SimulatedInference = {
  prefillPerSecond: 7_000,
  decodePerSecond: 40,
  halvedBy: 32,
  maxBatch: 128,
  chunkTokens: 2_048,
  memoryTokens: 1_500_000,
};

/** Equal servers of one's own. */
export function fleet(count: number, more: Partial<SimulatedEndpoint> = {}): readonly SimulatedEndpoint[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `server-${index}`,
    price: { prompt: 0.5, completion: 1.5, cacheRead: 0.5 },
    latency: { medianMs: 30, spread: 0.3 },
    inference: SERVER,
    ...more,
  }));
}

/** Prompt tokens a second that a fleet computes while it also writes the answers. */
const FLEET_SHARE = 0.8;

/**
 * The requests of a trace, at such a speed that their prompts, without any cache, are a share of what the servers can
 * compute beside the answers.
 */
export function atLoad(trace: readonly TracedRequest[], servers: number, load: number): readonly TracedRequest[] {
  const tokens = trace.reduce((sum, { promptTokens }) => sum + promptTokens, 0);
  const last = trace.at(-1)?.atMs ?? 0;
  const wantedMs = (tokens / (servers * SERVER.prefillPerSecond * FLEET_SHARE * load)) * 1_000;
  return trace.map((request) => ({ ...request, atMs: (request.atMs * wantedMs) / Math.max(1, last) }));
}

/**
 * Conversations with the facts of Mooncake's trace of an hour of its chat service (kvcache-ai/Mooncake,
 * `FAST25-release/traces/conversation_trace.jsonl`): 12,031 requests, prompts of 6,900 tokens in the median and 12,000 in
 * the mean, answers of 340, one block in front that all have in common, and 37 % of the blocks repeated, half of the times
 * after more than two minutes.
 */
export function conversations(seed: number, requests: number): readonly TracedRequest[] {
  const chance = seededRandom(seed * 104_729);
  const drawn: TracedRequest[] = [];
  for (let session = 0; drawn.length < requests; session += 1) {
    const turns = 1 + Math.floor(-Math.log(1 - chance()) / Math.log(1 / (1 - 1 / 1.75)));
    let atMs = chance() * 3_537_000;
    let promptTokens = Math.round(around(chance, 5_600, 1.1));
    for (let turn = 0; turn < turns; turn += 1) {
      const answerTokens = Math.max(1, Math.round(around(chance, 290, 0.6)));
      const blocks = Array.from({ length: Math.ceil(promptTokens / 512) }, (_, index) =>
        index === 0 ? 'system' : `${session}-${index}`,
      );
      drawn.push({ atMs, promptTokens, answerTokens, blocks, session: `session-${session}` });
      atMs += around(chance, 123_000, 1);
      promptTokens += answerTokens + Math.round(around(chance, 700, 1.2));
    }
  }
  return drawn.toSorted((left, right) => left.atMs - right.atMs).slice(0, requests);
}

/**
 * Questions about documents with the facts of Mooncake's synthetic trace (`synthetic_trace.jsonl`): 3,993 requests in 17
 * minutes, prompts of 15,000 tokens in the mean, answers of 150, and 64 % of the blocks repeated, mostly between sessions.
 */
export function documentRequests(seed: number, requests: number): readonly TracedRequest[] {
  const chance = seededRandom(seed * 15_485_863);
  const documents = Math.ceil(requests / 3.2);
  const lengths = Array.from({ length: documents }, () => 1 + Math.floor(around(chance, 22, 0.9)));
  return Array.from({ length: requests }, (_, index): TracedRequest => {
    const document = Math.floor(documents * chance() ** 1.8);
    const own = 1 + Math.floor(chance() * 4);
    const shared = lengths[document] ?? 1;
    const blocks = Array.from({ length: shared + own }, (_block, place) =>
      place < shared ? `document-${document}-${place}` : `question-${index}-${place}`,
    );
    return {
      atMs: (index / requests) * 1_022_000,
      promptTokens: 512 * (shared + own) - Math.floor(chance() * 500),
      answerTokens: Math.max(1, Math.round(around(chance, 75, 1.1))),
      blocks,
    };
  });
}

function around(chance: () => number, median: number, spread: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance());
  return median * Math.exp(spread * normal);
}

/** Ten hosts of one model, with caches of their own: the eight of the other tables and two between them. */
export function hosts(seed: number): readonly SimulatedEndpoint[] {
  const eight = endpointsOf(seed);
  const more = eight.slice(2, 4).map((one, index) => ({ ...one, name: `endpoint-${'ij'[index] ?? ''}` }));
  // Their rates are those of all requests for a minute or so, but not for longer.
  return [...eight, ...more].map((one) => ({ ...one, rate: { perSecond: 3, burst: 10 } }));
}

/** Eight regions of one provider: the price is the same everywhere, the way is not. */
export function regions(seed: number, requests: number): TrafficWorld {
  const endpoints = [900, 820, 1_000, 560, 760, 1_150, 680, 940].map((medianMs, index) => ({
    name: `region-${index}`,
    price: { prompt: 0.5, completion: 2 },
    latency: { medianMs, spread: 0.3 },
  }));
  return { seed, endpoints, traffic: { requests, perSecond: 4 } };
}

/** A slow endpoint declared first, and a fast one. */
export function slowAndFast(seed: number, requests: number): TrafficWorld {
  const endpoint = (name: string, medianMs: number, tokensPerSecond: number): SimulatedEndpoint => ({
    name,
    price: { prompt: 0.5, completion: 2 },
    latency: { medianMs, spread: 0.3 },
    tokensPerSecond,
  });
  return {
    seed,
    endpoints: [endpoint('slow', 2_000, 20), endpoint('fast', 300, 120)],
    traffic: { requests, perSecond: 1, turns: 1 },
  };
}

/** The cheapest of the eight endpoints costs four times as much from a sixth of the time on, and only its usage says so. */
export function dearer(seed: number, requests: number): TrafficWorld {
  const fromMs = (requests / 3 / 6) * 1_000;
  const endpoints = endpointsOf(seed).map((endpoint, index): SimulatedEndpoint => {
    const { prompt, completion, cacheRead = prompt / 10 } = endpoint.price;
    const price = { prompt: 4 * prompt, completion: 4 * completion, cacheRead: 4 * cacheRead };
    const outages = [{ kind: 'price', price, fromMs, toMs: Infinity, announced: false }] as const;
    return { ...endpoint, reportsCost: true, ...(index === 0 ? { outages } : {}) };
  });
  return { seed, endpoints, traffic: { requests, perSecond: 3 } };
}

/**
 * Four instances that share nothing, or a store that is slow. Together the endpoints take about as many calls as come, so
 * each instance is refused until it has found its share of what each takes.
 */
export function instances(seed: number, requests: number, storeLatencyMs?: number): TrafficWorld {
  return {
    seed,
    endpoints: endpointsOf(seed).map(withHalfRate),
    traffic: { requests, perSecond: 14 },
    instances: 4,
    storeLatencyMs,
  };
}

function withHalfRate(endpoint: SimulatedEndpoint): SimulatedEndpoint {
  const { rate } = endpoint;
  return rate === undefined ? endpoint : { ...endpoint, rate: { ...rate, perSecond: rate.perSecond / 2 } };
}
