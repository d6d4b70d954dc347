import { spawn } from 'node:child_process';
import { type ClientRequest, request } from 'node:http';
import { createInterface } from 'node:readline';

/** What an upload cost the process that took it. */
export interface UploadFigures {
  readonly status: number;
  readonly body: string;
  readonly megabytes: number;
  readonly seconds: number;
  /** Bytes by which the memory of the process grew at most. */
  readonly grownBytes: number;
  /** Longest time in milliseconds for which the event loop stood still. */
  readonly blockedMs: number;
}

/** The body of a batch, piece by piece: so many requests that it has about so many bytes. */
export function* batchBody(bytes: number, requests: number): Generator<Buffer, void> {
  yield Buffer.from('{"endpoint":"/v1/chat/completions","model":"acme/one","requests":[');
  const text = 'The signalman said \\"go\\" — and the train went.\\n'.repeat(Math.floor(bytes / requests / 50));
  for (let index = 0; index < requests; index += 1) {
    const content = `{"messages":[{"role":"user","content":"${text}"}],"max_tokens":100}`;
    yield Buffer.from(`${index === 0 ? '' : ','}{"custom_id":"request ${index}","body":${content}}`);
  }
  yield Buffer.from(']}');
}

/** Starts a server in a process of its own, sends it a batch, and asks what it used. */
export async function measureUpload(
  command: readonly [string, ...(readonly string[])],
  bodies: readonly (() => Iterable<Buffer>)[],
): Promise<UploadFigures> {
  const [program, ...parameters] = command;
  const server = spawn(program, parameters, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  const line = async (): Promise<string> => String((await lines.next()).value);
  const used = async (): Promise<{ rss: number; blockedMs: number }> => {
    server.stdin.write('\n');
    return JSON.parse(await line()) as { rss: number; blockedMs: number };
  };
  try {
    const port = Number(await line());
    let before = await used();
    let last: UploadFigures | undefined;
    for (const body of bodies) {
      const startedAt = performance.now();
      const answer = await send(port, body());
      const after = await used();
      const grownBytes = after.rss - before.rss;
      last = { ...answer, seconds: (performance.now() - startedAt) / 1_000, grownBytes, blockedMs: after.blockedMs };
      before = { ...before, rss: Math.min(before.rss, after.rss) };
    }
    if (last === undefined) throw new RangeError('something must be sent');
    return last;
  } finally {
    server.stdin.end();
    server.kill();
  }
}

async function send(
  port: number,
  body: Iterable<Buffer>,
): Promise<{ status: number; body: string; megabytes: number }> {
  let bytes = 0;
  const call = request({
    host: '127.0.0.1',
    port,
    path: '/v1/batches',
    method: 'POST',
    headers: { 'content-type': 'application/json' },
  });
  const answered = new Promise<{ status: number; body: string }>((resolve, reject) => {
    call.on('error', reject);
    call.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }));
    });
  });
  for (const piece of body) {
    bytes += piece.byteLength;
    if (!call.write(piece)) await Promise.race([drained(call), answered]);
  }
  call.end();
  return { ...(await answered), megabytes: bytes / 1e6 };
}

function drained(call: ClientRequest): Promise<void> {
  return new Promise((resolve) => call.once('drain', resolve));
}
