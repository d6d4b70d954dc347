import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import process from 'node:process';
import type { Router } from '../router/router.ts';
import { ConfigError } from '../protocol/router-error.ts';
import { CommandError, type CommandIo } from './command.ts';
import { loadConfig } from './load-config.ts';

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
 * Reads the configuration again when its file changes and at SIGHUP, and puts it in force. One line says how that went.
 *
 * @returns What ends it.
 */
export function reloadConfiguration(router: Router, io: CommandIo, { named, path }: ConfigurationSource): () => void {
  let reading = 0;
  let timer: NodeJS.Timeout | undefined;
  let last = Promise.resolve();
  const reload = (): void => {
    reading += 1;
    const number = reading;
    last = last.then(() => readAgain(router, io, named, number));
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
    clearTimeout(timer);
    watcher?.close();
    process.off('SIGHUP', reload);
  };
}

async function readAgain(router: Router, io: CommandIo, named: string | undefined, reading: number): Promise<void> {
  try {
    const { config, from } = await loadConfig(io, named, reading);
    // These belong to the process. Read again they would be others, even if they say the same.
    const { state: _state, batches: _batches, webhooks: _webhooks, on: _on, environment: _, ...rest } = config;
    const { version } = router.update(rest);
    io.print(`Configuration ${version} from ${from} is in force.`);
  } catch (error) {
    if (!(error instanceof CommandError) && !ConfigError.isInstance(error)) throw error;
    const { version } = router.configuration;
    io.complain(`Configuration ${version} stays in force, because what was read cannot be used: ${error.message}`);
  }
}
