/** Completes a configuration with its defaults and checks it. */
import { DOCUMENTATION } from '../platform/documentation.ts';
import { type CatalogFacts, NO_FACTS } from '../catalog/facts.ts';
import { resolveBatches, resolveWebhooks } from './batches.ts';
import { limitsProblems, resolveLimits } from './limits.ts';
import { ledgerProblems, resolveLedger } from './ledger.ts';
import { areSame, FIXED } from './change-config.ts';
import { fill, type ResolvedOf, sameOption } from '../options/option.ts';
import { ROUTER, ROUTER_OPTIONS, type RouterConfig } from './router.ts';
import { FIXED_REQUEST_LIMITS, type RequestLimits } from '../options/limits.ts';
import { DEFAULT_BREAKER_POLICY, NEVER_OPENS } from '../core/fallback/breaker.ts';
import { hangDetectionPolicy } from '../core/selection/adaptive/hang-detection.ts';
import { hedgePolicy } from '../core/selection/adaptive/hedge.ts';
import { pacerPolicy } from '../core/selection/adaptive/pacer.ts';
import { adaptivePolicy } from '../core/selection/adaptive/policy.ts';
import { optionProblems } from '../platform/check-options.ts';
import { ConfigError, type ConfigProblem } from '../protocol/router-error.ts';
import type { Plugin } from '../contracts/plugin.ts';
import type { ServerToolDefinition } from '../contracts/server-tool.ts';
import { type Environment, heapLimit, readEnvironment, systemEnvironment, timerMs } from '../platform/environment.ts';
import type { Provider } from '../contracts/provider.ts';
import { catalogFromEnvironment, readCatalogInput } from '../runtime/endpoints/known-models.ts';
import { Secret } from '../platform/secret.ts';
import { memoryStore } from '../storage/memory.ts';
import { findProblems, nodeProblems } from './problems.ts';
import type { ResolvedConfig } from './resolved-config.ts';

/** What a router takes where its configuration says nothing. An entry point decides whether there is anything. */
export interface DefaultLists {
  /** Providers whose credentials are in the environment variables. */
  readonly providers: () => readonly Provider[];
  /** Provider of simulated responses, used when there is no other. */
  readonly simulated: (environment: Environment) => Provider | undefined;
  readonly plugins: () => readonly Plugin[];
  readonly serverTools: () => readonly ServerToolDefinition[];
}

/** No defaults: a router consists of what its configuration names. */
export const NO_LISTS: DefaultLists = {
  providers: () => [],
  simulated: () => undefined,
  plugins: () => [],
  serverTools: () => [],
};

/** Length of a secret that we make ourselves. */
const SECRET_LENGTH = 43;

/** A configuration that is in force. */
export interface RunningConfig {
  readonly given: RouterConfig;
  readonly resolved: ResolvedConfig;
}

/** A configuration that another one takes the place of. */
export interface ReplacedConfig extends RunningConfig {
  /** Whether the change said something of an option. What the router found itself for one that it did not stays. */
  readonly names: (option: string) => boolean;
}

/**
 * Completes a configuration with its defaults.
 *
 * @param running - The configuration that it takes the place of. Default: none.
 * @throws {@link ConfigError} with everything that is wrong with it at once.
 */
