/** The commands `signalbox batches submit`, `watch` and `results`. */
import { timerMs } from '../platform/environment.ts';
import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type BatchLine, readBatchLines } from './batch-file.ts';
import { type Command, CommandError, type CommandIo, MisuseError, refusal, STANDARD_INPUT } from './command.ts';
import { type Batch, BATCH_ENDS } from '../protocol/batch.ts';
import { parseArgs } from 'node:util';
import { isJsonObject } from '../protocol/json.ts';
import * as read from '../platform/json.ts';
import { retry } from '../platform/retry.ts';

/** Lines of help about the options that all commands about batches have. */
const SERVER_HELP = `  --url <address>    Base URL of the server, for example http://localhost:3000/v1. Default: SIGNALBOX_URL
                     The key is taken from SIGNALBOX_API_KEY; it is no option, so that it is not in the list of
                     processes. Without one, requests are sent without.`;

/** Milliseconds until a server must have begun to answer. Uploads have their own. */
const TIMEOUT_MS = 60_000;

/** A request to the server. */
interface ServerRequest {
  readonly path: string;
  readonly method?: 'GET' | 'POST' | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: ReadableStream<Uint8Array> | undefined;
  /** Milliseconds for everything. Default 60,000. */
  readonly timeoutMs?: number | undefined;
}

/** An answer that did not come, or only part of it, or that the server cannot answer right now: later it may. */
class UnansweredError extends CommandError {
  /** True when the server was there and began to answer, so that its address is right. */
  readonly isReached: boolean;
  /** Milliseconds after which the server may be called again. */
  readonly retryAfterMs: number;

  constructor(message: string, { isReached, retryAfterMs = 0 }: { isReached: boolean; retryAfterMs?: number }) {
    super(message);
    this.isReached = isReached;
    this.retryAfterMs = retryAfterMs;
  }
}

/** A server that has batches. */
interface BatchServer {
  /**
   * Asks for a batch.
   *
   * @throws {@link UnansweredError} when the server cannot be reached, ends early, or cannot answer right now.
   * @throws {@link CommandError} when the server answers with another error, or knows no batches.
   */
  ask(request: ServerRequest): Promise<Batch>;
}

/** Reads the one argument that a command has, and its options. */
function batchArguments<Option extends string>(
  args: readonly string[],
  what: string,
  options: readonly Option[],
): {
  readonly name: string;
  readonly values: Readonly<Partial<Record<Option | 'url', string>>>;
  readonly json: boolean;
} {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      ...Object.fromEntries([...options, 'url'].map((option) => [option, { type: 'string' as const }])),
      json: { type: 'boolean' as const },
    },
    allowPositionals: true,
  });
  const [name, ...more] = positionals;
  if (name === undefined || name === '' || more.length > 0) {
    throw new MisuseError(`Give ${what}, and nothing else but options.`);
  }
  const { json, ...texts } = values as { readonly json?: boolean };
  return { name, values: texts as Readonly<Partial<Record<Option | 'url', string>>>, json: json === true };
}

/**
 * The server that the option or the environment names.
 *
 * @throws {@link CommandError} when neither does.
 */
function batchServer(option: string | undefined, io: CommandIo): BatchServer {
  const base = option ?? io.environment['SIGNALBOX_URL'];
  if (base === undefined || !URL.canParse(base) || !/^https?:$/.test(new URL(base).protocol)) {
    const given = base === undefined ? '' : `, not "${base}"`;
    throw new MisuseError(
      `--url or SIGNALBOX_URL must be the base URL of a server, as http://localhost:3000/v1${given}.`,
    );
  }
  const key = io.environment['SIGNALBOX_API_KEY'];
  const own: Record<string, string> = key === undefined || key === '' ? {} : { authorization: `Bearer ${key}` };

  async function send({ path, method, headers, body, timeoutMs = TIMEOUT_MS }: ServerRequest): Promise<string> {
    let response: Response | undefined;
    let text: string;
    try {
      response = await fetch(`${base?.replace(/\/+$/, '') ?? ''}${path}`, {
        method: method ?? 'GET',
        headers: { ...own, ...headers },
        signal: AbortSignal.timeout(timerMs(timeoutMs)),
        ...(body === undefined ? {} : { body, duplex: 'half' }),
      });
      text = await response.text();
    } catch (error) {
      if (error instanceof Error && error.cause instanceof CommandError) throw error.cause;
      const what = response === undefined ? `${base} cannot be reached` : `The answer of ${base} ended early`;
      throw new UnansweredError(`${what}: ${reasonOf(error)}`, { isReached: response !== undefined });
    }
    const { ok, status } = response;
    if (ok) return text;
    const message = refusal(status, text);
    if (status !== 429 && status < 500) throw new CommandError(message);
    throw new UnansweredError(message, {
      isReached: true,
      retryAfterMs: secondsIn(response.headers.get('retry-after')) * 1_000,
    });
  }

  return {
    async ask(request) {
      const json = read.parse(await send(request));
      if (isJsonObject(json) && json['object'] === 'batch') return json as unknown as Batch;
      throw new CommandError(`${base} is not the base URL of a router: it did not answer with a batch.`);
    },
  };
}

