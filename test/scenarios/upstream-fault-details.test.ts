/** Runs in a process of its own: it replaces the certificate authorities that the process trusts, and measures memory. */
import { type ChatResult, createRouter, openaiCompatible } from 'signalbox';
import { FAULTS, type FaultId, startFaultUpstream } from 'signalbox/testing';
import type { AddressInfo } from 'node:net';
import tls from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { UNKNOWN_HEALTH } from '../../src/core/fallback/health.ts';
import { createTransport as overFetch } from '../../src/net/fetch.ts';
import { createTransport as overUndici } from '../../src/net/undici.ts';
import { makeCertificate } from '../../src/testing/fault-upstream/certificate.ts';
import { ALONE, BACKED, FAULTY_KEY, HEALTHY_TEXT, ask, recordOf, startFaultCell } from '../support/fault-cell.ts';
import { checkAnswer, checkBrokenStream, checkError, checkFallback } from '../support/fault-checks.ts';
import { memoryHeld } from '../support/memory.ts';
import { readStream } from '../support/sse-client.ts';
import { UPSTREAM_FAULT_TABLE } from './upstream-fault-table.ts';
import { someOf, storm } from '../support/storms.ts';
import { until } from '../support/until.ts';

const FULL_TEXT = 'The quick brown fox jumps over the lazy dog';

/** Numbers that are not in the table, and why. */
const ELSEWHERE = {
  'U-01': 'an address that leads nowhere: dead-addresses',
  'U-02': 'an address that leads nowhere: dead-addresses',
  'U-03': 'an address that leads nowhere: dead-addresses',
  'U-04': 'an address that leads nowhere: dead-addresses',
  'U-05': 'an address that leads nowhere: dead-addresses',
  'U-11': 'takes two requests: below',
  'U-59': 'cannot happen, because HTTP/2 is never spoken: below',
  'U-68': 'no fault of an upstream: adapter-faults',
  'U-69': 'no fault of an upstream: adapter-faults',
  'U-70': 'no fault of an upstream: adapter-faults',
};

