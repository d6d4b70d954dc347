import { providerChecks } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { AI_SDK_PACKAGES, aiSdkHarness } from '../../support/ai-sdk-harness.ts';

/**
 * What is not in our hands: the SDK's models read what should be a stream as one, whatever came. And there is no answer
 * without usage on the wires of Anthropic and Mistral.
 */
const NOT_OURS: Readonly<Record<string, RegExp>> = {
  'openai-compatible': /takes a whole answer to a request for a stream/,
  anthropic: /takes a whole answer to a request for a stream|makes up no tokens/,
  google: /takes a whole answer to a request for a stream/,
  mistral: /takes a whole answer to a request for a stream|makes up no tokens/,
};

describe.each(Object.entries(AI_SDK_PACKAGES))('a model of @ai-sdk/%s as an upstream', (name, one) => {
  const slow = name === 'openai-compatible' ? /^$/ : /wherever the bytes/;
  const checks = providerChecks.filter(({ name: check }) => NOT_OURS[name]?.test(check) !== true && !slow.test(check));

  it.each(checks.map((check) => [check.name, check] as const))('%s', async (_check, { run }) => {
    await using harness = await aiSdkHarness(one);
    await run(harness);
  });

  it('leaves out few checks', () => {
    expect(providerChecks.length - checks.length).toBeLessThanOrEqual(3);
  });
});
