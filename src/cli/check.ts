/** The command `signalbox check`, which validates a configuration. */
import type { MaybePromise } from '../platform/wait.ts';
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
The list of models of each provider is requested, which costs nothing. Exit code 1 when something is wrong.

${CONFIG_HELP}
  --offline        Call no provider
  --json           Print it as one JSON object`;

/** `signalbox check`: checks a configuration. */
export const check: Command = {
  name: 'check',
  summary: 'Check a configuration, and which providers can be reached',
  usage: USAGE,
  async run(args, io) {
    const { values } = parseArgs({
      args: [...args],
      options: { config: { type: 'string' }, offline: { type: 'boolean' }, json: { type: 'boolean' } },
    });
    const json = values.json === true;
    let router: Router;
    let configuration: string;
    try {
      const { config, from } = await loadConfig(io, values.config);
      router = createRouter(config);
      configuration = from;
    } catch (error) {
      if (!ConfigError.isInstance(error)) throw error;
      if (!json) return complain(error, io);
      io.print(JSON.stringify({ problems: error.problems }));
      return 1;
    }
    try {
      const found = await examine(router, values.offline === true ? () => NOT_CALLED : probe);
      if (json) io.print(JSON.stringify({ configuration, ...found, problems: [] }));
      else for (const line of [`Configuration: ${configuration}`, ...linesOf(router, found)]) io.print(line);
      return found.providers.every(({ state }) => GOOD.has(state)) ? 0 : 1;
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

/** What was found of a configuration in which nothing is wrong. */
interface Found {
  readonly providers: readonly {
    readonly provider: string;
    /** Absent for one that takes any model. */
    readonly models?: number;
    readonly state: string;
  }[];
  /** Ids of all models. */
  readonly models: readonly string[];
}

/** @param stateOf - Finds out how a provider answers. */
async function examine(router: Router, stateOf: (provider: Provider) => MaybePromise<string>): Promise<Found> {
  const { config, services } = router.internals;
  const states = await Promise.all(config.providers.map(stateOf));
  const providers = config.providers.map(({ slug, models, acceptsAnyModel }, index) => ({
    provider: slug,
    ...(acceptsAnyModel === true ? {} : { models: Object.keys(models).length }),
    state: states[index] ?? '',
  }));
  return { providers, models: [...services.facts.catalog.models.keys()] };
}

function linesOf(router: Router, { providers, models }: Found): readonly string[] {
  const { simulatedByDefault } = router.internals.config;
  const rows = providers.map(({ provider, models: count, state }) => [provider, String(count ?? 'any'), state]);
  return [
    ...(simulatedByDefault ? ['No keys are set, so answers are simulated.'] : []),
    ...tableOf([['provider', 'models', 'state'], ...rows]),
    ...(models.length > 0 ? [`\n${models.length} ${models.length === 1 ? 'model' : 'models'}:`] : []),
    ...models.map((model) => `  ${model}`),
  ];
}

const NOT_CALLED = 'not called';
/** States with which nothing is wrong. */
const GOOD: ReadonlySet<string> = new Set(['reachable', NOT_CALLED, 'has no check']);

async function probe(provider: Provider): Promise<string> {
  if (provider.check === undefined) return 'has no check';
  const signal = AbortSignal.timeout(PROBE_MS);
  return (await provider.check(signal)) ?? 'reachable';
}
