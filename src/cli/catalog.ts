/** The commands `signalbox catalog refresh` and `show`. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import {
  type CatalogFacts,
  compareFacts,
  type FactChanges,
  mergeFacts,
  type ModelFacts,
  NO_FACTS,
  onlyVendors,
  type PriceDifference,
} from '../catalog/facts.ts';
import { VENDOR_IDS } from '../catalog/vendor-ids.ts';
import { ConfigError } from '../protocol/router-error.ts';
import { LOCK_FILE } from '../runtime/endpoints/known-models.ts';
import { readCatalogLock, readLockIfThere, writeCatalogLock } from '../runtime/catalog/lock-file.ts';
import { type Command, CommandError, MisuseError, type CommandIo } from './command.ts';
import type { Price } from '../catalog/price.ts';
import { LITELLM, parseLiteLlm } from '../catalog/litellm.ts';
import { MODELS_DEV, parseModelsDev } from '../catalog/models-dev.ts';
import { readFile, stat } from 'node:fs/promises';
import { GENAI_PRICES, parseGenaiPrices } from '../catalog/genai-prices.ts';
import { isJsonObject } from '../protocol/json.ts';
import { genaiPrices } from '../runtime/catalog/genai-prices.ts';
import type { FactName } from '../catalog/endpoint.ts';

/** What {@link SOURCES} has, for the help. */
const SOURCE_NAMES = `${MODELS_DEV}, genai-prices or ${LITELLM}`;

const REFRESH_USAGE = `[options]

Writes what is known of the vendors' models (prices, limits, abilities) into a lock file, and says what changed.

  --source <name>    ${SOURCE_NAMES}; may be given several times: the first wins field by field.
                     Default: models.dev
  --url <address>    Another address of the source's data
  --file <path>      A copy of the source's data instead of fetching it
  --vendors <slugs>  Only these, separated by commas; others stay in the file as they are.
                     Default: ${Object.keys(VENDOR_IDS).join(', ')}
  --out <path>       Default: ${LOCK_FILE}
  --json             Print what changed as one JSON object`;

/** `signalbox catalog refresh`: writes the lock file. */
export const catalogRefresh: Command = {
  name: 'catalog refresh',
  summary: 'Write what is known of models and prices into a lock file',
  usage: REFRESH_USAGE,
  async run(args, io) {
    const options = parseOptions(args);
    const path = resolve(io.folder, options.out);
    const loaded = await loadSources(options, io);
    const before = readOld(path, options.out, io);
    const others = options.named ? onlyVendors(before, (slug) => !options.vendors.includes(slug)) : NO_FACTS;
    const after = mergeFacts([loaded, others]);
    await writeCatalogLock(path, after);
    const changes = compareFacts(before, after);
    const models = Object.values(after.vendors).reduce((sum, one) => sum + Object.keys(one).length, 0);
    const vendors = Object.keys(after.vendors).length;
    if (options.json) {
      io.print(JSON.stringify({ file: options.out, models, vendors, ...changes }));
      return 0;
    }
    for (const line of describeChanges(changes)) io.print(line);
    io.print(`${options.out}: ${models} models of ${vendors} vendors.`);
    return 0;
  },
};

interface RefreshOptions {
  readonly sources: readonly string[];
  readonly url?: string | undefined;
  readonly file?: string | undefined;
  readonly vendors: readonly string[];
  /** True when the vendors were named, and not those by default. */
  readonly named: boolean;
  readonly out: string;
  readonly json: boolean;
}

