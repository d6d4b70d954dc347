import { parseArgs } from 'node:util';
import { isJsonObject } from '../protocol/json.ts';
import type { Batch } from '../protocol/batch.ts';
import { CommandError, type CommandIo } from './command.ts';

/** Lines of help about the options that all commands about batches have. */
export const SERVER_HELP = `  --url <address>    Base URL of the server, for example http://localhost:3000/v1. Default: SIGNALBOX_URL
                     The key is taken from SIGNALBOX_API_KEY; it is no option, so that it is not in the list of
                     processes. Without one, requests are sent without.`;

/** Milliseconds until a server must have begun to answer. Uploads have their own. */
const TIMEOUT_MS = 60_000;
/** Characters of an answer that is no error of the router which are shown. */
const SHOWN_LENGTH = 200;

/** A request to the server. */
export interface ServerRequest {
  readonly path: string;
  readonly method?: 'GET' | 'POST' | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: ReadableStream<Uint8Array> | undefined;
  /** Milliseconds for everything. Default 60,000. */
  readonly timeoutMs?: number | undefined;
}

/** A server that has batches. */
export interface BatchServer {
  /**
   * Asks for a batch.
   *
   * @throws {@link CommandError} when the server cannot be reached, answers with an error, or knows no batches.
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

  async function send({ path, method, headers, body, timeoutMs = TIMEOUT_MS }: ServerRequest): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(`${base?.replace(/\/+$/, '') ?? ''}${path}`, {
        method: method ?? 'GET',
        headers: { ...own, ...headers },
        signal: AbortSignal.timeout(timeoutMs),
        ...(body === undefined ? {} : { body, duplex: 'half' }),
      });
    } catch (error) {
      throw new CommandError(`${base} cannot be reached: ${reasonOf(error)}`);
    }
    if (response.ok) return response;
    throw new CommandError(`The server answered ${response.status}: ${messageOf(await response.text())}`);
  }

  return {
    async ask(request) {
      const json = parse(await (await send(request)).text());
      if (isJsonObject(json) && json['object'] === 'batch') return json as unknown as Batch;
      throw new CommandError(`${base} is not the base URL of a router: it did not answer with a batch.`);
    },
  };
}

/** What went wrong, told by what is behind it: `fetch` itself says little. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof CommandError) throw error.cause;
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message;
}

function messageOf(text: string): string {
  const json = parse(text);
  const error = isJsonObject(json) ? json['error'] : undefined;
  const message = isJsonObject(error) ? error['message'] : undefined;
  return typeof message === 'string' ? message : text.slice(0, SHOWN_LENGTH);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
