import { describe, expect, it } from 'vitest';
import { createRouter } from '../../src/index.ts';
import {
  readTrace,
  type SimulatedEndpoint,
  type SimulatedInference,
  simulateTraffic,
  type TracedRequest,
  type TrafficReport,
} from '../../src/entries/testing.ts';

const INFERENCE: SimulatedInference = { prefillPerSecond: 1_000, decodePerSecond: 50, halvedBy: 4 };

function server(inference: Partial<SimulatedInference> = {}, rest: Partial<SimulatedEndpoint> = {}): SimulatedEndpoint {
  const price = { prompt: 1, completion: 4, cacheRead: 0.1 };
  return {
    name: 'only',
    price,
    latency: { medianMs: 1, spread: 0 },
    inference: { ...INFERENCE, ...inference },
    ...rest,
  };
}

/** Sends requests straight to one server. */
function at(endpoint: SimulatedEndpoint, trace: readonly TracedRequest[], streaming = 1): Promise<TrafficReport> {
  return simulateTraffic({ endpoints: [endpoint], traffic: { trace, streaming } }, (_, wire) => wire.direct('only'));
}

const request = (atMs: number, promptTokens: number, rest: Partial<TracedRequest> = {}): TracedRequest => ({
  atMs,
  promptTokens,
  answerTokens: 101,
  ...rest,
});

describe('a simulated inference server', () => {
  it('computes a prompt at its speed and writes the answer at that of one', async () => {
    const { firstTokenMs } = await at(server(), [request(0, 3_000)]);
    expect(firstTokenMs.max).toBeCloseTo(3_001, 0);
    const { answerMs } = await at(server(), [request(0, 3_000)], 0);
    expect(answerMs.max).toBeCloseTo(3_001 + 2_000, 0);
  });

  it('computes prompts one after the other', async () => {
    const { firstTokenMs } = await at(server({ halvedBy: Infinity, chunkTokens: 1e9 }), [
      request(0, 1_000, { answerTokens: 1 }),
      request(0, 2_000, { answerTokens: 1 }),
    ]);
    expect(firstTokenMs.p50).toBeCloseTo(1_001, 0);
    expect(firstTokenMs.max).toBeCloseTo(3_001, 0);
  });

  it('writes each of several answers more slowly, and waits with one that has no place in the batch', async () => {
    const tiny = (count: number): readonly TracedRequest[] => Array.from({ length: count }, () => request(0, 1));
    // Five at a time take twice as long as one.
    const five = await at(server({ prefillPerSecond: 1e9 }), tiny(5), 0);
    expect(five.answerMs.max).toBeCloseTo(4_001, -1);
    const byTurns = await at(server({ prefillPerSecond: 1e9, maxBatch: 1 }), tiny(3), 0);
    expect(byTurns.answerMs.max).toBeCloseTo(6_001, -1);
  });

  it('writes more slowly while it computes a prompt', async () => {
    const alone = await at(server(), [request(0, 100)], 0);
    const beside = await at(
      server({ chunkTokens: 500 }),
      [request(0, 100), request(200, 5_000, { answerTokens: 1 })],
      0,
    );
    expect(beside.answerMs.p50 - alone.answerMs.p50).toBeGreaterThan(1_500);
  });

  it('does not compute again what other requests have left in its memory', async () => {
    const blocks = (name: string): readonly string[] => ['a', 'b', 'c', name];
    const two = [request(0, 2_048, { blocks: blocks('x') }), request(60_000, 2_048, { blocks: blocks('y') })];
    const report = await at(server(), two);
    expect(report.firstTokenMs.p50).toBeCloseTo(513, 0);
    expect(report.firstTokenMs.max).toBeCloseTo(2_049, 0);
    expect(report.cachedShare).toBeCloseTo((3 * 512) / 4_096, 5);
    // What is not used for too long, or has no room, is forgotten.
    expect((await at(server({}, { cacheMs: 30_000 }), two)).cachedShare).toBe(0);
    const others = request(30_000, 2_048, { blocks: ['d', 'e', 'f', 'g'] });
    expect(
      (
        await at(
          server({ memoryTokens: 2_048 }),
          [two[0], others, two[1]].flatMap((one) => one ?? []),
        )
      ).cachedShare,
    ).toBe(0);
  });

  it('keeps order when memory is full', async () => {
    const report = await at(server({ memoryTokens: 1_500, prefillPerSecond: 1e9 }), [
      request(0, 1_000),
      request(0, 1_000),
      request(0, 1_000),
    ]);
    expect(report.success).toBe(1);
    expect(report.firstTokenMs.max).toBeCloseTo(4_001, -1);
  });
});

