import type { EndpointDeclaration } from '../catalog/endpoint.ts';
import { type CatalogFacts, NO_FACTS } from '../catalog/facts.ts';
import type { ModelInfo } from '../catalog/model.ts';
import type { RoutingPolicy } from '../core/account.ts';
import { DEFAULT_BACKOFF, DEFAULT_RETRY_BUDGET, type RetryBudgetPolicy } from '../core/fallback/retry-budget.ts';
import { DEFAULT_BREAKER_POLICY } from '../core/fallback/breaker.ts';
import type { HealthPolicy } from '../core/fallback/health.ts';
import type { FallbackPolicy } from '../core/fallback/next-move.ts';
import { MAX_RETRY_AFTER_MS } from '../core/fallback/http-date.ts';
import type { Preset } from '../core/normalize/preset.ts';
import { DEFAULT_SELECTION_POLICY, type SelectionPolicy } from '../core/selection/performance.ts';
import {
  batchProblems,
  resolveBatches,
  type ResolvedBatches,
  type ResolvedWebhooks,
  resolveWebhooks,
} from './config-batches.ts';
import { limitsProblems, type ResolvedLimits, resolveLimits } from './config-limits.ts';
import type { Plugin, PluginDefault } from '../contracts/plugin.ts';
import { registryProblems } from '../core/pipeline/registry.ts';
import type { ServerToolDefinition } from '../contracts/server-tool.ts';
import { optionProblems } from '../platform/option-kinds.ts';
import { ROUTER_OPTIONS } from './router-options.ts';
import { ConfigError, type ConfigProblem } from '../protocol/router-error.ts';
import { defaultPlugins, defaultServerTools } from '../plugins/defaults.ts';
import { DEFAULT_REQUEST_LIMITS, type RequestLimits } from '../protocol/limits.ts';
import { readEnvironment } from '../platform/environment-variables.ts';
import { providersFromEnvironment } from '../providers/from-environment.ts';
import type { Provider } from '../contracts/provider.ts';
import { simulated } from '../providers/simulated/provider.ts';
import { type Environment, systemEnvironment } from '../platform/environment.ts';
import { catalogFromEnvironment, readCatalogInput } from '../runtime/chat/known-models.ts';
import { Secret } from '../platform/secret.ts';
import { DEFAULT_TIMEOUTS, type Timeouts } from '../runtime/chat/call-watch.ts';
import type { AnonymousCallers, Authenticate } from '../contracts/authenticate.ts';
import { memoryStore } from '../storage/memory.ts';
import type { StateStore } from '../contracts/state-store.ts';
import type { Brand, Cors, KeepAlive, Partially, RouterConfig } from './router-config.ts';

/** A configuration in which nothing is missing. */
export interface ResolvedConfig {
  readonly providers: readonly Provider[];
  /** True when answers are simulated because nobody said who should answer. */
  readonly simulatedByDefault: boolean;
  readonly models: Readonly<Record<string, ModelInfo>>;
  readonly catalog: CatalogFacts;
  readonly catalogMaxAgeDays: number;
  readonly aliases: Readonly<Record<string, string | readonly string[]>>;
  readonly presets: Readonly<Record<string, Preset>>;
  readonly defaultModel: string | undefined;
  readonly plugins: readonly Plugin[];
  readonly pluginDefaults: readonly PluginDefault[];
  readonly maxPluginDepth: number;
  readonly serverTools: readonly ServerToolDefinition[];
  readonly policy: RoutingPolicy;
  readonly authenticate: Authenticate | undefined;
  readonly anonymous: AnonymousCallers;
  /** True when a program in production has not said who may call over HTTP. */
  readonly callersUnsaid: boolean;
  readonly cors: Cors | undefined;
  readonly brand: Brand;
  readonly limits: RequestLimits;
  readonly timeouts: Timeouts;
  readonly fallback: FallbackPolicy;
  readonly health: HealthPolicy;
  readonly retryBudget: RetryBudgetPolicy;
  readonly selection: SelectionPolicy;
  readonly stickyTtlMs: number;
  readonly keepAlive: KeepAlive;
  readonly state: StateStore;
  /** True when the program said where state lives: others may share it. */
  readonly sharesState: boolean;
  readonly usage: ResolvedLimits;
  readonly batches: ResolvedBatches;
  readonly webhooks: ResolvedWebhooks;
  readonly identitySecret: Secret;
  readonly docsUrl: string;
  readonly on: NonNullable<RouterConfig['on']>;
  readonly environment: Environment;
}

