import type { BudgetsOptions, RateLimitsOptions, ResponseCacheOptions } from './config-limits.ts';
import { budget, RATE_LIMITS } from './account-limit-options.ts';
import {
  amount,
  anything,
  callable,
  either,
  flag,
  group,
  having,
  kind,
  listOf,
  mapOf,
  milliseconds,
  oneOf,
  type OptionKind,
  type OptionShape,
  share,
  text,
  wholeNumber,
  withFunctions,
} from '../platform/option-kinds.ts';
import type { Preset } from '../core/normalize/preset.ts';
import { CHAT_FIELDS, chatFieldsProblem } from '../protocol/chat-fields.ts';
import type { ChatRequest } from '../protocol/chat-request.ts';
import { isJsonObject } from '../protocol/json.ts';
import { nearName } from '../protocol/near-name.ts';
import type { BatchesOptions, WebhooksOptions } from './config-batches.ts';
import type { Brand, Cors, KeepAlive, RouterConfig } from './router-config.ts';
import type { BackoffPolicy, RetryBudgetPolicy } from '../core/fallback/retry-budget.ts';
import type { BreakerPolicy } from '../core/fallback/breaker.ts';
import type { FallbackPolicy } from '../core/fallback/next-move.ts';
import { pluginDefaults, routingPolicy } from './account-options.ts';
import { modelInfo, modelTable } from './model-options.ts';
import type { SelectionPolicy } from '../core/selection/performance.ts';
import type { RequestLimits } from '../protocol/limits.ts';
import type { BatchLimits } from '../runtime/batches/limits.ts';
import type { RouterEvents } from '../runtime/chat/events.ts';
import type { Timeouts } from '../runtime/chat/call-watch.ts';

const some = kind('a number of at least 1', (value) => Number.isFinite(value) && Number(value) >= 1);

/** Limits of the rate for everybody, and who counts. */
const rateLimits: OptionKind = group<RateLimitsOptions>({
  ...RATE_LIMITS,
  limiter: withFunctions('a limiter with take and settle', 'take', 'settle'),
});

/** What budgets are told. */
const budgets: OptionKind = group<BudgetsOptions>({
  default: budget,
  unknownPrice: oneOf<NonNullable<BudgetsOptions['unknownPrice']>>({ refuse: true, allow: true }),
  unknownAnswerTokens: wholeNumber(0),
  holdMs: kind('a number of at least 1,000 milliseconds', (value) => Number.isFinite(value) && Number(value) >= 1_000),
  keeper: withFunctions('a keeper with reserve and settle', 'reserve', 'settle'),
});

/** What the response cache is told. */
const responseCache: OptionKind = group<ResponseCacheOptions>({
  enabled: flag,
  ttlSeconds: some,
  maxEntryBytes: some,
  maxBytes: some,
  store: withFunctions('a store of answers with get and set', 'get', 'set'),
});

/** What a preset says beside fields of requests. */
const OWN: OptionShape<Omit<Preset, keyof ChatRequest>> = { cache_enabled: flag, cache_ttl_seconds: wholeNumber(1) };

const ownMembers = having('an object with fields of a request', {}, OWN);
const KNOWN = [...CHAT_FIELDS, ...Object.keys(OWN)];

/** Names as short as this are too often a letter away from another one. */
const SHORT = 5;

/**
 * A stored set of request fields. Fields that nobody knows go to providers, as they do in requests; one that is a
 * single letter away from a field of ours was meant to be that.
 */
const preset: OptionKind = function* check(value, path) {
  yield* ownMembers(value, path);
  if (!isJsonObject(value)) return;
  const fields = Object.fromEntries(Object.entries(value).filter(([name]) => !Object.hasOwn(OWN, name)));
  for (const name of Object.keys(fields)) {
    const near = KNOWN.includes(name) || name.length <= SHORT ? undefined : nearName(name, KNOWN, 1);
    if (near !== undefined) {
      yield { path: `${path}.${name}`, problem: `is not a field of requests; did you mean "${near}"?` };
    }
  }
  const wrong = chatFieldsProblem(fields);
  if (wrong !== undefined) yield { path: `${path}.${wrong.path}`, problem: wrong.problem };
};

const count = wholeNumber(0);
const positive = wholeNumber(1);
const texts = listOf(text);

/** What the router needs of a provider; a provider may have more for itself. */
const provider = having(
  'a provider, such as openai() makes one',
  { slug: text, models: modelTable, chat: callable },
  { name: text, embed: callable, check: callable, close: callable, dataCollection: flag, zeroDataRetention: flag },
);

const plugin = having(
  'a plugin',
  { id: text, whenItThrows: text },
  {
    parseOptions: callable,
    models: texts,
    runsUnasked: callable,
    onRequest: callable,
    onCandidates: callable,
    onAttempt: callable,
    onChunks: callable,
    onResult: callable,
    close: callable,
  },
);