function parseOptions(args: readonly string[]): RefreshOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      source: { type: 'string', multiple: true },
      url: { type: 'string' },
      file: { type: 'string' },
      vendors: { type: 'string' },
      out: { type: 'string' },
      json: { type: 'boolean' },
    },
  });
  const sources = (values.source ?? ['models.dev']).flatMap(listOf);
  const unknown = sources.find((name) => !Object.hasOwn(SOURCES, name));
  if (unknown !== undefined || sources.length === 0) {
    throw new MisuseError(`--source must be ${SOURCE_NAMES}, not "${unknown ?? ''}".`);
  }
  const { url, file } = values;
  if (url !== undefined && file !== undefined) throw new MisuseError('Give --url or --file, not both.');
  if ((url ?? file) !== undefined && sources.length > 1) {
    throw new MisuseError('--url and --file say where one source is: give one --source with them.');
  }
  const named = values.vendors === undefined ? undefined : listOf(values.vendors);
  if (named?.length === 0) throw new MisuseError('--vendors must name at least one vendor.');
  const vendors = named ?? Object.keys(VENDOR_IDS);
  return {
    sources,
    url,
    file,
    vendors,
    named: named !== undefined,
    out: values.out ?? LOCK_FILE,
    json: values.json === true,
  };
}

function listOf(text: string): readonly string[] {
  return text.split(',').flatMap((item) => item.trim() || []);
}

/** An empty answer must not take the place of what is known. */
async function loadSources(options: RefreshOptions, io: CommandIo): Promise<CatalogFacts> {
  const loaded: CatalogFacts[] = [];
  for (const name of options.sources) {
    const facts = await SOURCES[name]?.(options, io);
    if (facts !== undefined) loaded.push(facts);
  }
  const facts = mergeFacts([...loaded, NO_FACTS]);
  const missing = options.vendors.filter((slug) => !Object.hasOwn(facts.vendors, slug));
  if (Object.keys(facts.vendors).length === 0 || (options.named && missing.length > 0)) {
    const names = options.named ? missing.join(', ') : 'the vendors that are known here';
    throw new CommandError(`${options.sources.join(' and ')} has no models of ${names}. The file was left as it is.`);
  }
  return facts;
}

/** What was in the file; one that cannot be used counts as none, since refreshing is how it is put right. */
function readOld(path: string, name: string, io: CommandIo): CatalogFacts {
  try {
    return readLockIfThere(path) ?? NO_FACTS;
  } catch (error) {
    if (!ConfigError.isInstance(error)) throw error;
    io.complain(`${name} could not be used and is written anew: ${error.message}`);
    return NO_FACTS;
  }
}

/** Lines of a kind that are printed; the rest is counted. */
const MOST_LINES = 20;

/** What changed in a catalog, in lines for people. */
function describeChanges({ added, removed, prices }: FactChanges): readonly string[] {
  const lines = [
    ...limited(added.map((model) => `+ ${model}`)),
    ...limited(removed.map((model) => `- ${model}`)),
    ...limited(prices.map(describePrice)),
  ];
  const summary = `${added.length} added, ${removed.length} removed, ${prices.length} with other prices`;
  return [...lines, summary];
}

function limited(lines: readonly string[]): readonly string[] {
  if (lines.length <= MOST_LINES) return lines;
  return [...lines.slice(0, MOST_LINES), `  … and ${lines.length - MOST_LINES} more`];
}

function describePrice({ model, before, after, fields }: PriceDifference): string {
  if (before === undefined || after === undefined) {
    return `~ ${model}: price ${before === undefined ? 'unknown' : 'known'} → ${after === undefined ? 'unknown' : 'known'}`;
  }
  const parts = fields.map((field) => `${field} ${amount(before[field])} → ${amount(after[field])}`);
  return `~ ${model}: ${parts.join(', ')}`;
}

function amount(value: Price[keyof Price]): string {
  if (value === undefined) return 'none';
  return typeof value === 'number' ? `$${value}` : JSON.stringify(value);
}

const SHOW_USAGE = `[<vendor> | <vendor>/<model> ...] [options]

Shows the content of a lock file. Without a name: its sources and vendors; with that of a vendor: its models; with that
of a model: every field, and the source, date and licence that it comes from.

  --file <path>  Default: ${LOCK_FILE}
  --json         Print facts as one JSON object`;

