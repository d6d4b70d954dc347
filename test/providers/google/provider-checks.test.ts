import { providerChecks } from 'signalbox/testing';
import { describe, it } from 'vitest';
import { createTransport as createFetchTransport } from '../../../src/net/fetch.ts';
import { createTransport as createUndiciTransport } from '../../../src/net/undici.ts';
import { googleHarness } from '../../support/google-harness.ts';

const TRANSPORTS = [
  ['undici', createUndiciTransport],
  ['fetch', createFetchTransport],
] as const;

describe.each(TRANSPORTS)("a provider of Google's wire, over %s,", (_name, createTransport) => {
  it.each(providerChecks.map((check) => [check.name, check] as const))('%s', async (_check, { run }) => {
    await using harness = await googleHarness(createTransport());
    await run(harness);
  });
});