describe('the table of upstream faults', () => {
  it('plays every fault that there is, but one', () => {
    const played = new Set<FaultId>(UPSTREAM_FAULT_TABLE.map(({ fault }) => fault));
    expect(Object.keys(FAULTS).filter((fault) => !played.has(fault as FaultId))).toEqual(['U-11']);
  });

  it('knows of every number from 1 to 70', () => {
    const numbers = Array.from({ length: 70 }, (_, index) => `U-${String(index + 1).padStart(2, '0')}`);
    const known = new Set([...UPSTREAM_FAULT_TABLE.map(({ fault }) => fault.slice(0, 4)), ...Object.keys(ELSEWHERE)]);
    expect(numbers.filter((number) => !known.has(number))).toEqual([]);
  });

  it.each([
    ['undici', overUndici],
    ['fetch', overFetch],
  ])('has no row for HTTP/2, because it is never offered (U-59, over %s)', async (_name, createTransport) => {
    const { certificate, privateKey } = await makeCertificate('valid');
    const spoken: unknown[] = [];
    const known = tls.getCACertificates('default');
    tls.setDefaultCACertificates([...known, certificate]);
    const server = tls.createServer(
      { cert: certificate, key: privateKey, ALPNProtocols: ['h2', 'http/1.1'] },
      (socket) => {
        spoken.push(socket.alpnProtocol);
        socket.destroy();
      },
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await using cell = await startFaultCell({ baseURL: `https://127.0.0.1:${port}/v1`, transport: createTransport() });
    await checkError(await ask(cell.mounted), 502, null);
    tls.setDefaultCACertificates(known);
    await new Promise((resolve) => server.close(resolve));
    expect(spoken.length).toBeGreaterThan(0);
    expect(spoken).not.toContain('h2');
  });
});

describe('certificates (U-06)', () => {
  const known = tls.getCACertificates('default');

  afterEach(() => tls.setDefaultCACertificates(known));

  it.each([
    ['expired', 'CERT_HAS_EXPIRED'],
    ['wrong-host', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ] as const)('refuses a certificate that is %s although its issuer is trusted', async (kind, code) => {
    await using cell = await startFaultCell({ upstream: { fault: `U-06-${kind}` } });
    tls.setDefaultCACertificates([...known, await cell.faulty.certificate(kind)]);
    const response = await ask(cell.mounted);
    expect(await response.json()).toMatchObject({
      error: { code: 502, message: expect.stringContaining(code) as string },
    });
    expect(cell.faulty.requests).toEqual([]);
  });

  it('accepts a certificate whose issuer is trusted', async () => {
    await using cell = await startFaultCell({ upstream: { certificate: 'valid' } });
    tls.setDefaultCACertificates([...known, await cell.faulty.certificate('valid')]);
    await checkAnswer(await ask(cell.mounted), FULL_TEXT, 'Faulty');
  });
});

describe('a connection that was closed while it lay idle (U-11)', () => {
  it.each([false, true])('is replaced in silence (streamed: %s)', async (stream) => {
    await using cell = await startFaultCell({ upstream: { fault: 'U-11' } });
    await checkAnswer(await ask(cell.mounted, { stream }), FULL_TEXT, 'Faulty');
    const metadata = await checkAnswer(await ask(cell.mounted, { stream }), FULL_TEXT, 'Faulty');
    expect(metadata.attempts).toHaveLength(1);
    expect(cell.faulty.requests.map(({ connection }) => connection)).toEqual([1, 1, 2]);
    expect(recordOf(cell)?.health).toMatchObject({
      consecutiveFailures: 0,
      lastFailureAt: UNKNOWN_HEALTH.lastFailureAt,
    });
  });

  it('is replaced once; then another provider is asked', async () => {
    await using cell = await startFaultCell();
    await checkAnswer(await ask(cell.mounted, { model: BACKED }), FULL_TEXT, 'Faulty');
    cell.faulty.use('U-10');
    await checkFallback(await ask(cell.mounted, { model: BACKED }));
    expect(cell.faulty.requests.map(({ connection }) => connection)).toEqual([1, 1, 2]);
  });
});

describe('a stream that is cut (U-15)', () => {
  it('never passes for a whole one, wherever the cut is', async () => {
    const text = 'One two "three"';
    await using cell = await startFaultCell({ upstream: { text }, config: { breaker: false } });
    const body = await wholeStream(cell.faulty.baseURL);
    const counts = { refused: 0, broken: 0, whole: 0 };
    const cuts = someOf(
      Array.from({ length: body.length + 1 }, (_, index) => index),
      { every: 7 },
    );
    for (const cutAt of cuts) {
      cell.faulty.use('U-15', { cutAt });
      const response = await ask(cell.mounted, { stream: true });
      const came = arrivedWhole(body, cutAt);
      if (came.text === '') {
        await checkError(response, 502, null);
        counts.refused += 1;
      } else if (came.finished) {
        await checkAnswer(response, text, 'Faulty');
        counts.whole += 1;
      } else {
        await checkBrokenStream(response, 502, came.text);
        counts.broken += 1;
      }
    }
    expect(counts.refused + counts.broken + counts.whole).toBe(cuts.length);
    expect(Math.min(counts.refused, counts.broken, counts.whole)).toBeGreaterThan(storm(50));
  });
});

describe('time', () => {
  it('closes the connection of a provider that has stopped in the middle (U-20)', async () => {
    await using cell = await startFaultCell({ impatient: true, upstream: { fault: 'U-20', afterChunks: 2 } });
    await checkBrokenStream(await ask(cell.mounted, { stream: true }), 524, 'The quick ');
    await until(() => cell.faulty.openConnections === 0);
    expect(cell.faulty.requests[0]?.closedAfterMs).toBeDefined();
  });

  it('answers 408 when the request’s own time is over while an answer trickles in (U-22)', async () => {
    await using cell = await startFaultCell({
      upstream: { fault: 'U-22', timeScale: 1 },
      config: { timeouts: { firstTokenMs: 100, totalMs: 200 } },
    });
    await checkError(await ask(cell.mounted), 408, null);
    await until(() => cell.faulty.openConnections === 0);
  });

  it('lets a slow stream go on while there is progress, also beyond the request’s own time (U-22)', async () => {
    await using cell = await startFaultCell({
      upstream: { fault: 'U-22', timeScale: 0.5 },
      config: { timeouts: { firstTokenMs: 600, idleMs: 600, totalMs: 600 } },
    });
    const startedAt = performance.now();
    await checkAnswer(await ask(cell.mounted, { stream: true }), FULL_TEXT, 'Faulty');
    expect(performance.now() - startedAt).toBeGreaterThan(700);
  });

  it.each([false, true])('ends with the answer, not with the connection (U-25, streamed: %s)', async (stream) => {
    await using cell = await startFaultCell({ upstream: { fault: 'U-25', timeScale: 1 } });
    const startedAt = performance.now();
    await checkAnswer(await ask(cell.mounted, { stream }), FULL_TEXT, 'Faulty');
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    if (stream) await until(() => cell.faulty.openConnections === 0);
  });
});

describe('refusals', () => {
  it('goes on to the next model when the context is too long, and not to the next provider (U-28)', async () => {
    await using faulty = await startFaultUpstream({ fault: 'U-28' });
    await using healthy = await startFaultUpstream({ text: HEALTHY_TEXT });
    const router = createRouter({
      providers: [
        openaiCompatible({ slug: 'small', baseURL: faulty.baseURL, models: { 'acme/small': {} } }),
        openaiCompatible({ slug: 'small-too', baseURL: faulty.baseURL, models: { 'acme/small': {} } }),
        openaiCompatible({ slug: 'large', baseURL: healthy.baseURL, models: { 'acme/large': {} } }),
      ],
    });
    const request = { models: ['acme/small' as const, 'acme/large' as const], messages: [user('Hi')] };
    const result = await router.chat(request, { metadata: true });
    expect(result).toMatchObject({ model: 'acme/large', choices: [{ message: { content: HEALTHY_TEXT } }] });
    expect(result.router_metadata?.attempts?.map(({ model, status }) => [model, status])).toEqual([
      ['acme/small', 400],
      ['acme/large', 200],
    ]);
    await router.close();
  });

  it.each(['U-29-401', 'U-29-403', 'U-30'] as const)('puts a refused key to sleep and says so (%s)', async (fault) => {
    const warnings: string[] = [];
    await using cell = await startFaultCell({
      upstream: { fault },
      config: { on: { warning: ({ code, message }) => warnings.push(`${code}: ${message}`) } },
    });
    await checkFallback(await ask(cell.mounted, { model: BACKED }));
    const metadata = await checkAnswer(await ask(cell.mounted, { model: BACKED }), HEALTHY_TEXT, 'Healthy');
    expect(metadata.attempts).toHaveLength(1);
    expect(cell.faulty.requests).toHaveLength(1);
    expect(warnings.filter((one) => !one.startsWith('price_unknown: '))).toEqual([
      expect.stringContaining('provider_key: '),
    ]);
    expect(warnings.join()).not.toContain(FAULTY_KEY);
    const { steps } = await cell.router.explain({ model: BACKED, messages: [user('Hi')] });
    expect(steps.find(({ provider }) => provider === 'faulty')?.coolingDown).toBe(true);
  });

  it('uploads no more of a body that was refused before it was read (U-61)', async () => {
    await using cell = await startFaultCell({ upstream: { fault: 'U-61' } });
    await checkError(await ask(cell.mounted, { messages: [user('x'.repeat(8_000_000))] }), 413, null);
    await until(() => cell.faulty.openConnections === 0);
    expect(cell.faulty.requests.map(({ body }) => body)).toEqual([undefined]);
  });
});

describe('what must not happen', () => {
  it.each(['U-46-301', 'U-46-302', 'U-46-303', 'U-46-307', 'U-46-308'] as const)(
    'a redirect is not followed and the key is not sent on (%s)',
    async (fault) => {
      await using cell = await startFaultCell({ upstream: { fault } });
      await checkError(await ask(cell.mounted), 502, null);
      expect(cell.faulty.requests.map(({ path }) => path)).toEqual(['/v1/chat/completions']);
    },
  );

  it.each(['U-57-second-response', 'U-57-extra-bytes'] as const)(
    'the next request does not get what was sent behind an answer (%s)',
    async (fault) => {
      await using cell = await startFaultCell({ upstream: { fault } });
      for (let round = 0; round < 5; round += 1) {
        await checkAnswer(await ask(cell.mounted, { stream: round % 2 === 1 }), FULL_TEXT, 'Faulty');
      }
      cell.faulty.use('ok');
      await checkAnswer(await ask(cell.mounted), FULL_TEXT, 'Faulty');
      expect(new Set(cell.faulty.requests.map(({ connection }) => connection)).size).toBe(6);
    },
  );

  it.each([false, true])('a header of the provider reaches the client (U-60, streamed: %s)', async (stream) => {
    await using cell = await startFaultCell({ upstream: { fault: 'U-60' } });
    const response = await ask(cell.mounted, { stream });
    expect([...response.headers].filter(([, value]) => /upstream/.test(value))).toEqual([]);
    expect(response.headers.has('set-cookie')).toBe(false);
    await checkAnswer(response, FULL_TEXT, 'Faulty');
  });

  it.each([
    ['U-55-gzip', false],
    ['U-55-brotli', false],
    ['U-55-double', false],
    ['U-55-gzip', true],
    ['U-55-brotli', true],
    ['U-55-double', true],
  ] as const)('a small body that unpacks to a large one fills the memory (%s, streamed: %s)', async (fault, stream) => {
    await using cell = await startFaultCell({ config: { breaker: false } });
    cell.faulty.use(fault);
    await (await ask(cell.mounted, { stream })).text();
    const { resident: before } = await memoryHeld();
    let most = before;
    const watch = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 1);
    await checkError(await ask(cell.mounted, { stream }), 502, null);
    clearInterval(watch);
    expect((most - before) / 1024 / 1024).toBeLessThan(64);
  });

  it('the name that a provider gives a model takes the place of ours (U-65)', async () => {
    await using cell = await startFaultCell({ upstream: { fault: 'U-65' } });
    const whole = (await (await ask(cell.mounted)).json()) as ChatResult;
    expect(whole.model).toBe(ALONE);
    const { chunks } = readStream(await (await ask(cell.mounted, { stream: true })).text());
    expect(new Set(chunks.map(({ model }) => model))).toEqual(new Set([ALONE]));
  });
});

function user(content: string): { role: 'user'; content: string } {
  return { role: 'user', content };
}

/** The body of a whole stream as the upstream sends it to the router. */
async function wholeStream(baseURL: string): Promise<string> {
  const response = await fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: ALONE, stream: true }),
  });
  return response.text();
}

/** What of a stream arrives whole when it is cut: the text, and whether its end was told. */
function arrivedWhole(body: string, cutAt: number): { text: string; finished: boolean } {
  const events = body.slice(0, cutAt).split('\n\n');
  let text = '';
  let finished = false;
  for (const event of events) {
    const chunk = parseEvent(event);
    text += chunk?.choices[0]?.delta.content ?? '';
    finished ||= chunk?.choices[0]?.finish_reason === 'stop';
  }
  return { text, finished };
}

interface UpstreamChunk {
  readonly choices: readonly { readonly delta: { readonly content?: string }; readonly finish_reason: string | null }[];
}

/** An event counts when its data is whole, even if the blank line behind it is missing. */
function parseEvent(event: string): UpstreamChunk | undefined {
  try {
    return JSON.parse(event.replace(/^data: /, '')) as UpstreamChunk;
  } catch {
    return undefined;
  }
}
