import { createBatches } from './create-batches.ts';
import { buildServices } from './build-services.ts';
import { resolveConfig } from '../config/config.ts';
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
 * Makes a router from its providers and options. Without any, the keys in the environment decide which providers there
 * are; with no keys either, answers are simulated.
 *
 * @example
 * ```ts
 * const router = createRouter({ providers: [openai(), groq()] });
 * const answer = await router.chat({ model: 'openai/gpt-5-mini', messages: [{ role: 'user', content: 'Hello' }] });
 * ```
 * @throws {@link ConfigError} with everything that is wrong with the options at once.
 */
export function createRouter<
  const Providers extends readonly Provider[] = readonly Provider[],
  const Aliases extends Readonly<Record<string, string | readonly string[]>> = {},
>(
  config: RouterConfig<Providers> & { readonly aliases?: Aliases | undefined } = {},
): Router<RequestModel<ModelOf<Providers>, AliasOf<Aliases>>> {
  const resolved = resolveConfig(config);
  const services = buildServices(resolved, (body, inner) => chat.callWithin(body, inner));
  const chat = new ChatService(services);
  const embeddings = new EmbeddingService(services);
  const { environment, events } = services;
  listen(events, resolved.on);
  if (resolved.simulatedByDefault) warn(events, SIMULATED);
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
  const batches = createBatches(resolved, services, admission, {
    prepareChat: (body, options) => chat.prepareItem(body, options),
    prepareEmbeddings: (body, options) => embeddings.prepareItem(body, options),
  });

  return {
    chat: (body, options) => chat.chat(body, options),
    stream: (body, options) => chat.stream(body, options),
    batches,
    embed: ((body, options) => embeddings.embed(body, options)) as Router['embed'],
    explain: async (body, options = {}) => explainPrepared(services, await chat.prepare(body, options)),
    open: (body, options) => chat.open(body, options),
    on: (name, listener) => events.on(name, listener),
    async close() {
      await batches.close();
      await Promise.all(resolved.providers.map((provider) => provider.close?.()));
      await Promise.all([...resolved.plugins, ...resolved.serverTools].map((one) => one.close?.()));
      await resolved.state.close?.();
    },
    internals: { config: resolved, services, admission },
  };
}

const SIMULATED = {
  code: 'simulated',
  message:
    'No providers are configured, so answers are simulated. To get real ones, set OPENAI_API_KEY, ANTHROPIC_API_KEY, ' +
    'GROQ_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY in the environment, or pass providers to createRouter.',
} as const;

const LOADED_TWICE = {
  code: 'loaded_twice',
  message:
    'This process has loaded Signalbox more than once. The copies share no sessions, cooldowns or limits; see ' +
    '"npm ls signalbox", and keep one.',
} as const;
