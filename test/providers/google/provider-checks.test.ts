import { providerChecks } from 'signalbox/testing';
import { describe, it } from 'vitest';
import { createTransport as createFetchTransport } from '../../../src/net/fetch.ts';
import { createTransport as createUndiciTransport } from '../../../src/net/undici.ts';
import { googleHarness } from '../../support/google-harness.ts';
import { STORMS_ARE_FULL } from '../../support/storms.ts';

const TRANSPORTS = [
  ['undici', createUndiciTransport],
  ['fetch', createFetchTransport],
] as const;

/** Cuts a stream at each of its bytes. What is made of the parts does not depend on the transport. */
const SLOW = /wherever the bytes/;

describe.each(TRANSPORTS)("a provider of Google's wire, over %s,", (transport, createTransport) => {
  const checks = providerChecks.filter(({ name }) => STORMS_ARE_FULL || transport === 'undici' || !SLOW.test(name));
  it.each(checks.map((check) => [check.name, check] as const))('%s', async (_check, { run }) => {
    await using harness = await googleHarness(createTransport());
    await run(harness);
  });
});