const serverTool = having(
  'a server tool',
  { type: text, describe: callable, execute: callable },
  {
    parseOptions: callable,
    native: callable,
    nameOf: callable,
    innerTools: callable,
    maxUses: callable,
    close: callable,
  },
);

const batchLimits = group<BatchLimits>({
  bytes: positive,
  requests: positive,
  uploads: positive,
  uploadsPerAccount: positive,
  uploadBytesPerSecond: count,
  uploadMs: positive,
  perBatch: positive,
  perProvider: positive,
  concurrency: positive,
  keepFree: count,
  itemTries: positive,
  windowMs: positive,
  retentionMs: positive,
  leaseMs: positive,
  sliceMs: positive,
  sweepMs: positive,
});

const fallback = group<FallbackPolicy>({
  maxAttempts: positive,
  triesPerEndpoint: positive,
  backoff: group<BackoffPolicy>({ baseMs: milliseconds, capMs: milliseconds }),
  maxWaitMs: milliseconds,
});

const limits = group<RequestLimits>({
  bodyBytes: count,
  bytesInHand: count,
  compressionRatio: positive,
  depth: count,
  nodes: count,
  names: count,
  messages: count,
  tools: count,
  toolSchemaLength: count,
  embeddingInputs: count,
  embeddingTokens: count,
  bodyTimeoutMs: milliseconds,
  writeStallMs: milliseconds,
  concurrentRequests: count,
});

const timeouts = group<Timeouts>({
  connectMs: milliseconds,
  firstTokenMs: milliseconds,
  answerMs: milliseconds,
  idleMs: milliseconds,
  totalMs: milliseconds,
  pluginMs: milliseconds,
  serverToolMs: milliseconds,
});

/** Every option of a router. Equal to {@link RouterConfig}: an option that is in one of them only does not compile. */
export const ROUTER_OPTIONS: OptionShape<RouterConfig> = {
  providers: listOf(provider),
  models: mapOf(modelInfo),
  catalog: anything,
  catalogMaxAgeDays: kind('a number of days', (value) => typeof value === 'number' && value >= 0),
  aliases: mapOf(either(text, texts)),
  presets: mapOf(preset),
  defaultModel: text,
  plugins: listOf(plugin),
  pluginDefaults,
  maxPluginDepth: count,
  serverTools: listOf(serverTool),
  policy: routingPolicy,
  authenticate: callable,
  allowAnonymous: flag,
  cors: group<Cors>({ origins: anything }),
  brand: oneOf<Brand>({ router: true, openrouter: true }),
  limits,
  timeouts,
  fallback,
  breaker: group<BreakerPolicy>({
    failureRatio: share,
    minimumCalls: count,
    openMs: milliseconds,
    maxOpenMs: milliseconds,
    probes: positive,
  }),
  retryBudget: group<RetryBudgetPolicy>({ ratio: amount, floor: amount }),
  selection: group<SelectionPolicy>({
    unknownCapability: oneOf<SelectionPolicy['unknownCapability']>({ allow: true, exclude: true }),
    toolSupport: oneOf<SelectionPolicy['toolSupport']>({ exclude: true, prefer: true }),
  }),
  maxCooldownMs: milliseconds,
  stickyTtlMs: milliseconds,
  keepAlive: group<KeepAlive>({ firstMs: milliseconds, everyMs: milliseconds }),
  state: withFunctions('a store, such as redisStore() makes one', 'get', 'set', 'delete', 'increment'),
  rateLimits,
  budgets,
  responseCache,
  batches: group<BatchesOptions>({
    storage: withFunctions('a storage, such as sqliteStorage() makes one', 'open', 'claimItems'),
    queue: kind('what a queue such as localQueue() gives', (value) => typeof value === 'function'),
    accountOf: callable,
    limits: batchLimits,
    failPoint: callable,
  }),
  webhooks: group<WebhooksOptions>({
    secrets: listOf(kind('a text', (value) => typeof value === 'string')),
    ports: listOf(positive),
    allowedHosts: texts,
    createTransport: callable,
  }),
  identitySecret: text,
  docsUrl: text,
  on: group<RouterEvents>({
    request: callable,
    attempt_start: callable,
    attempt: callable,
    plugin_start: callable,
    plugin: callable,
    tool_start: callable,
    tool: callable,
    health: callable,
    result: callable,
    error: callable,
    warning: callable,
    batch: callable,
  }),
  environment: withFunctions(
    'an environment, such as fakeEnvironment() makes one',
    'now',
    'wallClock',
    'random',
    'randomText',
    'setTimer',
    'clearTimer',
  ),
};
