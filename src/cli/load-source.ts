import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { CatalogFacts } from '../catalog/facts.ts';
import { GENAI_PRICES, parseGenaiPrices } from '../catalog/genai-prices.ts';
import { MODELS_DEV, parseModelsDev } from '../catalog/models-dev.ts';
import { isJsonObject } from '../protocol/json.ts';
import { genaiPrices } from '../sources/genai-prices.ts';
import { CommandError, type CommandIo } from './command.ts';
import { downloadJson } from './download.ts';

/** Where a source's data is to be taken from, if not from where it usually is. */
export interface SourceRequest {
  readonly vendors: readonly string[];
  readonly url?: string | undefined;
  readonly file?: string | undefined;
}

type Load = (request: SourceRequest, io: CommandIo) => Promise<CatalogFacts>;

const MODELS_DEV_URL = 'https://models.dev/api.json';

/** Sources by the name that the command line has for them. */
export const SOURCES: Readonly<Record<string, Load>> = {
  [MODELS_DEV]: async (request, io) => {
    const { json, date } = await readData({ url: MODELS_DEV_URL, ...request }, io);
    return parseModelsDev(json, date, request.vendors);
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
