import { providerChecks } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { AI_SDK_PACKAGES, aiSdkHarness } from '../../support/ai-sdk-harness.ts';

/**
 * What is not in our hands: where bytes are cut, and what a stream is, is decided by the SDK's own reader of events.
 * And there is no answer without usage on the wires of Anthropic and Mistral.
 */
const NOT_OURS = /takes a whole answer to a request for a stream|wherever the bytes of a stream are cut/;
const ALWAYS_COUNTED = /makes up no tokens/;

describe.each(Object.entries(AI_SDK_PACKAGES))('a model of @ai-sdk/%s as an upstream', (name, one) => {
  const counts = name === 'anthropic' || name === 'mistral';
  const checks = providerChecks.filter(
    ({ name: check }) => !NOT_OURS.test(check) && !(counts && ALWAYS_COUNTED.test(check)),
  );

  it.each(checks.map((check) => [check.name, check] as const))('%s', async (_check, { run }) => {
    await using harness = await aiSdkHarness(one);
    await run(harness);
  });

  it('leaves out only those', () => {
    expect(providerChecks.length - checks.length).toBe(counts ? 3 : 2);
  });
});
