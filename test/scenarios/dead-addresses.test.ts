import dns from 'node:dns';
import { UNKNOWN_HOST_URL, blackHole, refusingAddress, startFaultUpstream } from 'signalbox/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ALONE, BACKED, type FaultCellOptions, MAIN_MOUNTS, ask, startFaultCell } from '../support/fault-cell.ts';
import { checkAnswer, checkError, checkFallback } from '../support/fault-checks.ts';

type LookupCallback = (error: NodeJS.ErrnoException | null, addresses?: readonly dns.LookupAddress[]) => void;

/** What the name service says of names that only exist here. Which one the machine has must not matter. */
const NAMES: Readonly<Record<string, (answer: LookupCallback) => void>> = {
  [new URL(UNKNOWN_HOST_URL).hostname]: (answer) => answer(lookupError('ENOTFOUND')),
  'server-failure.invalid': (answer) => answer(lookupError('EAI_AGAIN')),
  'never-answered.invalid': () => {},
  'two-families.invalid': (answer) =>
    answer(null, [
      { address: '::1', family: 6 },
      { address: '127.0.0.1', family: 4 },
    ]),
};

function lookupError(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo ${code}`), { code });
}

beforeAll(() => {
  const real = dns.lookup as (...parameters: unknown[]) => void;
  vi.spyOn(dns, 'lookup').mockImplementation((...parameters: unknown[]) => {
    const known = NAMES[String(parameters[0])];
    if (known === undefined) return real(...parameters);
    const answer = parameters.at(-1) as LookupCallback;
    setImmediate(() => known(answer));
  });
});

afterAll(() => {
  vi.restoreAllMocks();
});

/** Whole and streamed, alone and with a healthy provider behind it. */
async function checkDead(options: FaultCellOptions, status: number): Promise<void> {
  for (const stream of [false, true]) {
    await using cell = await startFaultCell(options);
    await checkError(await ask(cell.mounted, { model: ALONE, stream }), status, null);
    await checkFallback(await ask(cell.mounted, { model: BACKED, stream }));
  }
}

describe.concurrent.each(MAIN_MOUNTS)('%s', (mount) => {
  describe('with a provider whose address leads nowhere', () => {
    it('falls back from a host that does not exist, or answers 502 (U-01)', async () => {
      await checkDead({ mount, baseURL: UNKNOWN_HOST_URL }, 502);
    });

    it('falls back when the name service fails, or answers 502 (U-02)', async () => {
      const baseURL = 'https://server-failure.invalid/v1';
      await checkDead({ mount, baseURL }, 502);
    });

    it('falls back at the connect timeout when the name service does not answer, or answers 524 (U-02)', async () => {
      const baseURL = 'https://never-answered.invalid/v1';
      await checkDead({ mount, baseURL, impatient: true }, 524);
    });

    it('falls back from a refused connection, or answers 502 (U-03)', async () => {
      await using dead = await refusingAddress();
      await checkDead({ mount, baseURL: dead.baseURL }, 502);
    });

    it('falls back at the connect timeout from a black hole, or answers 524 (U-04)', async () => {
      await using hole = await blackHole();
      await checkDead({ mount, baseURL: hole.baseURL, impatient: true }, 524);
    });

    it('reaches a host over IPv4 when its IPv6 address does not answer (U-05)', async () => {
      await using upstream = await startFaultUpstream();
      const { port } = new URL(upstream.baseURL);
      await using cell = await startFaultCell({ mount, baseURL: `http://two-families.invalid:${port}/v1` });
      for (const stream of [false, true]) {
        await checkAnswer(await ask(cell.mounted, { model: ALONE, stream }), upstream.text, 'Faulty');
      }
      expect(upstream.requests).toHaveLength(2);
    });
  });
});

it('tells of a refused connection within 50 ms', async () => {
  await using dead = await refusingAddress();
  await using cell = await startFaultCell({
    baseURL: dead.baseURL,
    config: { breaker: false },
  });
  // Everything is loaded on first use; what counts is how long a client waits for the fault.
  await ask(cell.mounted, { model: ALONE });
  const durations: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const startedAt = performance.now();
    const response = await ask(cell.mounted, { model: ALONE });
    durations.push(performance.now() - startedAt);
    expect(response.status).toBe(502);
  }
  // The least, because others work on this machine too; a wait would be in each of them.
  expect(Math.min(...durations)).toBeLessThan(50);
});
