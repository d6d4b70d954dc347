import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import { batchArguments, batchServer, PATIENCE_MINUTES, patientServer, SERVER_HELP } from './batch-client.ts';
import { type BatchLine, readBatchLines } from './batch-file.ts';
import { type Command, CommandError } from './command.ts';
import { type Batch, BATCH_ENDS } from '../protocol/batch.ts';

const SUBMIT_USAGE = `<file.jsonl> [options]

Creates a batch from a file, one request per line, as OpenAI's Batch API has them:
  {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "…", "messages": […]}}
The file is sent while it is read. The id of the batch is printed.

  --model <name>     Model of the whole batch. Default: that of the requests, which must all have the same
  --callback <url>   HTTPS address that is told when the batch has ended
  --key <text>       Idempotency key: the same again gives the same batch again
${SERVER_HELP}`;

/** Milliseconds for the whole upload: those that a server gives it by default. */
const UPLOAD_MS = 600_000;

/** `signalbox batches submit`: creates a batch from a file. */
export const batchesSubmit: Command = {
  name: 'batches submit',
  summary: 'Create a batch from a file of requests',
  usage: SUBMIT_USAGE,
  async run(args, io) {
    const { name, values } = batchArguments(args, 'a file', ['model', 'callback', 'key']);
    const server = batchServer(values.url, io);
    const path = resolve(io.folder, name);
    await access(path).catch(() => {
      throw new CommandError(`${name} cannot be read.`);
    });
    const lines = readBatchLines(path);
    try {
      const first = await lines.next();
      if (first.done === true) throw new CommandError(`${name} has no requests.`);
      const fields = { endpoint: first.value.url, model: values.model, callback_url: values.callback };
      const batch = await server.ask({
        path: '/batches',
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(values.key === undefined ? {} : { 'idempotency-key': values.key }),
        },
        body: ReadableStream.from(bodyOf(fields, first.value, lines)),
        timeoutMs: UPLOAD_MS,
      });
      io.print(batch.id);
      return 0;
    } finally {
      await lines.return(undefined);
    }
  },
};

/** The body of `POST /batches`, with the fields before the requests as it must be. */
async function* bodyOf(
  fields: Readonly<Record<string, string | undefined>>,
  first: BatchLine,
  lines: AsyncIterable<BatchLine>,
): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder();
  yield encoder.encode(`${JSON.stringify(fields).slice(0, -1)},"requests":[${textOf(first)}`);
  for await (const line of lines) yield encoder.encode(`,${textOf(line)}`);
  yield encoder.encode(']}');
}

function textOf({ customId, body }: BatchLine): string {
  return JSON.stringify({ custom_id: customId, body });
}

const WATCH_USAGE = `<id> [options]

Shows the progress of a batch until it ends. The exit code is 0 when it is completed, and 1 when it ended otherwise.
A server that becomes unreachable meanwhile is asked again, less and less often, for ${PATIENCE_MINUTES} minutes.

  --every <seconds>  Time between two looks. Default: 2
${SERVER_HELP}`;

const DEFAULT_SECONDS = 2;
const BAR_LENGTH = 30;
const ENDS: ReadonlySet<Batch['status']> = new Set(BATCH_ENDS);

/** `signalbox batches watch`: shows the progress of a batch. */
export const batchesWatch: Command = {
  name: 'batches watch',
  summary: 'Show the progress of a batch until it ends',
  usage: WATCH_USAGE,
  async run(args, io) {
    const { name, values } = batchArguments(args, 'the id of a batch', ['every']);
    const seconds = Number(values.every ?? DEFAULT_SECONDS);
    if (!(seconds > 0)) throw new CommandError(`--every must be a number of seconds, not "${values.every ?? ''}".`);
    let before = '';
    const server = patientServer(batchServer(values.url, io), io, () => (before = ''));
    for (;;) {
      const batch = await server.ask({ path: `/batches/${encodeURIComponent(name)}` });
      const line = progressLine(batch);
      if (line !== before) io.progress(line);
      before = line;
      const { status, error } = batch;
      if (ENDS.has(status)) {
        if (error !== null) io.complain(error.message);
        return status === 'completed' ? 0 : 1;
      }
      await io.wait(seconds * 1_000);
    }
  },
};

/** A line as `in_progress  [#####-----]  50%  5 of 10, 1 failed`. */
function progressLine({ status, request_counts: counts }: Batch): string {
  const { total, completed, failed } = counts;
  const done = completed + failed;
  const part = total > 0 ? done / total : 0;
  const bar = '#'.repeat(Math.floor(part * BAR_LENGTH)).padEnd(BAR_LENGTH, '-');
  const percent = `${Math.floor(part * 100)}%`.padStart(4);
  const failures = failed > 0 ? `, ${failed} failed` : '';
  return `${status.padEnd(11)}  [${bar}] ${percent}  ${done} of ${total}${failures}`;
}

const RESULTS_USAGE = `<id> [options]

Prints the results of a completed batch, one per line, in the order of its requests. Nothing is printed
before all of them are here: when the answer ends early it is asked for again, for ${PATIENCE_MINUTES} minutes.

${SERVER_HELP}`;

/** Milliseconds for the whole download. */
const DOWNLOAD_MS = 600_000;

/** `signalbox batches results`: prints the results of a batch. */
export const batchesResults: Command = {
  name: 'batches results',
  summary: 'Print the results of a completed batch, one per line',
  usage: RESULTS_USAGE,
  async run(args, io) {
    const { name, values } = batchArguments(args, 'the id of a batch', []);
    const server = patientServer(batchServer(values.url, io), io);
    const { results, status, error } = await server.ask({
      path: `/batches/${encodeURIComponent(name)}`,
      timeoutMs: DOWNLOAD_MS,
    });
    if (results === null) {
      const why = error === null ? '' : `: ${error.message}`;
      throw new CommandError(`The batch is ${status}${why}. Only completed batches have results.`);
    }
    for (const result of results) io.print(JSON.stringify(result));
    return 0;
  },
};
