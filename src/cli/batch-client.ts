import { parseArgs } from 'node:util';
import { isJsonObject } from '../protocol/json.ts';
import type { Batch } from '../protocol/batch.ts';
import { CommandError, type CommandIo } from './command.ts';
import * as read from '../platform/json.ts';
import { retry } from '../platform/retry.ts';

/** Lines of help about the options that all commands about batches have. */
export const SERVER_HELP = `  --url <address>    Base URL of the server, for example http://localhost:3000/v1. Default: SIGNALBOX_URL
                     The key is taken from SIGNALBOX_API_KEY; it is no option, so that it is not in the list of
                     processes. Without one, requests are sent without.`;

/** Milliseconds until a server must have begun to answer. Uploads have their own. */
const TIMEOUT_MS = 60_000;
/** Characters of an answer that is no error of the router which are shown. */
const SHOWN_LENGTH = 200;

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
  /** Milliseconds after which the server wants to be asked again. */
  readonly retryAfterMs: number;

  constructor(message: string, isReached: boolean, retryAfterMs = 0) {
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
export function batchArguments<Option extends string>(
  args: readonly string[],
  what: string,
  options: readonly Option[],
): { readonly name: string; readonly values: Readonly<Partial<Record<Option | 'url', string>>> } {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: Object.fromEntries([...options, 'url'].map((option) => [option, { type: 'string' as const }])),
    allowPositionals: true,
  });
  const [name, ...more] = positionals;
  if (name === undefined || name === '' || more.length > 0) {
    throw new CommandError(`Give ${what}, and nothing else but options.`);
  }
  return { name, values: values as Readonly<Partial<Record<Option | 'url', string>>> };
}

/**
 * The server that the option or the environment names.
 *
 * @throws {@link CommandError} when neither does.
 */
export function batchServer(option: string | undefined, io: CommandIo): BatchServer {
  const base = option ?? io.environment['SIGNALBOX_URL'];
  if (base === undefined || !URL.canParse(base) || !/^https?:$/.test(new URL(base).protocol)) {
    const given = base === undefined ? '' : `, not "${base}"`;
    throw new CommandError(
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
        signal: AbortSignal.timeout(timeoutMs),
        ...(body === undefined ? {} : { body, duplex: 'half' }),
      });
      text = await response.text();
    } catch (error) {
      if (error instanceof Error && error.cause instanceof CommandError) throw error.cause;
      const what = response === undefined ? `${base} cannot be reached` : `The answer of ${base} ended early`;
      throw new UnansweredError(`${what}: ${reasonOf(error)}`, response !== undefined);
    }
    const { ok, status } = response;
    if (ok) return text;
    const message = `The server answered ${status}: ${messageOf(text)}`;
    if (status !== 429 && status < 500) throw new CommandError(message);
    throw new UnansweredError(message, true, seconds(response.headers.get('retry-after')) * 1_000);
  }

  return {
    async ask(request) {
      const json = read.parse(await send(request));
      if (isJsonObject(json) && json['object'] === 'batch') return json as unknown as Batch;
      throw new CommandError(`${base} is not the base URL of a router: it did not answer with a batch.`);
    },
  };
}

function seconds(text: string | null): number {
  return text !== null && /^\d{1,6}$/.test(text) ? Number(text) : 0;
}

/** What went wrong, told by what is behind it: `fetch` itself says little. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message;
}

function messageOf(text: string): string {
  const json = read.parse(text);
  const error = isJsonObject(json) ? json['error'] : undefined;
  const message = isJsonObject(error) ? error['message'] : undefined;
  return typeof message === 'string' ? message : text.slice(0, SHOWN_LENGTH);
}

/** Minutes for which a server may be away. */
export const PATIENCE_MINUTES = 10;

const PATIENCE_MS = PATIENCE_MINUTES * 60_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

/**
 * A server that is asked again when it does not answer, after waits that double up to a minute. It is said once that it
 * is away. A server that was never there is not waited for: more likely its address is wrong.
 *
 * @param onBack - Called when a server that was away has answered.
 */
export function patientServer(
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
        if (awaySince === undefined) io.complain(`${reason} Asking again for ${PATIENCE_MINUTES} minutes.`);
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
