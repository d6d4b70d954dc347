import type { Provider, StreamPiece } from 'signalbox';
import { type ProviderHarness, providerChecks, providerChecksFor } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { VENDOR_PRESETS } from '../../src/providers/openai-compatible/presets.ts';
import { createTransport as createFetchTransport } from '../../src/net/fetch.ts';
import { createTransport as createUndiciTransport } from '../../src/net/undici.ts';
import { ANTHROPIC_WIRE, anthropicHarness } from '../support/anthropic-harness.ts';
import { chatHarness } from '../support/chat-harness.ts';
import { RESPONSES_WIRE, nativeMessagesHarness, nativeResponsesHarness } from '../support/native-harness.ts';
import { STORMS_ARE_FULL } from '../support/storms.ts';
import { checksOf } from '../support/wire-harness.ts';

const TRANSPORTS = [
  ['undici', createUndiciTransport],
  ['fetch', createFetchTransport],
] as const;

/** Cuts a stream at each of its bytes. What is made of the parts does not depend on the transport. */
const SLOW = /wherever the bytes/;

describe.each(TRANSPORTS)('a provider of the chat completions wire, over %s,', (transport, createTransport) => {
  const checks = providerChecks.filter(({ name }) => STORMS_ARE_FULL || transport === 'undici' || !SLOW.test(name));
  it.each(checks.map((check) => [check.name, check] as const))('%s', async (_check, { run }) => {
    await using harness = await chatHarness(createTransport());
    await run(harness);
  });
});

describe('a provider of the Messages API', () => {
  // Its recorded streams are cut at each of their bytes without a socket; without storms, that is enough.
  const checks = checksOf(ANTHROPIC_WIRE).filter(({ name }) => STORMS_ARE_FULL || !SLOW.test(name));
  it.each(checks.map((check) => [check.name, check] as const))('%s', async (_check, { run }) => {
    await using harness = await anthropicHarness(createUndiciTransport());
    await run(harness);
  });
});

describe.each([
  ['the Messages API', ANTHROPIC_WIRE, nativeMessagesHarness],
  ["OpenAI's Responses", RESPONSES_WIRE, nativeResponsesHarness],
] as const)('a provider that is asked in its own words, those of %s', (_dialect, wire, startHarness) => {
  it.each(checksOf(wire).map((check) => [check.name, check] as const))('%s', async (_check, { run }) => {
    await using harness = await startHarness();
    await run(harness);
  });
});

describe.each(Object.entries(VENDOR_PRESETS))('a provider with the quirks of %s', (_slug, { quirks }) => {
  it('passes the checks of answers and failures', async () => {
    await using harness = await chatHarness(createUndiciTransport(), quirks);
    for (const { name, run } of providerChecks) if (!SLOW.test(name)) await run(harness);
  });
});

describe('the checks', () => {
  it('have names of their own', () => {
    expect(new Set(providerChecks.map(({ name }) => name)).size).toBe(providerChecks.length);
  });

  it('leave out what a provider cannot do', () => {
    const few = providerChecksFor({ abilities: new Set() });
    expect(few.length).toBeGreaterThan(5);
    expect(few.length).toBeLessThan(providerChecks.length);
    expect(few.every(({ needs }) => needs.length === 0)).toBe(true);
  });

  /** Faults that a provider may have, each of which some check must find. */
  const FAULTS: Readonly<Record<string, (provider: Provider) => Provider['chat']>> = {
    'gives no text': (provider) => async (call) => {
      const reply = await provider.chat(call);
      if (reply.type !== 'stream') return reply;
      const { stream } = reply;
      const read = async (): ReturnType<typeof stream.read> =>
        (await stream.read())?.filter((piece) => typeof piece !== 'string');
      return { type: 'stream', stream: { read, cancel: () => stream.cancel() } };
    },
    'doubles its text': (provider) => async (call) => {
      const reply = await provider.chat(call);
      if (reply.type !== 'stream') return reply;
      const { stream } = reply;
      const read = async (): ReturnType<typeof stream.read> => {
        const pieces = await stream.read();
        return pieces?.flatMap((piece): readonly StreamPiece[] =>
          typeof piece === 'string' ? [piece, piece] : [piece],
        );
      };
      return { type: 'stream', stream: { read, cancel: () => stream.cancel() } };
    },
    retries: (provider) => async (call) => {
      const reply = await provider.chat(call);
      return reply.type === 'failed' ? provider.chat(call) : reply;
    },
    throws: (provider) => async (call) => {
      const reply = await provider.chat(call);
      if (reply.type === 'failed') throw new Error('it failed');
      return reply;
    },
    'makes a good end of everything': (provider) => async (call) => {
      const reply = await provider.chat(call);
      if (reply.type !== 'stream') return reply;
      const { stream } = reply;
      let over = false;
      const read = async (): ReturnType<typeof stream.read> => {
        const pieces = await stream.read();
        if (pieces !== undefined || over) return pieces;
        over = true;
        return [{ type: 'finish', index: 0, reason: 'stop', native: 'stop' }];
      };
      return { type: 'stream', stream: { read, cancel: () => stream.cancel() } };
    },
    'shows keys': (provider) => async (call) => {
      const reply = await provider.chat(call);
      if (reply.type !== 'failed') return reply;
      return {
        ...reply,
        failure: { ...reply.failure, message: `${reply.failure.message} ${String(call.apiKey ?? API_KEY)}` },
      };
    },
    'ignores its signal': (provider) => (call) => provider.chat({ ...call, signal: new AbortController().signal }),
    'ignores cancellations': (provider) => async (call) => {
      const reply = await provider.chat(call);
      if (reply.type !== 'stream') return reply;
      const { stream } = reply;
      return { type: 'stream', stream: { read: () => stream.read(), cancel() {} } };
    },
    'calls every error the same': (provider) => async (call) => {
      const reply = await provider.chat(call);
      if (reply.type !== 'failed') return reply;
      return { ...reply, failure: { ...reply.failure, kind: 'server' } };
    },
  };

  const API_KEY = 'sk-own-key-of-the-provider+/=9876';

  it.each(Object.entries(FAULTS))('find a provider that %s', async (_fault, spoil) => {
    await using harness = await chatHarness(createUndiciTransport());
    const spoiled: ProviderHarness = Object.create(harness, {
      provider: { value: { ...harness.provider, chat: spoil(harness.provider) } },
    }) as ProviderHarness;
    const problems: string[] = [];
    for (const { name, run } of providerChecks) {
      if (/wherever the bytes/.test(name)) continue;
      await run(spoiled).catch((error: unknown) => problems.push(`${name}: ${String(error)}`));
      if (problems.length > 0) break;
    }
    expect(problems).toHaveLength(1);
  });
});