describe('simulated traffic', () => {
  it('shares documents between sessions', async () => {
    const price = { prompt: 1, completion: 4 };
    const endpoint: SimulatedEndpoint = { name: 'only', price, latency: { medianMs: 100 } };
    const traffic = { requests: 300, turns: 1, promptTokens: 200, documents: { count: 5, tokens: 6_000 } };
    const shared = await simulateTraffic({ endpoints: [endpoint], traffic }, (setup) => createRouter({ ...setup }));
    expect(shared.cachedShare).toBeGreaterThan(0.7);
    expect(shared.regret).toBeCloseTo(0, 10);
  });

  it('says a price that nobody declared only with the cost of an answer', async () => {
    const price = { prompt: 1, completion: 4 };
    const later = { prompt: 4, completion: 16 };
    const run = (announced: boolean): Promise<readonly (number | undefined)[]> => {
      const costs: (number | undefined)[] = [];
      const outage = { kind: 'price', price: later, fromMs: 0, toMs: 9e6, announced } as const;
      const endpoint: SimulatedEndpoint = {
        name: 'only',
        price,
        latency: { medianMs: 9 },
        reportsCost: true,
        outages: [outage],
      };
      return simulateTraffic({ endpoints: [endpoint], traffic: { requests: 1, turns: 1, streaming: 0 } }, (setup) => {
        const router = createRouter({ ...setup });
        return {
          chat: async (body) => {
            const { usage, router_metadata: made } = await router.chat(body, { metadata: true });
            costs.push(made?.endpoints.available[0]?.decision?.expected_cost, usage?.cost);
          },
          stream: (body) => router.stream(body),
        };
      }).then(() => costs);
    };
    const [announced, cost] = await run(true);
    const [declared, sameCost] = await run(false);
    expect((announced ?? 0) / (declared ?? 1)).toBeCloseTo(4, 10);
    expect(sameCost).toBe(cost);
  });
});

describe('readTrace', () => {
  it('reads lines of Mooncake, and finds out which continue another', () => {
    const trace = readTrace(
      [
        { timestamp: 5_000, input_length: 1_100, output_length: 10, hash_ids: [0, 1, 2] },
        { timestamp: 9_000, input_length: 1_700, output_length: 20, hash_ids: [0, 1, 3, 4] },
        { timestamp: 7_000, input_length: 600, output_length: 30, hash_ids: [0, 5] },
      ]
        .map((line) => JSON.stringify(line))
        .join('\n'),
    );
    expect(trace.map(({ atMs }) => atMs)).toEqual([0, 2_000, 4_000]);
    expect(trace[0]).toMatchObject({ promptTokens: 1_100, answerTokens: 10, blocks: ['0', '1', '2'] });
    expect(trace[2]?.session).toBe(trace[0]?.session);
    expect(trace[1]?.session).not.toBe(trace[0]?.session);
  });

  it('reads CSV of Azure', () => {
    const csv =
      'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n';
    const [first, second] = readTrace(csv);
    expect(first).toMatchObject({ atMs: 0, promptTokens: 374, answerTokens: 44 });
    expect(second?.atMs).toBeCloseTo(4_315, 0);
  });

  it('says which line is none', () => {
    expect(() => readTrace('{"timestamp": 1, "input_length": 2, "output_length": 3}\n{"timestamp": 1}')).toThrow(
      'Line 2',
    );
  });
});
