/** Loads a configuration for the command line, from a file or from the environment, and reloads it. */
import { existsSync, watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve, basename, dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { replacement } from '../config/change-config.ts';
import type { RouterConfig } from '../config/router.ts';
import type { BuiltInProvider } from '../options/names.ts';
import { ConfigError, type ConfigProblem } from '../protocol/router-error.ts';
import { CommandError, type CommandIo } from './command.ts';
import { apiKeys } from '../http/api-keys.ts';
import { isJsonObject } from '../protocol/json.ts';
import { nearName } from '../protocol/near-name.ts';
import { anthropic } from '../providers/anthropic/provider.ts';
import { bedrock } from '../providers/bedrock/provider.ts';
import { google } from '../providers/google/provider.ts';
import { readEnvironment } from '../platform/environment.ts';
import { openaiCompatible } from '../providers/openai-compatible/provider.ts';
import * as vendors from '../providers/openai-compatible/vendors.ts';
import type { Provider } from '../contracts/provider.ts';
import { simulated } from '../providers/simulated/provider.ts';
import process from 'node:process';
import type { Router } from '../router/router.ts';

/** Names of configuration files, in the order in which they are looked for. */
const CONFIG_FILES = ['ts', 'mts', 'mjs', 'js', 'json'].map((ending) => `signalbox.config.${ending}`);

/** What `--config` means, for the help of commands. */
export const CONFIG_HELP = `  --config <path>  Default: ${CONFIG_FILES.join(', ')} in this folder.
                   Without one, the keys in the environment decide, and answers are simulated when there are none.`;

/** A configuration and where it is from. */
interface LoadedConfig {
  readonly config: RouterConfig;
  /** In words, for people. */
  readonly from: string;
  /** The file; undefined for the environment. */
  readonly path?: string | undefined;
}

/**
 * The configuration of a file, or that of the environment where there is no file.
 *
 * @param reading - Counted from 0: a file that has changed is read again. What it imports is not.
 * @throws {@link CommandError} when the file cannot be read or gives no configuration.
 * @throws {@link ConfigError} when something in it is wrong.
 */
export async function loadConfig(io: CommandIo, named: string | undefined, reading = 0): Promise<LoadedConfig> {
  const name = nameOf(io, named);
  if (name === undefined) return { config: {}, from: 'the environment' };
  // At the start there is nothing to go on with, so it is waited for. The timer also keeps the process from ending.
  const notice =
    reading === 0 ? setInterval(() => io.complain(`Still reading ${name}: ${UNSETTLED}.`), READING_MS) : undefined;
  const unwatch = watchExit(io, name);
  try {
    return await readConfig(io, name, reading);
  } finally {
    clearInterval(notice);
    unwatch();
  }
}

/** Milliseconds that a file may take to give its configuration. */
const READING_MS = 10_000;

const UNSETTLED = `it has not given a configuration within ${READING_MS / 1_000} seconds. Look at what it awaits`;

function nameOf(io: CommandIo, named: string | undefined): string | undefined {
  return named ?? CONFIG_FILES.find((one) => existsSync(join(io.folder, one)));
}

/** Says why, where what is read ends the process. Gives what ends the watch. */
function watchExit(io: CommandIo, name: string): () => void {
  const say = (code: number): void =>
    io.complain(`The process ends with code ${code} while ${name} is read: something in it calls process.exit.`);
  process.once('exit', say);
  return () => void process.off('exit', say);
}

async function readConfig(io: CommandIo, name: string, reading: number): Promise<LoadedConfig> {
  const path = resolve(io.folder, name);
  if (!existsSync(path)) throw new CommandError(`${name} is not there.`);
  if (path.endsWith('.json')) return { config: readJsonConfig(await readFile(path, 'utf8'), name), from: name, path };
  return { config: await importConfig(path, name, reading), from: name, path };
}

async function importConfig(path: string, name: string, reading: number): Promise<RouterConfig> {
  let loaded: { readonly default?: unknown };
  try {
    loaded = (await import(`${pathToFileURL(path).href}${reading === 0 ? '' : `?${reading}`}`)) as typeof loaded;
  } catch (error) {
    // Factories in the file find faults of their own.
    if (ConfigError.isInstance(error)) throw error;
    const { code, message } = Object(error) as { code?: unknown; message?: unknown };
    if (code === 'ERR_UNKNOWN_FILE_EXTENSION') {
      throw new CommandError(`${name} needs a Node that runs TypeScript (22.18 or newer), or an ending of .mjs.`);
    }
    throw new CommandError(`${name} cannot be loaded: ${String(message)}`);
  }
  const config: unknown =
    typeof loaded.default === 'function' ? await callConfig(loaded.default, name) : loaded.default;
  if (typeof config === 'object' && config !== null) return config;
  throw new CommandError(
    `${name} must export the options of createRouter as its default, or a function that gives them.`,
  );
}

async function callConfig(make: unknown, name: string): Promise<unknown> {
  try {
    return await (make as () => unknown)();
  } catch (error) {
    if (ConfigError.isInstance(error)) throw error;
    throw new CommandError(`The function in ${name} failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Makes a provider of options that were checked by nobody; the factory does that. */
type Make = (options: never) => Provider;

/** Providers by the word that JSON has for them in `use`. */
const FACTORIES: Readonly<Record<string, Make>> = {
  openai: vendors.openai,
  anthropic,
  google,
  groq: vendors.groq,
  together: vendors.together,
  fireworks: vendors.fireworks,
  deepinfra: vendors.deepinfra,
  deepseek: vendors.deepseek,
  mistral: vendors.mistral,
  xai: vendors.xai,
  openrouter: vendors.openrouter,
  ollama: vendors.ollama,
  vllm: vendors.vllm,
  lmstudio: vendors.lmstudio,
  azure: vendors.azure,
  bedrock,
  cerebras: vendors.cerebras,
  perplexity: vendors.perplexity,
  cohere: vendors.cohere,
  huggingface: vendors.huggingface,
  sambanova: vendors.sambanova,
  nvidia: vendors.nvidia,
  github: vendors.github,
  cloudflare: vendors.cloudflare,
  moonshot: vendors.moonshot,
  qwen: vendors.qwen,
  minimax: vendors.minimax,
  zhipu: vendors.zhipu,
  openaiCompatible,
  simulated,
} satisfies Readonly<Record<BuiltInProvider | 'openaiCompatible', Make>>;

/**
 * The options of `createRouter` from JSON. Providers are words, or objects whose `use` is the word and whose other
 * members are options; `apiKeys` stands for `authenticate`; a text `env:NAME` stands for that variable of the environment.
 *
 * @throws {@link CommandError} when it is not a JSON object.
 * @throws {@link ConfigError} with everything that is wrong with providers, keys and variables.
 */
function readJsonConfig(text: string, name: string): RouterConfig {
  const problems: ConfigProblem[] = [];
  const json = fillIn(parse(text, name), '', problems);
  if (!isJsonObject(json)) throw new CommandError(`${name} must hold a JSON object.`);
  const { providers, apiKeys: keys, ...rest } = json;
  const made = Array.isArray(providers)
    ? providers.map((one: unknown, index) => collect(() => makeProvider(one, `providers[${index}]`), problems))
    : providers;
  const authenticate = keys === undefined ? undefined : collect(() => apiKeys(keys as never), problems);
  if (problems.length > 0) throw new ConfigError(problems);
  return {
    ...rest,
    ...(made === undefined ? {} : { providers: made as readonly Provider[] }),
    ...(authenticate === undefined ? {} : { authenticate }),
  };
}

function parse(text: string, name: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new CommandError(`${name} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Puts variables of the environment in the place of their names. */
function fillIn(value: unknown, path: string, problems: ConfigProblem[]): unknown {
  if (typeof value === 'string' && value.startsWith('env:')) {
    const variable = value.slice('env:'.length);
    const found = readEnvironment(variable);
    if (found === undefined) problems.push({ path, problem: `needs the variable ${variable} of the environment` });
    return found ?? 'missing';
  }
  if (Array.isArray(value)) return value.map((one, index) => fillIn(one, `${path}[${index}]`, problems));
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).map(([name, member]): [string, unknown] => [
    name,
    fillIn(member, path === '' ? name : `${path}.${name}`, problems),
  ]);
  return Object.fromEntries(members);
}

function makeProvider(entry: unknown, path: string): Provider {
  const { use, ...options } = (typeof entry === 'string' ? { use: entry } : Object(entry)) as { use?: unknown };
  const make = typeof use === 'string' && Object.hasOwn(FACTORIES, use) ? FACTORIES[use] : undefined;
  if (make !== undefined) return make(options as never);
  const near = typeof use === 'string' ? nearName(use, Object.keys(FACTORIES)) : undefined;
  const hint = near === undefined ? '' : `; did you mean "${near}"?`;
  const problem = `must name its provider in "use": ${Object.keys(FACTORIES).join(', ')}${hint}`;
  throw new ConfigError([{ path, problem }]);
}

/** What a function gives, or undefined while the faults that it finds are collected. */
function collect<Made>(make: () => Made, problems: ConfigProblem[]): Made | undefined {
  try {
    return make();
  } catch (error) {
    if (!ConfigError.isInstance(error)) throw error;
    problems.push(...error.problems);
    return undefined;
  }
}

/** Milliseconds without another change after which a file counts as written. */
const SETTLED_MS = 100;

/** Where a configuration is read from. */
interface ConfigurationSource {
  /** As the option `--config` names it. */
  readonly named: string | undefined;
  /** The file; undefined for the environment, which is read again at SIGHUP only. */
  readonly path: string | undefined;
}

/**
 * Reads the configuration again when its file changes and at SIGHUP, and puts the whole of it in force. One line says how
 * that went. A later reading takes the place of one that is still under way.
 *
 * @returns What ends it.
 */
export function reloadConfiguration(router: Router, io: CommandIo, { named, path }: ConfigurationSource): () => void {
  let reading = 0;
  /** The latest reading that came to an end: what an earlier one gives after that is out of date. */
  let ended = 0;
  let timer: NodeJS.Timeout | undefined;
  const limits = new Set<NodeJS.Timeout>();
  const reload = (): void => {
    reading += 1;
    const number = reading;
    const complain = (error: unknown): void => {
      ended = Math.max(ended, number);
      const reason = error instanceof Error ? error.message : String(error);
      const { version } = router.configuration;
      io.complain(`Configuration ${version} stays in force, because what was read cannot be used: ${reason}`);
    };
    const limit = setTimeout(() => {
      if (number > ended) complain(new CommandError(`${nameOf(io, named) ?? 'the environment'}: ${UNSETTLED}.`));
    }, READING_MS);
    limits.add(limit);
    const apply = async (): Promise<void> => {
      try {
        const { config, from } = await readAgain(router, io, named, number);
        if (number <= ended) return;
        const { version } = router.update(replacement(config));
        ended = number;
        io.print(`Configuration ${version} from ${from} is in force.`);
      } catch (error) {
        if (number > ended) complain(error);
      } finally {
        clearTimeout(limit);
        limits.delete(limit);
      }
    };
    void apply();
  };
  const soon = (): void => {
    clearTimeout(timer);
    timer = setTimeout(reload, SETTLED_MS);
  };
  // Editors replace a file, so its folder is watched.
  const watcher =
    path === undefined
      ? undefined
      : watch(dirname(path), (_event, name) => {
          if (name === basename(path)) soon();
        });
  process.on('SIGHUP', reload);
  return () => {
    ended = Infinity;
    clearTimeout(timer);
    for (const limit of limits) clearTimeout(limit);
    watcher?.close();
    process.off('SIGHUP', reload);
  };
}

/** What was read of a ledger, with the store and the functions of the one in force: only what is data can be compared. */
function sameStores(read: RouterConfig['ledger'], router: Router): RouterConfig['ledger'] {
  const running = router.internals.config.ledger;
  if (typeof read !== 'object' || running === undefined) return read;
  const { store, content, redact } = read;
  return {
    ...read,
    ...(store === undefined ? {} : { store: running.store }),
    ...(content === undefined ? {} : { content: running.content?.sink }),
    ...(redact === undefined ? {} : { redact: running.content?.redact }),
  };
}

/** Reads what may change. Stores that were made anew by the reading are closed. */
async function readAgain(
  router: Router,
  io: CommandIo,
  named: string | undefined,
  reading: number,
): Promise<Pick<LoadedConfig, 'config' | 'from'>> {
  const { config, from } = await loadConfig(io, named, reading);
  // These belong to the process. Read again they are others, even if they say the same, and nobody else closes them.
  const { state, batches, webhooks: _webhooks, on: _on, environment: _, ledger, ...rest } = config;
  const running = router.internals.config;
  const storage = await running.batches.openStorage();
  const inUse = new Set<unknown>([running.state, storage, running.ledger?.store]);
  const stores = [state, batches?.storage, typeof ledger === 'object' ? ledger.store : undefined];
  await Promise.all(stores.map((store) => (inUse.has(store) ? undefined : store?.close?.())));
  const kept = sameStores(ledger, router);
  return { config: kept === undefined ? rest : { ...rest, ledger: kept }, from };
}