/** `signalbox catalog show`: shows facts and where they come from. */
export const catalogShow: Command = {
  name: 'catalog show',
  summary: 'Show what is in the lock file, and where each field comes from',
  usage: SHOW_USAGE,
  run(args, io) {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { file: { type: 'string' }, json: { type: 'boolean' } },
      allowPositionals: true,
    });
    const facts = readCatalogLock(resolve(io.folder, values.file ?? LOCK_FILE));
    if (values.json === true) {
      const named = positionals.map((name) => [name, factsNamed(facts, name)]);
      io.print(JSON.stringify(positionals.length === 0 ? facts : Object.fromEntries(named)));
      return Promise.resolve(0);
    }
    const lines = positionals.length === 0 ? overview(facts) : positionals.flatMap((name) => showNamed(facts, name));
    for (const line of lines) io.print(line);
    return Promise.resolve(0);
  },
};

function overview({ origins, vendors }: CatalogFacts): readonly string[] {
  const counts = Object.entries(vendors).map(([slug, models]) => {
    const list = Object.values(models);
    const priced = list.filter(({ endpoint }) => endpoint?.price !== undefined).length;
    return `${slug}: ${list.length} models, ${priced} with prices`;
  });
  return [...origins.map(({ source, date, licence }) => `from ${source}, ${date}, ${licence}`), ...counts];
}

/** Facts of one model, or of all models of a vendor by their names. */
function factsNamed(facts: CatalogFacts, name: string): ModelFacts | Readonly<Record<string, ModelFacts>> {
  const slash = name.indexOf('/');
  const slug = slash < 0 ? name : name.slice(0, slash);
  const models = Object.hasOwn(facts.vendors, slug) ? facts.vendors[slug] : undefined;
  if (models === undefined) {
    throw new CommandError(`"${slug}" is not in the file; there are ${Object.keys(facts.vendors).join(', ')}.`);
  }
  if (slash < 0) return models;
  const model = name.slice(slash + 1);
  const found = Object.hasOwn(models, model) ? models[model] : undefined;
  if (found === undefined) throw new CommandError(`"${model}" is not among the models of ${slug} in the file.`);
  return found;
}

function showNamed(facts: CatalogFacts, name: string): readonly string[] {
  const found = factsNamed(facts, name);
  if (name.includes('/')) return [name, ...fieldsOf(found as ModelFacts, facts)];
  return Object.keys(found).map((model) => `${name}/${model}`);
}

function fieldsOf({ info, endpoint, from }: ModelFacts, { origins }: CatalogFacts): readonly string[] {
  const fields = Object.entries({ ...info, ...endpoint });
  const width = Math.max(0, ...fields.map(([field]) => field.length));
  return fields.map(([field, value]) => {
    const origin = origins[from[field as FactName] ?? -1];
    const where = origin === undefined ? 'unknown source' : `${origin.source}, ${origin.date}, ${origin.licence}`;
    return `  ${field.padEnd(width)}  ${JSON.stringify(value)}  (${where})`;
  });
}

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
const SOURCES: Readonly<Record<string, Load>> = {
  [MODELS_DEV]: async ({ url = MODELS_DEV_URL, file, vendors }, io) => {
    const { json, date } = await readData(url, file, io);
    return parseModelsDev(json, date, vendors);
  },
  [LITELLM]: async ({ url = LITELLM_URL, file, vendors }, io) => {
    const { json, date } = await readData(url, file, io);
    return parseLiteLlm(json, date, vendors);
  },
  'genai-prices': async (request, io) => {
    const { vendors, url, file } = request;
    if (url === undefined && file === undefined) return genaiPrices({ vendors });
    const { json } = await readData(url ?? '', file, io);
    const providers: unknown = isJsonObject(json) ? json['providers'] : json;
    if (!Array.isArray(providers)) throw new CommandError(`The data is not a list of providers of ${GENAI_PRICES}.`);
    return parseGenaiPrices(providers, dayOf(io.now()), vendors);
  },
};

/** The data, and the day it is from: today for what was fetched, the day of its last change for a file. */
async function readData(
  url: string,
  file: string | undefined,
  io: CommandIo,
): Promise<{ readonly json: unknown; readonly date: string }> {
  if (file === undefined) return { json: await downloadJson(url), date: dayOf(io.now()) };
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
    throw new MisuseError(`--url must be an http(s) address, not "${url}".`);
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
