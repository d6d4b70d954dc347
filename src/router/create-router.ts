/** Makes routers: `routerWith`, which every `createRouter` calls. */
import { shareNetwork } from '../net/network.ts';
import { ByteBudget, Concurrency } from '../runtime/endpoints/concurrency.ts';
import { BatchesOnUse } from './batches.ts';
import { buildServices } from './build-services.ts';
import {
  changedOptions,
  type ConfigurationPatch,
  type ConfigurationVersion,
  type CurrentConfiguration,
  ownCopy,
  patched,
  replacement,
  shownConfiguration,
} from '../config/change-config.ts';
import { type DefaultLists, resolveConfig, type RunningConfig } from '../config/resolve-config.ts';
import type { Alias } from '../options/rules.ts';
import type { Provider } from '../contracts/provider.ts';
import type { RouterConfig } from '../config/router.ts';
import { ChatService } from './chat.ts';
import type { EmbeddingService } from './embed.ts';
import type { KeptStreams } from '../runtime/streams/kept-streams.ts';
import type { AliasOf, ModelOf, RequestModel, Router, RouterInternals } from './router.ts';
import type { createBatches as createBatchesFunction } from './create-batches.ts';
import type { ResolvedConfig } from '../config/resolved-config.ts';
import { closableParts, EarlierVersions, forgetRefusals, ReplacedParts, type RouterVersion } from './replaced-parts.ts';
import { RouterError } from '../protocol/router-error.ts';
import { type ProviderLists, unknownProviders } from '../core/normalize/unknown-providers.ts';
import { warn } from '../runtime/events/events.ts';
import { staleSources } from '../runtime/endpoints/known-models.ts';
import { onDemand } from '../platform/wait.ts';
import { listen } from '../contracts/events.ts';
import { accountsOf } from '../core/limits/share.ts';

/**
 * Makes a router. The entry points call it, each with its own default lists.
 *
 * @throws {@link ConfigError} with everything that is wrong with the options at once.
 */
export function routerWith<
  const Providers extends readonly Provider[] = readonly Provider[],
  const Aliases extends Readonly<Record<string, Alias>> = {},
>(lists: DefaultLists, config: ConfigWith<Providers, Aliases>): RouterFor<Providers, Aliases> {
  const host = new RouterHost(lists, config);
  const router = routerOver(host, () => host.current);
  if (typeof FinalizationRegistry !== 'undefined') forgotten ??= new FinalizationRegistry((held) => held.forget());
  forgotten?.register(router, host.batches);
  return router;
}

/** Ends batches that run by themselves when nobody has their router any more: some programs make one for each request. */
let forgotten: FinalizationRegistry<BatchesOnUse> | undefined;

/** What all versions of a router have in common: the places of requests, batches, streams, and whether it is closed. */
class RouterHost {
  isClosed = false;
  /** The version in force. */
  current: RouterVersion;
  readonly batches: BatchesOnUse;
  readonly streams: RouterInternals['streams'];
  /** Called by the first request; then there is nothing left to call. */
  readonly first: { request?: (() => void) | undefined } = {};
  readonly #lists: DefaultLists;
  readonly #first: ResolvedConfig;
  readonly #admission: Concurrency;
  readonly #bytesInHand: ByteBudget;
  readonly #replaced = new ReplacedParts();
  readonly #earlier = new EarlierVersions();
  readonly #releaseNetwork: () => void;
  #kept: KeptStreams | undefined;

  constructor(lists: DefaultLists, config: RouterConfig) {
    const given = ownCopy(config);
    const resolved = resolveConfig(given, lists);
    const { limits, streams } = resolved;
    this.#lists = lists;
    this.#first = resolved;
    this.#admission = new Concurrency(limits.concurrentRequests);
    this.#bytesInHand = new ByteBudget(limits.bytesInHand, limits.bodyBytes);
    this.#divide(resolved);
    this.batches = new BatchesOnUse(() => this.#openBatches());
    if (resolved.batches.resumes) this.first.request = () => this.#resumeBatches();
    this.streams =
      streams &&
      onDemand(async () => {
        this.#kept ??= (await loadStreams()).streamsOf(resolved, this.current.services.events);
        this.#divide(this.current.config);
        return this.#kept;
      });
    this.current = this.#versionOf({ given, resolved });
    this.#releaseNetwork = shareNetwork(resolved.net);
    listen(this.current.services.events, resolved.on);
    notifyAtStart(this.current, noteCopy());
  }

  /** What all accounts share is divided where there can be several. */
  #divide({ authenticate }: ResolvedConfig): void {
    const accounts = accountsOf(authenticate);
    this.#admission.divide(accounts);
    this.#bytesInHand.divide(accounts);
    this.#kept?.divide(accounts);
  }

  checkOpen(): void {
    if (this.isClosed) throw new RouterError(CLOSED);
  }

