import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  API_FORMATS,
  type SeenAnswer,
  type UnusualUpstream,
  startUnusualUpstream,
} from '../support/unusual-streams.ts';
import { UNUSUAL_STREAMS } from './unusual-stream-table.ts';

let upstream: UnusualUpstream;
beforeAll(async () => {
  upstream = await startUnusualUpstream();
});
afterAll(() => upstream[Symbol.asyncDispose]());

/**
 * The Responses wire is only asked by callers of that format: other formats go there as chat completions. Models of the
 * AI SDK read a stream only where they are asked for one.
 */
const CELLS = UNUSUAL_STREAMS.flatMap((row) =>
  row.wires.flatMap((wire) =>
    API_FORMATS.filter((format) => wire !== 'responses' || format === 'responses').flatMap((format) =>
      (wire === 'sdk' ? [true] : row.passedOn === true && wire === format ? [false] : [true, false]).map(
        (stream) => [row.id, row.name, wire, format, stream ? 'streaming' : 'whole', row] as const,
      ),
    ),
  ),
);

/** Costs to the nano-dollar; what is not named is not looked at. */
function expectSeen(seen: SeenAnswer, expected: Partial<SeenAnswer>): void {
  expect(seen).toMatchObject({ status: 200, broken: false, ...expected });
}

describe('a stream as servers really send it', () => {
  it.each(CELLS)('%s (%s) over %s: /%s, %s', async (_id, _name, wire, format, how, { body, sees }) => {
    const seen = await upstream.ask(wire, format, how === 'streaming', body);
    if (sees !== 'fails') return expectSeen(seen, sees);
    expect(seen.finish).toBeNull();
    if (seen.status !== 200) expect(seen.status).toBe(502);
    else expect(seen.broken).toBe(true);
  });
});
