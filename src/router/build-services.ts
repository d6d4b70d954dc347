/** Builds the services of the runtime from a configuration. */
import { accountsOf } from '../core/limits/share.ts';
import { buildCatalog } from '../catalog/catalog.ts';
import { buildRegistry, modelsOfPlugins } from '../core/pipeline/registry.ts';
import { applyingTo } from '../core/normalize/applied.ts';
import { compileRules } from '../core/normalize/rules.ts';
import { UsualTokens } from '../runtime/endpoints/usual-times.ts';
import { accountCheck, EndUsers, AccountRates } from '../runtime/limits/accounts.ts';
import { KnownEndpoints } from '../runtime/endpoints/endpoint-load.ts';
import { EndpointRecords } from '../runtime/endpoints/endpoint-records.ts';
import type { HealthListener } from '../runtime/endpoints/record-policies.ts';
import { RequestLedger } from '../runtime/ledger/request-ledger.ts';
import { Spending } from '../runtime/limits/spending.ts';
import { Responses } from '../runtime/limits/responses.ts';
import { KnownOrigins, StickySessions } from '../runtime/endpoints/conversations.ts';
import { MirrorsOnUse } from '../runtime/chat/mirrors.ts';
import { SharedPacing } from '../runtime/endpoints/shared-pacing.ts';
import { SharedCooldowns } from '../runtime/endpoints/shared-cooldowns.ts';
import { KnownPrompts } from '../runtime/chat/known-prompts.ts';
import { RepeatedPrefixes } from '../runtime/endpoints/repeated-prefixes.ts';
import { SharedLimits } from '../runtime/endpoints/shared-limits.ts';
import { PROMPT_CACHE_MS } from '../core/selection/adaptive/policy.ts';
import { normalizePreferences } from '../core/normalize/preset.ts';
import { boundedMap } from '../storage/memory.ts';
import { sameOption } from '../options/option.ts';
import { EventHub, warn } from '../runtime/events/events.ts';
import { announceHealth } from '../runtime/events/announce.ts';
import { seldom } from '../platform/seldom.ts';
import type { RuntimeServices } from '../runtime/chat/services.ts';
import type { ResolvedConfig } from '../config/resolved-config.ts';
import type { RouterFacts } from '../core/normalize/context.ts';

/** Endpoints, accounts' users and so on that are remembered at a time. */
const MAX_RECORDS = 10_000;
/** Levels of calls of the router that plugins and server tools may make: a tool that calls a model that has tools. */
const MAX_PLUGIN_DEPTH = 2;
/** Milliseconds for which it is known which provider made encrypted reasoning: conversations rest for a night. */
const REASONING_ORIGIN_MS = 86_400_000;
/** Stand-ins of end users that are kept: each takes about 200 bytes, and a tenth of a request's time to make. */
const MAX_END_USERS = 100_000;

/** A configuration in force, and what works by it. */
export interface RunningServices {
  readonly config: ResolvedConfig;
  readonly services: RuntimeServices;
}

/**
 * Puts together what the runtime works with. Opens nothing, and sets no timers.
 *
 * @param running - What it takes the place of: everything that was learnt or counted goes on, as far as its options are
 *   the same.
 */