export function resolveConfig(
  given: RouterConfig,
  lists: DefaultLists = NO_LISTS,
  running?: ReplacedConfig,
): ResolvedConfig {
  const faults = [...nodeProblems(), ...optionProblems(ROUTER_OPTIONS, given, ''), ...fixedProblems(given, running)];
  const config = withoutFaults(given, faults);
  const found = running?.resolved;
  const stays = (name: string): boolean => running !== undefined && !running.names(name);
  const readCatalog = (): CatalogFacts => {
    if (found !== undefined && stays('catalog')) return found.catalog;
    return config.catalog === undefined ? catalogFromEnvironment() : readCatalogInput(config.catalog);
  };
  const { breaker, rateLimits, budgets, responseCache, allowAnonymous: _, tuning, ...filled } = fill(ROUTER, config);
  const adaptive = adaptivePolicy(tuning);
  const pacer = filled.pacer && pacerPolicy(tuning);
  const limits = requestLimits(filled.limits);
  const fixed = running === undefined ? fixedOptions(config, limits) : fixedSince(running.resolved);
  const { environment, state, sharesState } = fixed;
  const resolved: ResolvedConfig = {
    ...filled,
    limits,
    ...(found !== undefined && stays('providers')
      ? { providers: found.providers, simulatedByDefault: found.simulatedByDefault }
      : attempt(() => chooseProviders(config.providers, lists, environment), NOBODY, faults)),
    catalog: attempt(readCatalog, NO_FACTS, faults),
    docsUrl: config.docsUrl ?? `${DOCUMENTATION}/fallback-and-errors.md`,
    plugins: config.plugins ?? (found !== undefined && stays('plugins') ? found.plugins : lists.plugins()),
    serverTools:
      config.serverTools ?? (found !== undefined && stays('serverTools') ? found.serverTools : lists.serverTools()),
    ...anonymousCallers(config),
    health: {
      breaker: { ...DEFAULT_BREAKER_POLICY, ...(breaker ? {} : NEVER_OPENS) },
      maxCooldownMs: MAX_COOLDOWN_MS,
      forgetting: adaptive,
      refusalMs: pacer === false ? undefined : pacer.refusalMs,
    },
    adaptive,
    pacer,
    hangDetection: filled.hangDetection && hangDetectionPolicy(tuning),
    hedge: filled.hedge && hedgePolicy(tuning),
    usage:
      running !== undefined && areSame(USAGE, running.given, config)
        ? running.resolved.usage
        : resolveLimits(rateLimits, budgets, responseCache, { state, shared: sharesState, environment }),
    ...fixed,
  };
  faults.push(...problemsBetween(resolved, config, faults));
  if (faults.length > 0) throw new ConfigError(faults);
  return resolved;
}

/** Faults of options that are right by themselves, with those that were found before left out. */
function problemsBetween(
  resolved: ResolvedConfig,
  { responseCache, ledger }: RouterConfig,
  found: readonly ConfigProblem[],
): readonly ConfigProblem[] {
  return [
    ...findProblems(resolved, found),
    ...limitsProblems(responseCache, { shared: resolved.sharesState }),
    ...ledgerProblems(ledger),
  ];
}

/** What of a configuration cannot change while the router runs, and is made of its options. */
type FixedOptions = Pick<
  ResolvedConfig,
  'environment' | 'state' | 'sharesState' | 'ledger' | 'batches' | 'webhooks' | 'identitySecret'
>;

function fixedOptions(config: RouterConfig, limits: RequestLimits): FixedOptions {
  const { environment = systemEnvironment(), inspector } = config;
  return {
    environment,
    state: config.state ?? memoryStore({ now: environment.now }),
    sharesState: config.state !== undefined,
    ledger: resolveLedger(config.ledger, { isNeeded: inspector !== undefined, alsoKept: inspector?.content }),
    batches: resolveBatches(config.batches, { ...environment, ...limits }),
    webhooks: resolveWebhooks(config.webhooks),
    // Drawn when it is needed: where a router is made at the top of a module, Workers allow nothing random.
    identitySecret: new Secret(config.identitySecret ?? (() => environment.randomText(SECRET_LENGTH))),
  };
}

function fixedSince(running: ResolvedConfig): FixedOptions {
  const { environment, state, sharesState, ledger, batches, webhooks, identitySecret } = running;
  return { environment, state, sharesState, ledger, batches, webhooks, identitySecret };
}

/** Limits of requests, with what timers and the heap allow. */
function requestLimits(given: ResolvedOf<typeof ROUTER>['limits']): RequestLimits {
  return {
    ...FIXED_REQUEST_LIMITS,
    ...given,
    bodyTimeoutMs: timerMs(given.bodyTimeoutMs),
    writeStallMs: timerMs(given.writeStallMs),
    concurrentRequests: given.concurrentRequests ?? requestsWithin(heapLimit()),
  };
}