const DEFAULT_FALLBACK: FallbackPolicy = {
  maxAttempts: 8,
  triesPerEndpoint: 2,
  backoff: DEFAULT_BACKOFF,
  maxWaitMs: 2_000,
};

const DEFAULT_KEEP_ALIVE: KeepAlive = { firstMs: 1_000, everyMs: 10_000 };

/** Length of a secret that we make ourselves. */
const SECRET_LENGTH = 43;

/**
 * Completes a configuration with its defaults.
 *
 * @throws {@link ConfigError} with everything that is wrong with it at once.
 */
export function resolveConfig(given: RouterConfig): ResolvedConfig {
  const faults = [...nodeProblems(), ...optionProblems<RouterConfig>(ROUTER_OPTIONS, given, '')];
  const config = withoutFaults(given, faults);
  const catalog = attempt(
    () => (config.catalog === undefined ? catalogFromEnvironment() : readCatalogInput(config.catalog)),
    NO_FACTS,
    faults,
  );
  const environment = config.environment ?? systemEnvironment();
  const limits = over(DEFAULT_REQUEST_LIMITS, config.limits);
  const state = config.state ?? memoryStore({ now: environment.now });
  const resolved: ResolvedConfig = {
    ...attempt(() => chooseProviders(config.providers, environment), NOBODY, faults),
    models: config.models ?? {},
    catalog,
    catalogMaxAgeDays: config.catalogMaxAgeDays ?? 30,
    aliases: config.aliases ?? {},
    presets: config.presets ?? {},
    plugins: config.plugins ?? defaultPlugins(),
    pluginDefaults: config.pluginDefaults ?? [],
    maxPluginDepth: config.maxPluginDepth ?? 2,
    serverTools: config.serverTools ?? defaultServerTools(),
    defaultModel: config.defaultModel,
    policy: config.policy ?? {},
    authenticate: config.authenticate,
    ...anonymousCallers(config),
    cors: config.cors,
    brand: config.brand ?? 'router',
    limits,
    timeouts: over(DEFAULT_TIMEOUTS, config.timeouts),
    fallback: over(DEFAULT_FALLBACK, config.fallback),
    health: {
      breaker: over(DEFAULT_BREAKER_POLICY, config.breaker),
      maxCooldownMs: config.maxCooldownMs ?? MAX_RETRY_AFTER_MS,
    },
    retryBudget: over(DEFAULT_RETRY_BUDGET, config.retryBudget),
    selection: over(DEFAULT_SELECTION_POLICY, config.selection),
    stickyTtlMs: config.stickyTtlMs ?? 600_000,
    keepAlive: over(DEFAULT_KEEP_ALIVE, config.keepAlive),
    state,
    sharesState: config.state !== undefined,
    usage: resolveLimits(config.rateLimits, config.budgets, config.responseCache, {
      state,
      shared: config.state !== undefined,
      environment,
    }),
    batches: resolveBatches(config.batches, { ...environment, ...limits }),
    webhooks: resolveWebhooks(config.webhooks),
    identitySecret: new Secret(config.identitySecret ?? environment.randomText(SECRET_LENGTH)),
    docsUrl: config.docsUrl ?? 'docs/fallback-and-errors.md',
    on: config.on ?? {},
    environment,
  };
  const problems = [
    ...faults,
    ...findProblems(resolved, faults),
    ...limitsProblems(config.responseCache, resolved.sharesState),
  ];
  if (problems.length > 0) throw new ConfigError(problems);
  return resolved;
}

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
  if (readEnvironment('NODE_ENV') !== 'production') return { anonymous: 'local', callersUnsaid: false };
  return { anonymous: 'nobody', callersUnsaid: authenticate === undefined && allowAnonymous === undefined };
}

/** Who answers: those of the configuration, those of the environment, and in the end nobody real. */
function chooseProviders(
  configured: readonly Provider[] | undefined,
  environment: Environment,
): Pick<ResolvedConfig, 'providers' | 'simulatedByDefault'> {
  const found = configured ?? providersFromEnvironment();
  if (configured !== undefined || found.length > 0) return { providers: found, simulatedByDefault: false };
  return { providers: [simulated({ environment })], simulatedByDefault: true };
}

/** Options over defaults; an option that is undefined counts as left out. */
function over<Options extends object>(defaults: Options, given: Partially<Options> | undefined): Options {
  const set = Object.entries(given ?? {}).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(set) };
}

