import { describe, expect, it } from 'vitest';
import { traceContextOf } from '../../src/contracts/trace-context.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const GOOD = `00-${TRACE}-${SPAN}-01`;

describe('a trace context', () => {
  it('is taken as it comes, with what tracing systems add', () => {
    expect(traceContextOf(GOOD)).toEqual({ traceparent: GOOD });
    expect(traceContextOf(GOOD, 'acme=1,other=2')).toEqual({ traceparent: GOOD, tracestate: 'acme=1,other=2' });
  });

  it('may be of a later version, which may say more', () => {
    for (const later of [`01-${TRACE}-${SPAN}-01`, `cc-${TRACE}-${SPAN}-01-what-comes`]) {
      expect(traceContextOf(later)).toEqual({ traceparent: later });
    }
  });

  it.each([
    undefined,
    7,
    '',
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `${GOOD}-more`,
    `${GOOD}\r\nx-evil: 1`,
    `00-${TRACE}-${SPAN}`,
  ])('is left out when it is none: %s', (header) => {
    expect(traceContextOf(header, 'acme=1')).toBeUndefined();
  });

  it.each(['', 'a=1\r\nx-evil: 1', 'x'.repeat(513), 'ä=1', 7])('loses a bad tracestate: %s', (state) => {
    expect(traceContextOf(GOOD, state)).toEqual({ traceparent: GOOD });
  });
});