function secondsIn(text: string | null): number {
  return text !== null && /^\d{1,6}$/.test(text) ? Number(text) : 0;
}

/** What went wrong, told by what is behind it: `fetch` itself says little. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message;
}

/** Minutes for which a server may be away. */
const PATIENCE_MINUTES = 10;

const PATIENCE_MS = PATIENCE_MINUTES * 60_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

/**
 * A server that is called again when it does not answer, after waits that double up to a minute. It is said once that
 * it is away. A server that was never there is not waited for: more likely its address is wrong.
 *
 * @param onBack - Called when a server that was away has answered.
 */
function patientServer(
  server: BatchServer,
  io: Pick<CommandIo, 'complain' | 'wait' | 'now'>,
  onBack: () => void = () => {},
): BatchServer {
  let wasThere = false;
  return {
    async ask(request) {
      let awaySince: number | undefined;

      function waitAfter(error: unknown, tried: number): number | undefined {
        if (!(error instanceof UnansweredError)) return undefined;
        wasThere ||= error.isReached;
        if (!wasThere) return undefined;
        const reason = error.message.replace(/\.?$/, '.');
        if (awaySince === undefined) io.complain(`${reason} Trying again for ${PATIENCE_MINUTES} minutes.`);
        awaySince ??= io.now();
        const leftMs = awaySince + PATIENCE_MS - io.now();
        if (leftMs <= 0) throw new CommandError(`No answer for ${PATIENCE_MINUTES} minutes. ${reason}`);
        const waitMs = Math.max(FIRST_WAIT_MS * 2 ** (tried - 1), error.retryAfterMs);
        return Math.min(waitMs, LONGEST_WAIT_MS, leftMs);
      }

      const batch = await retry(() => server.ask(request), { waitAfter, wait: (ms) => io.wait(ms) });
      wasThere = true;
      if (awaySince !== undefined) onBack();
      return batch;
    },
  };
}

const SUBMIT_USAGE = `<file.jsonl | -> [options]

Creates a batch from a file, one request per line, as OpenAI's Batch API has them:
  {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "…", "messages": […]}}
The file is sent while it is read. The id of the batch is printed.

  --model <name>     Model of the whole batch. Default: that of the requests, which must all have the same
  --callback <url>   HTTPS address that is told when the batch has ended
  --key <text>       Idempotency key: the same again gives the same batch again
  --json             Print the whole batch as JSON
${SERVER_HELP}`;

/** Milliseconds for the whole upload: those that a server gives it by default. */
const UPLOAD_MS = 600_000;

/** `signalbox batches submit`: creates a batch from a file. */
export const batchesSubmit: Command = {
  name: 'batches submit',
  summary: 'Create a batch from a file of requests',
  usage: SUBMIT_USAGE,
  async run(args, io) {
    const { name, values, json } = batchArguments(args, 'a file', ['model', 'callback', 'key']);
    const server = batchServer(values.url, io);
    const path = name === STANDARD_INPUT ? name : resolve(io.folder, name);
    if (name !== STANDARD_INPUT) {
      await access(path).catch(() => {
        throw new CommandError(`${name} cannot be read.`);
      });
    }
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
      io.print(json ? JSON.stringify(batch) : batch.id);
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
A server that becomes unreachable meanwhile is called again, less and less often, for ${PATIENCE_MINUTES} minutes.

  --every <seconds>  Time between two looks. Default: 2
  --json             Print the batch as JSON when it has ended
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
    const { name, values, json } = batchArguments(args, 'the id of a batch', ['every']);
    const seconds = Number(values.every ?? DEFAULT_SECONDS);
    if (!(seconds > 0)) throw new MisuseError(`--every must be a number of seconds, not "${values.every ?? ''}".`);
    let before = '';
    const server = patientServer(batchServer(values.url, io), io, () => (before = ''));
    for (;;) {
      const batch = await server.ask({ path: `/batches/${encodeURIComponent(name)}` });
      const line = progressLine(batch);
      if (line !== before) io.progress(line);
      before = line;
      const { status, error } = batch;
      if (ENDS.has(status)) {
        if (json) io.print(JSON.stringify(batch));
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
before all of them have arrived: when the response ends early it is requested again, for ${PATIENCE_MINUTES} minutes.

  --json             Changes nothing: each line is a JSON object
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
