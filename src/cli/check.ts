import { parseArgs } from 'node:util';
import { ConfigError } from '../protocol/router-error.ts';
import type { Provider } from '../contracts/provider.ts';
import { createRouter } from '../index.ts';
import type { Router } from '../router/router.ts';
import { type Command, type CommandIo, tableOf } from './command.ts';
import { CONFIG_HELP, loadConfig } from './load-config.ts';

/** Milliseconds that a provider may take to answer. */
const PROBE_MS = 5_000;

const USAGE = `[options]

Checks a configuration and prints everything that is wrong with it, or its models and which providers can be reached.
Providers are asked for their list of models, which costs nothing. Exit code 1 when something is wrong.

${CONFIG_HELP}
  --offline        Ask no provider`;

/** `signalbox check`: checks a configuration. */
export const check: Command = {
  name: 'check',
  summary: 'Check a configuration, and which providers can be reached',
  usage: USAGE,
  async run(args, io) {
    const { values } = parseArgs({
      args: [...args],
      options: { config: { type: 'string' }, offline: { type: 'boolean' } },
    });
    let router: Router;
    try {
      const { config, from } = await loadConfig(io, values.config);
      router = createRouter(config);
      io.print(`Configuration: ${from}`);
    } catch (error) {
      if (!ConfigError.isInstance(error)) throw error;
      return complain(error, io);
    }
    try {
      return await report(router, values.offline === true, io);
    } finally {
      await router.close();
    }
  },
};

function complain({ problems }: ConfigError, io: CommandIo): number {
  io.complain(`${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}:`);
  for (const { path, problem } of problems) io.complain(`  ${path} ${problem}`);
  return 1;
}

async function report(router: Router, offline: boolean, io: CommandIo): Promise<number> {
  const { config, services } = router.internals;
  if (config.simulatedByDefault) io.print('No keys are set, so answers are simulated.');
  const states = await Promise.all(config.providers.map((one) => (offline ? 'not asked' : probe(one))));
  const rows = config.providers.map(({ slug, models, acceptsAnyModel }, index) => {
    const count = Object.keys(models).length;
    return [slug, acceptsAnyModel === true ? 'any' : String(count), states[index] ?? ''];
  });
  for (const line of tableOf([['provider', 'models', 'state'], ...rows])) io.print(line);
  const models = [...services.facts.catalog.models.keys()];
  if (models.length > 0) io.print(`\n${models.length} ${models.length === 1 ? 'model' : 'models'}:`);
  for (const model of models) io.print(`  ${model}`);
  return states.every((state) => GOOD.has(state)) ? 0 : 1;
}

/** States with which nothing is wrong. */
const GOOD: ReadonlySet<string> = new Set(['reachable', 'not asked', 'cannot be asked']);

async function probe(provider: Provider): Promise<string> {
  if (provider.check === undefined) return 'cannot be asked';
  const signal = AbortSignal.timeout(PROBE_MS);
  return (await provider.check(signal)) ?? 'reachable';
}
