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
  /** Most milliseconds of its own processor that it worked without looking at its timers. */
  readonly workMs: number;
  /** Seconds of CPU that the process took. */
  readonly cpuSeconds: number;
}

/** What is sent to a server at a port, and what it answered. */
export type Upload = (
  port: number,
) => Promise<{ readonly status: number; readonly body: string; readonly megabytes: number }>;

/** A batch with its requests in the body: so many that they have about so many bytes. */
export function inlineBatch(bytes: number, requests: number): Upload {
  return (port) => send(port, '/v1/batches', 'application/json', batchBody(bytes, requests));
}

/** The same requests as a file, and the batch that is made of it. */
export function batchOfFile(bytes: number, requests: number): Upload {
  return async (port) => {
    const type = `multipart/form-data; boundary=${BOUNDARY}`;
    const { body, megabytes } = await send(port, '/v1/files', type, fileForm(bytes, requests));
    const { id } = JSON.parse(body) as { readonly id: string };
    const batch = JSON.stringify({ input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' });
    return { ...(await send(port, '/v1/batches', 'application/json', [Buffer.from(batch)])), megabytes };
  };
}

const BOUNDARY = 'a-boundary-of-a-form';

function* fileForm(bytes: number, requests: number): Generator<Buffer, void> {
  const part = `--${BOUNDARY}\r\ncontent-disposition: form-data; name=`;
  yield Buffer.from(`${part}"purpose"\r\n\r\nbatch\r\n${part}"file"; filename="batch.jsonl"\r\n\r\n`);
  const text = textOf(bytes, requests);
  for (let index = 0; index < requests; index += 1) {
    const body = `{"model":"acme/one","messages":[{"role":"user","content":"${text}"}],"max_tokens":100}`;
    const frame = `"custom_id":"request ${index}","method":"POST","url":"/v1/chat/completions"`;
    yield Buffer.from(`{${frame},"body":${body}}\n`);
  }
  yield Buffer.from(`\r\n--${BOUNDARY}--\r\n`);
}

function textOf(bytes: number, requests: number): string {
  return 'The signalman said \\"go\\" — and the train went.\\n'.repeat(Math.floor(bytes / requests / 50));
}

function* batchBody(bytes: number, requests: number): Generator<Buffer, void> {
  yield Buffer.from('{"endpoint":"/v1/chat/completions","model":"acme/one","requests":[');
  const text = textOf(bytes, requests);
  for (let index = 0; index < requests; index += 1) {
    const content = `{"messages":[{"role":"user","content":"${text}"}],"max_tokens":100}`;
    yield Buffer.from(`${index === 0 ? '' : ','}{"custom_id":"request ${index}","body":${content}}`);
  }
  yield Buffer.from(']}');
}

/** Starts a server in a process of its own, sends it one upload after the other, and asks what it used for the last. */
export async function measureUpload(
  command: readonly [string, ...(readonly string[])],
  uploads: readonly Upload[],
): Promise<UploadFigures> {
  const [program, ...parameters] = command;
  const server = spawn(program, parameters, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  const line = async (): Promise<string> => String((await lines.next()).value);
  const used = async (): Promise<ServerFigures> => {
    server.stdin.write('\n');
    return JSON.parse(await line()) as ServerFigures;
  };
  try {
    const port = Number(await line());
    let before = await used();
    let last: UploadFigures | undefined;
    for (const upload of uploads) {
      const startedAt = performance.now();
      const answer = await upload(port);
      const after = await used();
      const grownBytes = after.rss - before.rss;
      const seconds = (performance.now() - startedAt) / 1_000;
      const { blockedMs, workMs, cpuSeconds } = after;
      last = { ...answer, seconds, grownBytes, blockedMs, workMs, cpuSeconds };
      before = { ...before, rss: Math.min(before.rss, after.rss) };
    }
    if (last === undefined) throw new RangeError('something must be sent');
    return last;
  } finally {
    server.stdin.end();
    server.kill();
  }
}

/** What a server has used since it was asked before. */
interface ServerFigures {
  readonly rss: number;
  readonly blockedMs: number;
  readonly workMs: number;
  readonly cpuSeconds: number;
}

async function send(
  port: number,
  path: string,
  type: string,
  body: Iterable<Buffer>,
): Promise<{ status: number; body: string; megabytes: number }> {
  let bytes = 0;
  const call = request({
    host: '127.0.0.1',
    port,
    path,
    method: 'POST',
    headers: { 'content-type': type },
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