export function buildServices(
  config: ResolvedConfig,
  callWithin: RuntimeServices['callWithin'],
  running?: RunningServices,
): RuntimeServices {
  const { environment, docsUrl, identitySecret } = config;
  const before = running?.services;
  const facts = buildFacts(config);
  const events = before?.events ?? new EventHub();
  const onChange: HealthListener = (endpoint, earlier, later) =>
    announceHealth({ events, facts, environment }, endpoint, earlier, later);
  const records =
    before?.records.under(config, onChange) ??
    new EndpointRecords(new KnownEndpoints(boundedMap(MAX_RECORDS)), config, environment, { onChange });
  const countsKeys = config.authenticate?.keys !== undefined;
  return {
    environment,
    facts,
    limits: config.limits,
    timeouts: config.timeouts,
    fallback: config.fallback,
    selection: config.selection,
    strategy: config.strategy,
    adaptive: config.adaptive,
    hedge: config.hedge,
    providers: new Map(config.providers.map((provider) => [provider.slug, provider])),
    records,
    cooldowns: config.sharesState ? new SharedCooldowns(config.state, environment, records) : undefined,
    ...rememberedServices(config, running),
    checkAccount: accountCheck(environment, events),
    notifyOperator: seldom(environment, (message) => warn(events, { code: 'plugin_notice', message })),
    rates: new AccountRates(config.usage.limiter, config.usage.rateLimits, environment, events),
    spending: new Spending(config.usage.keeper, { ...config.usage.spending, countsKeys }, events),
    ledger:
      before?.ledger ??
      (config.ledger &&
        new RequestLedger({ ...config.ledger, secret: () => identitySecret.reveal(), environment, events })),
    responses:
      running?.config.usage === config.usage && before
        ? before.responses
        : new Responses(config.usage.responses, environment, events),
    mirrors: before?.mirrors ?? (facts.divides ? new MirrorsOnUse() : undefined),
    endUsers: before?.endUsers ?? new EndUsers(identitySecret, boundedMap(MAX_END_USERS)),
    events,
    docsUrl,
    registry: buildRegistry(config.plugins, config.pluginDefaults, config.serverTools),
    maxPluginDepth: MAX_PLUGIN_DEPTH,
    callWithin,
  };
}

/** What requests are normalised with. */
function buildFacts(config: ResolvedConfig): RouterFacts {
  const ruleTable = config.rules.length > 0 ? compileRules(config.rules, Date.parse) : undefined;
  const divides = Object.values(config.aliases).some((alias) => typeof alias === 'object' && !Array.isArray(alias));
  return {
    catalog: buildCatalog(config.providers, config.models, config.aliases, config.catalog),
    policy: config.policy,
    preferences: normalizePreferences({}, [config.policy]),
    defaultModel: config.defaultModel,
    presets: config.presets,
    ruleTable,
    divides,
    applying: ruleTable !== undefined || divides ? applyingTo : undefined,
    routerModels: modelsOfPlugins(config.plugins),
    docsUrl: config.docsUrl,
  };
}

/** What is remembered from one request to the next, as far as the options that it depends on are the same. */
function rememberedServices(
  config: ResolvedConfig,
  running: RunningServices | undefined,
): Pick<RuntimeServices, 'pacing' | 'usualTokens' | 'sharedLimits' | 'origins' | 'prefixes' | 'prompts' | 'sticky'> {
  const { environment, stickyTtlMs } = config;
  const before = running?.services;
  const isSame = (...names: readonly (keyof ResolvedConfig)[]): boolean =>
    running !== undefined && names.every((name) => sameOption(running.config[name], config[name]));
  const state = config.sharesState ? config.state : undefined;
  const pacing = isSame('pacer', 'hedge') && before ? before.pacing : new SharedPacing(config.pacer, config.hedge);
  pacing.divide(accountsOf(config.authenticate));
  return {
    pacing,
    usualTokens: before?.usualTokens ?? new UsualTokens(boundedMap(MAX_RECORDS)),
    sharedLimits: before?.sharedLimits ?? (state && new SharedLimits(state, environment)),
    origins: before?.origins ?? new KnownOrigins(state, boundedMap(MAX_RECORDS), REASONING_ORIGIN_MS, environment),
    prefixes: marksCaches(config)
      ? (before?.prefixes ?? new RepeatedPrefixes(boundedMap(MAX_RECORDS), PROMPT_CACHE_MS, environment))
      : undefined,
    prompts: before?.prompts ?? new KnownPrompts(environment),
    sticky:
      before?.sticky.under(stickyTtlMs) ?? new StickySessions(state, boundedMap(MAX_RECORDS), stickyTtlMs, environment),
  };
}

/** Whether there is anything to mark: most providers keep prompts in their caches by themselves. */
function marksCaches({ cacheMarks, providers }: ResolvedConfig): boolean {
  return cacheMarks && providers.some((provider) => provider.cacheMarks === true);
}
