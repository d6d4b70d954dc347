import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { RouterConfig } from '../router-config.ts';
import { ConfigError } from '../errors.ts';
import { type CommandIo, CommandError } from './command.ts';
import { readJsonConfig } from './json-config.ts';

/** Names of configuration files, in the order in which they are looked for. */
const CONFIG_FILES = ['ts', 'mts', 'mjs', 'js', 'json'].map((ending) => `signalbox.config.${ending}`);

/** What `--config` means, for the help of commands. */
export const CONFIG_HELP = `  --config <path>  Default: ${CONFIG_FILES.join(', ')} in this folder.
                   Without one, the keys in the environment decide, and answers are simulated when there are none.`;

/** A configuration and where it is from. */
export interface LoadedConfig {
  readonly config: RouterConfig;
  /** In words, for people. */
  readonly from: string;
}

/**
 * The configuration of a file, or that of the environment where there is no file.
 *
 * @throws {@link CommandError} when the file cannot be read or gives no configuration.
 * @throws {@link ConfigError} when something in it is wrong.
 */
export async function loadConfig(io: CommandIo, named: string | undefined): Promise<LoadedConfig> {
  const name = named ?? CONFIG_FILES.find((one) => existsSync(join(io.folder, one)));
  if (name === undefined) return { config: {}, from: 'the environment' };
  const path = resolve(io.folder, name);
  if (!existsSync(path)) throw new CommandError(`${name} is not there.`);
  if (path.endsWith('.json')) return { config: readJsonConfig(await readFile(path, 'utf8'), name), from: name };
  return { config: await importConfig(path, name), from: name };
}

async function importConfig(path: string, name: string): Promise<RouterConfig> {
  let loaded: { readonly default?: unknown };
  try {
    loaded = (await import(pathToFileURL(path).href)) as typeof loaded;
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