/** Options that must be as they were when the router was made. */
function fixedProblems(given: RouterConfig, running: RunningConfig | undefined): readonly ConfigProblem[] {
  if (running === undefined) return [];
  return FIXED.filter((name) => !sameOption(given[name], running.given[name])).map((path) => ({
    path,
    problem: 'cannot change while the router runs: leave it out, or make a new router',
  }));
}

/** Longest cooldown, whatever a provider requires: one that asks for more is tried once an hour, and may be back. */
const MAX_COOLDOWN_MS = 3_600_000;

/** Bytes of heap for each request: an open stream has about 40 kB, one that begins twice as much. */
const HEAP_PER_REQUEST = 128 * 1_024;

/** Requests that fit a heap. */
function requestsWithin(heapBytes: number | undefined): number {
  if (heapBytes === undefined) return 2_000;
  return Math.min(10_000, Math.max(1_000, Math.floor(heapBytes / HEAP_PER_REQUEST)));
}

/** Options of which limits, budgets and the cache are made: where they are as before, what these hold goes on. */
const USAGE = ['rateLimits', 'budgets', 'responseCache'] as const;

/** Nobody, while something else that is wrong is looked for. */
const NOBODY = { providers: [], simulatedByDefault: false };

/** The options without those that cannot be used, so that the rest is checked as well. */
function withoutFaults(config: RouterConfig, faults: readonly ConfigProblem[]): RouterConfig {
  if (faults.length === 0) return config;
  const names = new Set(faults.map(({ path }) => /^\w*/.exec(path)?.[0]));
  return Object.fromEntries(Object.entries(Object(config) as object).filter(([name]) => !names.has(name)));
}

/** What a part of the options gives, or something else while its faults are collected with those of the others. */
function attempt<Part>(read: () => Part, otherwise: Part, faults: ConfigProblem[]): Part {
  try {
    return read();
  } catch (error) {
    if (!ConfigError.isInstance(error)) throw error;
    faults.push(...error.problems);
    return otherwise;
  }
}

/**
 * A proxy on this machine may look like a caller on it, so in production nobody is answered until the program says who.
 */
function anonymousCallers({
  authenticate,
  allowAnonymous,
}: RouterConfig): Pick<ResolvedConfig, 'anonymous' | 'callersUnsaid'> {
  if (allowAnonymous === true) return { anonymous: 'anybody', callersUnsaid: false };
  if (!isProduction()) return { anonymous: 'local', callersUnsaid: false };
  return { anonymous: 'nobody', callersUnsaid: authenticate === undefined && allowAnonymous === undefined };
}

/**
 * The providers of the configuration, else those of the default lists, else the one that simulates: never in production,
 * where invented answers would pass for real ones.
 *
 * @throws {@link ConfigError} in production, when there is none.
 */
function chooseProviders(
  configured: readonly Provider[] | undefined,
  lists: DefaultLists,
  environment: Environment,
): Pick<ResolvedConfig, 'providers' | 'simulatedByDefault'> {
  const found = configured ?? lists.providers();
  if (configured !== undefined || found.length > 0) return { providers: found, simulatedByDefault: false };
  const simulated = lists.simulated(environment);
  if (simulated !== undefined && isProduction()) throw new ConfigError([{ path: 'providers', problem: NO_PROVIDERS }]);
  return { providers: simulated === undefined ? [] : [simulated], simulatedByDefault: simulated !== undefined };
}

const NO_PROVIDERS =
  'are missing, and NODE_ENV is production: set a key such as OPENAI_API_KEY, ANTHROPIC_API_KEY, GROQ_API_KEY, ' +
  'GEMINI_API_KEY or OPENROUTER_API_KEY in the environment, or pass providers; for simulated answers, pass [simulated()]';

/** Next.js evaluates modules in production mode when it builds, where keys need not be. */
function isProduction(): boolean {
  return readEnvironment('NODE_ENV') === 'production' && readEnvironment('NEXT_PHASE') !== 'phase-production-build';
}
