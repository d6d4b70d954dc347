import { buildCatalog } from '../catalog/catalog.ts';
import { buildRegistry, modelsOfPlugins } from '../core/pipeline/registry.ts';
import { AnswerLengths } from '../runtime/chat/answer-lengths.ts';
import { EndUsers } from '../runtime/chat/end-users.ts';
import { EndpointRecords } from '../runtime/chat/endpoint-records.ts';
import { accountCheck } from '../runtime/limits/account-check.ts';
import { Rates } from '../runtime/limits/rates.ts';
import { Spending } from '../runtime/limits/spending.ts';
import { Responses } from '../runtime/limits/responses.ts';
import { KnownOrigins } from '../runtime/chat/known-origins.ts';
import { RetryBudgetKeeper } from '../runtime/chat/concurrency.ts';
import { SharedPacing } from '../runtime/chat/shared-pacing.ts';
import { SharedCooldowns } from '../runtime/chat/shared-cooldowns.ts';
import { RepeatedPrefixes } from '../runtime/chat/repeated-prefixes.ts';
import { SharedLimits } from '../runtime/chat/shared-limits.ts';
import { StickySessions } from '../runtime/chat/sticky-sessions.ts';
import { boundedMap } from '../storage/memory.ts';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import type { RouterFacts } from '../core/normalize/normalize.ts';
import { EventHub, warn } from '../runtime/chat/events.ts';
import { announceHealth } from '../runtime/chat/announce.ts';
import { seldom } from '../platform/seldom.ts';
import type { RuntimeServices } from '../runtime/chat/services.ts';

/** Endpoints, accounts' users and so on that are remembered at a time. */
const MAX_RECORDS = 10_000;

/** Puts together what the runtime works with. Opens nothing, and sets no timers. */
export function buildServices(config: ResolvedConfig, callWithin: RuntimeServices['callWithin']): RuntimeServices {
  const { environment, docsUrl } = config;
  const facts: RouterFacts = {
    catalog: buildCatalog(config.providers, config.models, config.aliases, config.catalog),
    policy: config.policy,
    defaultModel: config.defaultModel,
    presets: config.presets,
    routerModels: modelsOfPlugins(config.plugins),
    docsUrl,
  };
  const events = new EventHub();
  const records = new EndpointRecords(boundedMap(MAX_RECORDS), config, environment, (endpoint, before, after) =>
    announceHealth({ events, facts, environment }, endpoint, before, after),
  );
  return {
    environment,
    facts,
    limits: config.limits,
    timeouts: config.timeouts,
    fallback: config.fallback,
    selection: config.selection,
    strategy: config.strategy,
    adaptive: config.adaptive,
    pacer: config.pacer,
    hedge: config.hedge,
    pacing: new SharedPacing(config.pacer, config.hedge),
    answerLengths: new AnswerLengths(boundedMap(MAX_RECORDS)),
    providers: new Map(config.providers.map((provider) => [provider.slug, provider])),
    records,
    cooldowns: config.sharesState ? new SharedCooldowns(config.state, environment, records) : undefined,
    sharedLimits: config.sharesState ? new SharedLimits(config.state, environment) : undefined,
    origins: new KnownOrigins(
      config.sharesState ? config.state : undefined,
      boundedMap(MAX_RECORDS),
      config.reasoningOriginMs,
      environment,
    ),
    prefixes: new RepeatedPrefixes(
      boundedMap(MAX_RECORDS),
      config.cacheMarks ? config.adaptive.cacheMs : 0,
      environment,
    ),
    sticky: new StickySessions(config.state, boundedMap(MAX_RECORDS), config.stickyTtlMs, environment),
    budget: new RetryBudgetKeeper(config.retryBudget, environment),
    checkAccount: accountCheck(environment, events),
    tellNotice: seldom(environment, (message) => warn(events, { code: 'plugin_notice', message })),
    rates: new Rates(config.usage.limiter, config.usage.rateLimits, environment, events),
    spending: new Spending(config.usage.keeper, config.usage.spending, events),
    responses: new Responses(config.usage.responses, environment, events),
    endUsers: new EndUsers(config.identitySecret.reveal(), boundedMap(MAX_RECORDS)),
    events,
    docsUrl,
    registry: buildRegistry(config.plugins, config.pluginDefaults, config.serverTools),
    maxPluginDepth: config.maxPluginDepth,
    callWithin,
  };
}
