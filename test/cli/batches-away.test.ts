import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../src/cli/main.ts';

type Answer = (response: ServerResponse) => void;

/** Waits that were asked for, with a clock that they move. */
function patientIo() {
  let now = 0;
  const waits: number[] = [];
  const [printed, complained, shown]: [string[], string[], string[]] = [[], [], []];
  return {
    waits,
    printed,
    complained,
    shown,
    /** Set to do something while a command waits. */
    onWait: (_number: number): Promise<void> | void => undefined,
    run(url: string, ...args: readonly string[]) {
      return runCommand(['batches', ...args, '--url', url], {
        print: (line) => printed.push(line),
        complain: (line) => complained.push(line),
        progress: (line) => shown.push(line),
        folder: '.',
        now: () => now,
        wait: async (ms) => {
          waits.push(ms);
          now += ms;
          await this.onWait(waits.length);
        },
        environment: {},
      });
    },
  };
}

/** A server that gives its answers one after the other, the last one again and again. */
async function startServer(answers: readonly Answer[], port = 0) {
  let asked = 0;
  const server = createServer((_request, response) => {
    answers[Math.min(asked, answers.length - 1)]?.(response);
    asked += 1;
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const { port: used } = server.address() as AddressInfo;
  const stop = (): Promise<void> => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  };
  return { url: `http://127.0.0.1:${used}/v1`, port: used, asked: () => asked, stop, [Symbol.asyncDispose]: stop };
}

function batch(status: string, completed: number, results: readonly object[] | null = null): string {
  const counts = { total: 2, completed, failed: 0 };
  return JSON.stringify({ id: 'batch_1', object: 'batch', status, request_counts: counts, error: null, results });
}

const answers =
  (text: string): Answer =>
  (response) =>
    response.end(text);

/** Begins an answer and tears the connection. */
const breaksOff: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write('{"id":"batch_1","object":"batch","results":[{"custom_id":"a"},', () => response.destroy());
};

const unavailable =
  (headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) =>
    response.writeHead(503, headers).end(JSON.stringify({ error: { code: 503, message: 'Later' } }));

const RESULTS = [{ custom_id: 'a' }, { custom_id: 'b' }];

describe('signalbox batches watch', () => {
  it('goes on when the server goes away and comes back, and says once that it was away', async () => {
    const first = await startServer([answers(batch('in_progress', 1))]);
    const io = patientIo();
    let second: Awaited<ReturnType<typeof startServer>> | undefined;
    io.onWait = async (number) => {
      if (number === 1) await first.stop();
      if (number === 5)
        second = await startServer([answers(batch('in_progress', 1)), answers(batch('completed', 2))], first.port);
    };
    expect(await io.run(first.url, 'watch', 'batch_1')).toBe(0);
    await second?.stop();
    // The time between two looks, four waits while it was away, and the time between two looks.
    expect(io.waits).toEqual([2_000, 1_000, 2_000, 4_000, 8_000, 2_000]);
    expect(io.complained).toEqual([
      expect.stringMatching(/cannot be reached: .*[^.]\. Trying again for 10 minutes\.$/),
    ]);
    // What was shown before is shown again, because there was something else in between.
    expect(io.shown.map((line) => line.slice(0, 11).trim())).toEqual(['in_progress', 'in_progress', 'completed']);
  });

  it('asks again after an answer that broke off and one that says later, not before the server wants it', async () => {
    await using server = await startServer([
      breaksOff,
      unavailable({ 'retry-after': '7' }),
      answers(batch('completed', 2)),
    ]);
    const io = patientIo();
    expect(await io.run(server.url, 'watch', 'batch_1')).toBe(0);
    expect(io.waits).toEqual([1_000, 7_000]);
    expect(io.complained).toEqual([expect.stringContaining('ended early')]);
  });

  it('gives up after ten minutes, after waits of no more than one', async () => {
    await using server = await startServer([answers(batch('in_progress', 1)), unavailable({ 'retry-after': '86400' })]);
    const io = patientIo();
    expect(await io.run(server.url, 'watch', 'batch_1')).toBe(1);
    expect(io.waits.slice(1).reduce((sum, ms) => sum + ms, 0)).toBe(600_000);
    expect(Math.max(...io.waits)).toBe(60_000);
    expect(io.complained.at(-1)).toContain('No answer for 10 minutes. The server answered 503: Later.');
    expect(io.complained).toHaveLength(2);
  });

  it('doubles its waits up to a minute', async () => {
    await using server = await startServer([unavailable()]);
    const io = patientIo();
    expect(await io.run(server.url, 'watch', 'batch_1')).toBe(1);
    expect(io.waits.slice(0, 8)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });

  it('does not wait for a server that was never there, nor ask again what the server refuses', async () => {
    const gone = await startServer([]);
    await gone.stop();
    const io = patientIo();
    expect(await io.run(gone.url, 'watch', 'batch_1')).toBe(1);
    expect(io.complained).toEqual([expect.stringContaining('cannot be reached')]);
    await using server = await startServer([(response) => response.writeHead(404).end('{"error":{"message":"None"}}')]);
    expect(await io.run(server.url, 'watch', 'batch_1')).toBe(1);
    expect([server.asked(), io.waits]).toEqual([1, []]);
  });
});

describe('signalbox batches results', () => {
  it('asks again for results that broke off, and prints each once', async () => {
    await using server = await startServer([breaksOff, answers(batch('completed', 2, RESULTS))]);
    const io = patientIo();
    expect(await io.run(server.url, 'results', 'batch_1')).toBe(0);
    expect(io.printed).toEqual(RESULTS.map((result) => JSON.stringify(result)));
    expect(io.complained).toHaveLength(1);
  });

  it('prints nothing and says why when they never come whole', async () => {
    await using server = await startServer([breaksOff]);
    const io = patientIo();
    expect(await io.run(server.url, 'results', 'batch_1')).toBe(1);
    expect(io.printed).toEqual([]);
    expect(io.complained.at(-1)).toMatch(/No answer for 10 minutes\. The answer of .* ended early/);
  });
});