  /** A process that was restarted goes on with what it had accepted. */
  #resumeBatches(): void {
    delete this.first.request;
    if (!this.isClosed) this.batches.resume();
  }

  async #openBatches(): ReturnType<typeof createBatchesFunction> {
    const { createBatches } = await import('./create-batches.ts');
    return createBatches(this.#first, () => this.current.services, this.#admission, {
      prepareChat: (body, options) => this.current.chat.prepareItem(body, options),
      prepareEmbeddings: async (body, options) => (await embeddingsOf(this.current)).prepareItem(body, options),
    });
  }

  /** What works by a configuration, with what is already there for the one before it. */
  #versionOf(running: RunningConfig, before?: RouterVersion): RouterVersion {
    const services = buildServices(running.resolved, (body, inner) => chat.callWithin(body, inner), before);
    const chat = new ChatService(services);
    const configuration = {
      version: (before?.configuration.version ?? 0) + 1,
      since: services.environment.wallClock(),
    };
    let shown: CurrentConfiguration | undefined;
    const pinned: Router = routerOver(this, () => made);
    const made: RouterVersion = {
      running,
      config: running.resolved,
      services,
      chat,
      configuration,
      shown: () => (shown ??= shownConfiguration(running.given, configuration)),
      internals: {
        config: running.resolved,
        services,
        admission: this.#admission,
        bytesInHand: this.#bytesInHand,
        streams: this.streams,
        pinned,
        first: this.first,
        checkOpen: () => this.checkOpen(),
      },
    };
    return made;
  }

  update(patch: ConfigurationPatch): ConfigurationVersion {
    const read = patched(() => this.current.shown(), patch);
    // Read after the function has run, which may have changed something itself.
    const before = this.current;
    const { given, names } = changedOptions(before.running.given, read);
    const resolved = resolveConfig(given, this.#lists, { ...before.running, names });
    const next = this.#versionOf({ given, resolved }, before);
    const { limits } = next.config;
    this.#admission.resize(limits.concurrentRequests);
    this.#bytesInHand.resize(limits.bytesInHand);
    this.#divide(next.config);
    forgetRefusals(before, next);
    this.current = next;
    this.#earlier.add(before);
    this.#replaced.add(before, next);
    notifyAtStart(next, 1);
    next.services.events.emit('configuration', { version: next.configuration.version });
    return next.configuration;
  }

  get versions(): readonly ConfigurationVersion[] {
    return [...this.#earlier.all, this.current].map(({ configuration }) => configuration);
  }

  /** Puts the options of an earlier version in force once more. */
  rollback(version: number): ConfigurationVersion {
    return this.update(replacement(this.#earlier.optionsOf(version, this.current.configuration)));
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.batches.close();
    await this.#kept?.close();
    await this.current.services.mirrors?.close();
    await this.current.services.ledger?.close();
    await this.#replaced.close();
    await Promise.all(closableParts(this.current.config).map((part) => part.close?.()));
    await this.#first.state.close?.();
    this.#releaseNetwork();
  }
}

/** A router that answers by the version which is in force when it is called, until it is closed. */
function routerOver(host: RouterHost, version: () => RouterVersion): Router {
  const { batches, streams, first } = host;
  const open = (): RouterVersion => {
    host.checkOpen();
    return requestedNow();
  };
  const requestedNow = (): RouterVersion => {
    first.request?.();
    return version();
  };
  const openStreams = (): ReturnType<typeof loadStreams> => {
    host.checkOpen();
    return loadStreams();
  };
  return {
    // Not async: each would cost every request a promise.
    chat: (body, options) => (host.isClosed ? refused() : requestedNow().chat.chat(body, options)),
    stream: (body, options) => (host.isClosed ? refusedStream() : requestedNow().chat.stream(body, options)),
    batches,
    embed: (async (body, options) => (await embeddingsOf(open())).embed(body, options)) as Router['embed'],
    explain: async (body, options = {}) => {
      const { services, chat } = open();
      const { explainPrepared } = await loadExplain();
      return explainPrepared(services, await chat.prepare(body, options));
    },
    countTokens: async (body, options = {}) => {
      const { services, chat } = open();
      const { countPrepared, countable } = await loadCountTokens();
      const prepared = await chat.prepare(countable(body, options.apiFormat), options, 'whole');
      const { rateTicket } = await services.rates.admit(prepared.request);
      // It is a request, but uses no tokens of a model.
      if (rateTicket !== undefined) services.rates.settle(rateTicket, 0);
      await services.spending.check(prepared.request.account);
      return countPrepared(services, prepared, options.signal);
    },
    resume: async (...requested) => (await openStreams()).resume(streams, ...requested),
    keep: async (...requested) => (await openStreams()).keep(streams, ...requested),
    open: (body, options) => (host.isClosed ? refused() : version().chat.open(body, options)),
    forgetRefusals: (which = {}) => version().services.records.refusals.forget(which),
    on: (name, listener) => version().services.events.on(name, listener),
    get ledger() {
      return version().services.ledger;
    },
    update: (patch) => host.update(patch),
    rollback: (earlier) => host.rollback(earlier),
    get configuration() {
      return version().shown();
    },
    get versions() {
      return host.versions;
    },
    get internals() {
      return version().internals;
    },
    close: () => host.close(),
  };
}

/** What answers requests for embeddings, loaded by the first of them. */
async function embeddingsOf({ services }: RouterVersion): Promise<EmbeddingService> {
  const { EmbeddingService } = await loadEmbed();
  return new EmbeddingService(services);
}

const loadExplain = onDemand(() => import('./explain.ts'));
const loadCountTokens = onDemand(() => import('../runtime/chat/count-tokens.ts'));
const loadStreams = onDemand(() => import('./streams.ts'));
const loadEmbed = onDemand(() => import('./embed.ts'));

/** A configuration whose providers and aliases define which names requests may use. */
export type ConfigWith<
  Providers extends readonly Provider[],
  Aliases extends Readonly<Record<string, Alias>>,
> = RouterConfig<Providers, Aliases>;

/** A router for the names of a {@link ConfigWith}. */
export type RouterFor<Providers extends readonly Provider[], Aliases extends Readonly<Record<string, Alias>>> = Router<
  RequestModel<ModelOf<Providers>, AliasOf<Aliases>>
>;

const CLOSED = {
  status: 503,
  errorType: 'server',
  message:
    'This router is closed: close() was called, and it answers nothing more. Close it after the last request, or make ' +
    'another with createRouter',
} as const;

function refused(): Promise<never> {
  return Promise.reject(new RouterError(CLOSED));
}

// eslint-disable-next-line require-yield
async function* refusedStream(): ReturnType<Router['stream']> {
  throw new RouterError(CLOSED);
}

/** Warns of what is valid in a configuration and may still not be meant. */
function notifyAtStart({ config, services }: RouterVersion, copies: number): void {
  const { events, environment } = services;
  events.warned = config.inspector?.warned;
  if (config.simulatedByDefault) warn(events, SIMULATED);
  if (config.callersUnsaid) warn(events, NO_CALLERS);
  if (copies > 1) warn(events, LOADED_TWICE);
  for (const [place, lists] of namedProviders(config)) {
    const unknown = unknownProviders(lists, services.facts.catalog);
    for (const sentence of unknown) warn(events, { code: 'unknown_provider', message: `${place}: ${sentence}` });
  }
  const { catalog, providers } = config;
  const slugs = providers.map(({ slug, vendor = slug }) => vendor);
  for (const source of staleSources(catalog, slugs, environment.wallClock())) {
    warn(events, {
      code: 'catalog_stale',
      message: `Prices and limits from ${source} may have changed; run "npx signalbox catalog refresh"`,
    });
  }
}

/** Lists of providers in the configuration, and where they are. */
function namedProviders({ policy, presets }: RouterVersion['config']): readonly [string, ProviderLists][] {
  return [
    ['policy', { order: [], only: [policy.only ?? []], ignore: policy.ignore ?? [] }],
    ...Object.entries(presets).map(([name, { provider }]): [string, ProviderLists] => [
      `presets.${name}.provider`,
      { order: provider?.order ?? [], only: [provider?.only ?? []], ignore: provider?.ignore ?? [] },
    ]),
  ];
}

const SIMULATED = {
  code: 'simulated',
  message:
    'No providers are configured, so answers are simulated. To get real ones, set OPENAI_API_KEY, ANTHROPIC_API_KEY, ' +
    'GROQ_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY in the environment, or pass providers to createRouter.',
} as const;

const NO_CALLERS = {
  code: 'no_callers',
  message:
    'NODE_ENV is production and neither authenticate nor allowAnonymous is set, so every request over HTTP gets a 401. Pass ' +
    'authenticate, or allowAnonymous: true, to createRouter; allowAnonymous: false if nobody calls over HTTP.',
} as const;

const LOADED_TWICE = {
  code: 'loaded_twice',
  message:
    'This process has loaded Signalbox more than once. The copies share no sessions, cooldowns or limits; see ' +
    '"npm ls signalbox", and keep one.',
} as const;

/** Where the copies of this package that a process has loaded leave their names. */
const COPIES = Symbol.for('signalbox.copies');

/**
 * Notes that this copy of the package is in use, and gives the number of copies that are. More than one, say two
 * versions below different packages, share no state: sessions, cooldowns and limits are then counted apart.
 *
 * @param copy - Name of the copy. Default: where its code was loaded from.
 */
export function noteCopy(copy: string = import.meta.url): number {
  const place = globalThis as { [COPIES]?: Set<string> };
  place[COPIES] ??= new Set();
  place[COPIES].add(copy);
  return place[COPIES].size;
}
