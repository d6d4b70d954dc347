import { ByteBudget } from '../runtime/chat/byte-budget.ts';
import { BatchesOnUse } from './batches.ts';
import { buildServices } from './build-services.ts';
import { type DefaultLists, resolveConfig } from '../config/resolve-config.ts';
import { noteCopy } from '../config/loaded-copies.ts';
import type { AliasOf, ModelOf, RequestModel } from './model-names.ts';
import type { Provider } from '../contracts/provider.ts';
import type { RouterConfig } from '../config/router-config.ts';
import { ChatService } from './chat.ts';
import { EmbeddingService } from './embed.ts';
import { explainPrepared } from './explain.ts';
import type { Router } from './router.ts';
import { Concurrency } from '../runtime/chat/concurrency.ts';
import { listen, warn } from '../runtime/chat/events.ts';
import { staleSources } from '../runtime/chat/known-models.ts';

/**
 * Makes a router. The entry points call it, each with its own default lists.
 *
 * @throws {@link ConfigError} with everything that is wrong with the options at once.
 */
export function routerWith<
  const Providers extends readonly Provider[] = readonly Provider[],
  const Aliases extends Readonly<Record<string, string | readonly string[]>> = {},
>(lists: DefaultLists, config: ConfigWith<Providers, Aliases>): RouterFor<Providers, Aliases> {
  const resolved = resolveConfig(config, lists);
  const services = buildServices(resolved, (body, inner) => chat.callWithin(body, inner));
  const chat = new ChatService(services);
  const embeddings = new EmbeddingService(services);
  const { environment, events } = services;
  listen(events, resolved.on);
  if (resolved.simulatedByDefault) warn(events, SIMULATED);
  if (resolved.callersUnsaid) warn(events, NO_CALLERS);
  if (noteCopy() > 1) warn(events, LOADED_TWICE);
  const { catalog, catalogMaxAgeDays, providers } = resolved;
  const slugs = providers.map((provider) => provider.slug);
  for (const source of staleSources(catalog, slugs, environment.wallClock(), catalogMaxAgeDays)) {
    warn(events, {
      code: 'catalog_stale',
      message: `Prices and limits from ${source} may have changed; run "npx signalbox catalog refresh"`,
    });
  }

  const admission = new Concurrency(resolved.limits.concurrentRequests);
  const batches = new BatchesOnUse(async () => {
    const { createBatches } = await import('./create-batches.ts');
    return createBatches(resolved, services, admission, {
      prepareChat: (body, options) => chat.prepareItem(body, options),
      prepareEmbeddings: (body, options) => embeddings.prepareItem(body, options),
    });
  });

  return {
    chat: (body, options) => chat.chat(body, options),
    stream: (body, options) => chat.stream(body, options),
    batches,
    embed: ((body, options) => embeddings.embed(body, options)) as Router['embed'],
    explain: async (body, options = {}) => explainPrepared(services, await chat.prepare(body, options)),
    open: (body, options) => chat.open(body, options),
    on: (name, listener) => events.on(name, listener),
    ledger: services.ledger,
    async close() {
      await batches.close();
      await services.ledger?.close();
      await Promise.all(resolved.providers.map((provider) => provider.close?.()));
      await Promise.all([...resolved.plugins, ...resolved.serverTools].map((one) => one.close?.()));
      await resolved.state.close?.();
    },
    internals: { config: resolved, services, admission, bytesInHand: new ByteBudget(resolved.limits.bytesInHand) },
  };
}

/** A configuration whose providers and aliases tell which names requests may use. */
export type ConfigWith<
  Providers extends readonly Provider[],
  Aliases extends Readonly<Record<string, string | readonly string[]>>,
> = RouterConfig<Providers> & { readonly aliases?: Aliases | undefined };

/** A router for the names of a {@link ConfigWith}. */
export type RouterFor<
  Providers extends readonly Provider[],
  Aliases extends Readonly<Record<string, string | readonly string[]>>,
> = Router<RequestModel<ModelOf<Providers>, AliasOf<Aliases>>>;

const SIMULATED = {
  code: 'simulated',
  message:
    'No providers are configured, so answers are simulated. To get real ones, set OPENAI_API_KEY, ANTHROPIC_API_KEY, ' +
    'GROQ_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY in the environment, or pass providers to createRouter.',
} as const;

const NO_CALLERS = {
  code: 'no_callers',
  message:
    'NODE_ENV is production and nothing says who may call over HTTP, so every request over HTTP gets a 401. Pass ' +
    'authenticate, or allowAnonymous: true, to createRouter; allowAnonymous: false if nobody calls over HTTP.',
} as const;

const LOADED_TWICE = {
  code: 'loaded_twice',
  message:
    'This process has loaded Signalbox more than once. The copies share no sessions, cooldowns or limits; see ' +
    '"npm ls signalbox", and keep one.',
} as const;