function* findProblems(config: ResolvedConfig, known: readonly ConfigProblem[]): Generator<ConfigProblem> {
  if (config.providers.length === 0 && !known.some(({ path }) => path.startsWith('providers')))
    yield { path: 'providers', problem: 'must hold at least one provider' };
  const slugs = new Set<string>();
  for (const [index, provider] of config.providers.entries()) {
    const path = `providers[${index}].slug`;
    if (slugs.has(provider.slug)) yield { path, problem: `must be unique, but "${provider.slug}" is there twice` };
    slugs.add(provider.slug);
  }
  yield* embeddingProblems(config.providers);
  yield* registryProblems(config.plugins, config.pluginDefaults, config.serverTools);
  yield* corsProblems(config.cors);
  yield* batchProblems(config.batches, config.webhooks, config.limits.concurrentRequests);
  yield* aliasLoops(config.aliases);
  if (config.limits.bytesInHand < 2 * config.limits.bodyBytes) {
    yield {
      path: 'limits.bytesInHand',
      problem: 'must be at least twice limits.bodyBytes: one account gets half of it',
    };
  }
  if (config.timeouts.totalMs < config.timeouts.firstTokenMs) {
    yield { path: 'timeouts.totalMs', problem: 'must not be shorter than timeouts.firstTokenMs' };
  }
}

/** A model that is declared to make embeddings needs a provider that can be asked for some. */
function* embeddingProblems(providers: readonly Provider[]): Generator<ConfigProblem> {
  for (const [index, provider] of providers.entries()) {
    if (provider.embed !== undefined) continue;
    for (const [model, declared] of Object.entries(provider.models)) {
      const declarations: readonly EndpointDeclaration[] = [declared].flat();
      if (!declarations.some(({ outputModalities }) => outputModalities?.includes('embeddings'))) continue;
      const path = `providers[${index}].models["${model}"].outputModalities`;
      yield { path, problem: 'must not name embeddings, because this provider has no embed function' };
    }
  }
}

function* corsProblems(cors: Cors | undefined): Generator<ConfigProblem> {
  if (cors === undefined || cors.origins === '*') return;
  if (!Array.isArray(cors.origins)) {
    yield { path: 'cors.origins', problem: "must be '*' or a list of origins such as https://app.example.com" };
    return;
  }
  for (const [index, origin] of (cors.origins as readonly unknown[]).entries()) {
    if (typeof origin === 'string' && URL.canParse(origin) && new URL(origin).origin === origin) continue;
    yield {
      path: `cors.origins[${index}]`,
      problem: 'must be an origin such as https://app.example.com, without a path',
    };
  }
}

/** Oldest Node that is tested, as `engines` in package.json has it. */
const OLDEST: readonly [major: number, minor: number] = [22, 12];

/** Says that Node is too old; nothing on runtimes that are not Node or that are new enough. */
export function nodeProblems(version: string | undefined = nodeVersion()): readonly ConfigProblem[] {
  if (version === undefined) return [];
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return [];
  return [{ path: 'Node.js', problem: `must be version ${OLDEST.join('.')} or newer, not ${version}` }];
}

/** Bun and Deno say a version of Node too, but have one of their own. */
function nodeVersion(): string | undefined {
  const { process } = globalThis as { process?: { versions?: Readonly<Record<string, string | undefined>> } };
  const { node, bun, deno } = process?.versions ?? {};
  return bun === undefined && deno === undefined ? node : undefined;
}

/** Aliases that lead back to themselves, each loop told once. */
function* aliasLoops(aliases: Readonly<Record<string, string | readonly string[]>>): Generator<ConfigProblem> {
  const done = new Set<string>();

  function* visit(name: string, trail: readonly string[]): Generator<ConfigProblem> {
    const start = trail.indexOf(name);
    if (start >= 0) {
      const loop = [...trail.slice(start), name].map((one) => JSON.stringify(one)).join(' → ');
      yield { path: `aliases[${JSON.stringify(name)}]`, problem: `must not lead back to itself: ${loop}` };
      return;
    }
    if (done.has(name) || !Object.hasOwn(aliases, name)) return;
    for (const target of [aliases[name] ?? []].flat()) yield* visit(target, [...trail, name]);
    done.add(name);
  }

  for (const name of Object.keys(aliases)) yield* visit(name, []);
}
