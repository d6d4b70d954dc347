import { describe, expect, it } from 'vitest';
import { observedEndpoint } from '../../../src/core/ledger/recorded-endpoint.ts';
import { observedState } from '../../../src/core/selection/observed-endpoint.ts';
import { recordAfter, recordMeasured, times } from '../../support/records.ts';
import { MODEL, NOW, serving } from '../../support/requests.ts';

const [endpoint, other] = serving({ acme: {}, beta: {} }).catalog.endpoints(MODEL);
if (endpoint === undefined || other === undefined) throw new Error('The scene has two endpoints.');

const EXACT = { now: NOW, isExact: true, toolsFrom: undefined, countsTokens: false };
const measured = times(20, { latencyMs: 400, outputTokens: 100, generationMs: 1_000 });

describe('what a decision sees of an endpoint', () => {
  it('is its measures by their buckets, which lose nothing', () => {
    const { measures } = observedState(endpoint, recordMeasured(measured), EXACT, undefined);
    const [median] = measures.latency ?? [];
    // Eight buckets for each doubling.
    expect(2 ** ((median ?? 0) / 8)).toBeCloseTo(400, -2);
    expect(measures.before).toBeUndefined();
  });

  it('is nothing of the condition of one that works, and the condition of one that failed', () => {
    expect(observedState(endpoint, recordAfter(['ok']), EXACT, undefined).condition).toBeUndefined();
    expect(observedState(endpoint, recordAfter(['server', 'server']), EXACT, undefined).condition?.value).toBeLessThan(
      1,
    );
  });

  it('is measured anew for each decision that looks at speed, and once a second for the others', () => {
    const rough = { ...EXACT, isExact: false };
    const first = observedState(other, recordMeasured(measured), rough, undefined);
    const slower = recordMeasured(times(20, { latencyMs: 9_000 }));
    expect(observedState(other, slower, { ...rough, now: NOW + 500 }, undefined).measures).toBe(first.measures);
    expect(observedState(other, slower, { ...EXACT, now: NOW + 600 }, undefined).measures).not.toBe(first.measures);
    expect(observedState(other, slower, { ...rough, now: NOW + 2_000 }, undefined).measures).not.toBe(first.measures);
    // A clock that went back.
    expect(observedState(other, slower, { ...rough, now: NOW - 9_000 }, undefined).measures).not.toBe(first.measures);
  });

  it('has counts of tool calls only where they count and there are enough', () => {
    const calls = recordMeasured([
      ...times(8, { toolCalls: 'valid' as const }),
      ...times(2, { toolCalls: 'invalid' as const }),
    ]);
    const toolsFrom = (least: number | undefined) =>
      observedState(endpoint, calls, { ...EXACT, toolsFrom: least }, undefined).tools;
    expect(toolsFrom(undefined)).toBeUndefined();
    expect(toolsFrom(11)).toBeUndefined();
    expect(toolsFrom(10)).toMatchObject({ tool_requests: 10, bad_tool_calls: 2 });
  });

  it('is what records of the ledger are written from', () => {
    const state = observedState(endpoint, recordMeasured(measured), EXACT, undefined);
    expect(JSON.stringify(observedEndpoint(state, undefined, NOW))).toContain('latency');
  });
});
