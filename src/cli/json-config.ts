import { apiKeys } from '../auth/api-keys.ts';
import type { RouterConfig } from '../router-config.ts';
import { ConfigError, type ConfigProblem } from '../errors.ts';
import { isJsonObject } from '../protocol/json.ts';
import { nearName } from '../protocol/near-name.ts';
import { anthropic } from '../providers/anthropic/provider.ts';
import { google } from '../providers/google/provider.ts';
import { readEnvironment } from '../providers/openai-compatible/environment.ts';
import { openaiCompatible } from '../providers/openai-compatible/provider.ts';
import * as vendors from '../providers/openai-compatible/vendors.ts';
import type { Provider } from '../providers/provider.ts';
import { simulated } from '../providers/simulated/provider.ts';
import { CommandError } from './command.ts';

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
  openaiCompatible,
  simulated,
};

/**
 * The options of `createRouter` from JSON. Providers are words, or objects whose `use` is the word and whose other
 * members are options; `apiKeys` stands for `authenticate`; a text `env:NAME` stands for that variable of the environment.
 *
 * @throws {@link CommandError} when it is not a JSON object.
 * @throws {@link ConfigError} with everything that is wrong with providers, keys and variables.
 */
export function readJsonConfig(text: string, name: string): RouterConfig {
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
