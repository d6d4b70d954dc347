import { simulated } from 'signalbox';
import { type ProviderHarness, providerChecksFor } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';

/** The simulated provider answers by itself: what it is told to play, it does not hear. */
const harness: ProviderHarness = {
  provider: simulated({ firstTokenMs: 0, tokensPerSecond: Infinity }),
  abilities: new Set(['embeddings']),
  play() {},
  calls: [],
  sentBytes: 0,
  underWay: 0,
};
const checks = providerChecksFor(harness).filter(({ needs }) => needs.includes('embeddings'));

describe('the embeddings of the simulated provider', () => {
  it('are checked in more than one way', () => {
    expect(checks.length).toBeGreaterThan(2);
  });

  it.each(checks.map((check) => [check.name, check] as const))('%s', async (_check, { run }) => {
    await run(harness);
  });
});
