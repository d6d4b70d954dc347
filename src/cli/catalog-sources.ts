import { resolve } from 'node:path';
import type { CatalogFacts } from '../catalog/facts.ts';
import { CommandError, type CommandIo } from './command.ts';
import { readFile, stat } from 'node:fs/promises';
import { GENAI_PRICES, parseGenaiPrices } from '../catalog/genai-prices.ts';
import { LITELLM, parseLiteLlm } from '../catalog/litellm.ts';
import { MODELS_DEV, parseModelsDev } from '../catalog/models-dev.ts';
import { isJsonObject } from '../protocol/json.ts';
import { genaiPrices } from '../runtime/catalog/genai-prices.ts';

/** Where a source's data is to be taken from, if not from where it usually is. */
interface SourceRequest {
  readonly vendors: readonly string[];
  readonly url?: string | undefined;
  readonly file?: string | undefined;
}

type Load = (request: SourceRequest, io: CommandIo) => Promise<CatalogFacts>;

const MODELS_DEV_URL = 'https://models.dev/api.json';

const LITELLM_URL = 'https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json';

/** Sources by the name that the command line has for them. */
export const SOURCES: Readonly<Record<string, Load>> = {
  [MODELS_DEV]: async (request, io) => {
    const { json, date } = await readData({ url: MODELS_DEV_URL, ...request }, io);
    return parseModelsDev(json, date, request.vendors);
  },
  [LITELLM]: async (request, io) => {
    const { json, date } = await readData({ url: LITELLM_URL, ...request }, io);
    return parseLiteLlm(json, date, request.vendors);
  },
  'genai-prices': async (request, io) => {
    const { vendors, url, file } = request;
    if (url === undefined && file === undefined) return genaiPrices({ vendors });
    const { json } = await readData(request, io);
    const providers: unknown = isJsonObject(json) ? json['providers'] : json;
    if (!Array.isArray(providers)) throw new CommandError(`The data is not a list of providers of ${GENAI_PRICES}.`);
    return parseGenaiPrices(providers, dayOf(io.now()), vendors);
  },
};

/** The data, and the day it is from: today for what was fetched, the day of its last change for a file. */
async function readData(
  { url, file }: Omit<SourceRequest, 'vendors'>,
  io: CommandIo,
): Promise<{ readonly json: unknown; readonly date: string }> {
  if (file === undefined) return { json: await downloadJson(url ?? ''), date: dayOf(io.now()) };
  const path = resolve(io.folder, file);
  try {
    const { mtimeMs } = await stat(path);
    return { json: JSON.parse(await readFile(path, 'utf8')) as unknown, date: dayOf(mtimeMs) };
  } catch (error) {
    if (error instanceof SyntaxError) throw new CommandError(`${file} is not JSON.`);
    throw new CommandError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function dayOf(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}

const TIMEOUT_MS = 60_000;

/** Most bytes that a source's data may have. */
const MAX_BYTES = 64_000_000;

/**
 * Fetches JSON.
 *
 * @throws {@link CommandError} when the address is not one, nobody answers well, or the answer is too long or not JSON.
 */
async function downloadJson(url: string): Promise<unknown> {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new CommandError(`--url must be an http(s) address, not "${url}".`);
  }
  const text = await downloadText(url);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new CommandError(`${url} did not answer with JSON.`);
  }
}

async function downloadText(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!response.ok) {
      await response.body?.cancel();
      throw new CommandError(`${url} answered ${response.status}.`);
    }
    return await readLimited(response, url);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const { cause, message } = error as Error;
    const reason = cause instanceof Error && cause.message !== '' ? cause.message : message;
    throw new CommandError(`${url} could not be fetched: ${reason}. Is there a copy to use with --file?`);
  }
}

async function readLimited(response: Response, url: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let length = 0;
  for await (const bytes of response.body ?? []) {
    length += bytes.length;
    if (length > MAX_BYTES) throw new CommandError(`${url} answered with more than ${MAX_BYTES / 1e6} MB.`);
    text += decoder.decode(bytes, { stream: true });
  }
  return text + decoder.decode();
}
