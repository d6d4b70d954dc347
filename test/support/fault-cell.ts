import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  type EndpointDeclaration,
  type Provider,
  type Router,
  type RouterConfig,
  type Transport,
  anthropic,
  createRouter,
  fromAiSdk,
  google,
  openaiCompatible,
} from 'signalbox';
import type { EndpointRecord } from '../../src/core/selection/world.ts';
import {
  type FaultUpstream,
  type FaultUpstreamOptions,
  type FaultWireName,
  startFaultUpstream,
} from 'signalbox/testing';
import { MOUNTS, type Mounted } from './mounts.ts';
import { turnClock } from './turn-clock.ts';

/** Key of the faulty provider. No client may ever see it. */
export const FAULTY_KEY = 'sk-faulty-4f9c2b71d8e6';

/** Mounts on which every fault is tried. */
export const MAIN_MOUNTS = ['node', 'express', 'fastify', 'fetch on Hono', 'next handlers'];

/** What the provider behind the faulty one says. */
export const HEALTHY_TEXT = 'An answer from the second provider';

/** Waits of faults are a hundredth of what they would be. */
const TIME_SCALE = 0.01;

/** One clock for all cells: it counts turns of the event loop, which they share. */
const CLOCK = turnClock();

/** Long enough for everything that is not a fault of time. */
const PATIENT = { connectMs: 20_000, firstTokenMs: 20_000, answerMs: 20_000, idleMs: 20_000, totalMs: 60_000 };
/** What a healthy answer needs, and no more. */
const IMPATIENT = { connectMs: 300, firstTokenMs: 300, answerMs: 300, idleMs: 300, totalMs: 60_000 };
/** Where the fault comes after the first tokens, these may be late on a busy machine. */
const IMPATIENT_LATER = { ...PATIENT, idleMs: 300 };

/** A mounted router with a faulty provider, and a healthy one behind it for half of its models. */
export interface FaultCell extends AsyncDisposable {
  readonly router: Router;
  readonly mounted: Mounted;
  readonly faulty: FaultUpstream;
  readonly healthy: FaultUpstream;
}

/** What a {@link FaultCell} is made of. */
export interface FaultCellOptions {
  readonly mount?: string;
  readonly upstream?: FaultUpstreamOptions;
  /** Address of the faulty provider, when it is not the upstream's own. */
  readonly baseURL?: string;
  readonly impatient?: boolean;
  /** Makes the faulty provider. Default: the one of the wire that its upstream speaks. */
  readonly provider?: FaultyProviderFactory | undefined;
  /** Default: undici, as on Node. */
  readonly transport?: Transport | undefined;
  readonly config?: Partial<RouterConfig>;
}

/** Model that only the faulty provider serves. */
export const ALONE = 'acme/alone';
/** Model that both providers serve, the faulty one first. */
export const BACKED = 'acme/backed';

/** What every provider can be told. */
export interface FaultyProvider {
  readonly slug: string;
  readonly name: string;
  readonly apiKey: string;
  readonly baseURL: string;
  readonly transport: Transport | undefined;
  readonly models: { readonly [ALONE]: EndpointDeclaration; readonly [BACKED]: EndpointDeclaration };
}

/** Makes the faulty provider. */
export type FaultyProviderFactory = (options: FaultyProvider) => Provider;

/** A model of the AI SDK as the faulty provider. */
export const AI_SDK_FAULTY: FaultyProviderFactory = ({ slug, name, apiKey, baseURL }) => {
  const server = createOpenAICompatible({ name: slug, baseURL, apiKey, includeUsage: true });
  return fromAiSdk({ slug, name, models: { [ALONE]: server('alone'), [BACKED]: server('backed') } });
};

/** Providers by the wire that their upstream speaks. */
const PROVIDERS: Readonly<Record<FaultWireName, FaultyProviderFactory>> = {
  chat: openaiCompatible,
  anthropic,
  google,
};

/** Starts both providers, a router and a mount. */
export async function startFaultCell(options: FaultCellOptions = {}): Promise<FaultCell> {
  const faulty = await startFaultUpstream({ timeScale: TIME_SCALE, ...options.upstream });
  const healthy = await startFaultUpstream({ text: HEALTHY_TEXT });
  const router = createRouter({
    providers: [
      (options.provider ?? PROVIDERS[options.upstream?.wire ?? 'chat'])({
        slug: 'faulty',
        name: 'Faulty',
        apiKey: FAULTY_KEY,
        baseURL: options.baseURL ?? faulty.baseURL,
        transport: options.transport,
        models: { [ALONE]: {}, [BACKED]: {} },
      }),
      openaiCompatible({ slug: 'healthy', name: 'Healthy', baseURL: healthy.baseURL, models: { [BACKED]: {} } }),
    ],
    allowAnonymous: true,
    timeouts: timeoutsFor(options),
    // One try for each endpoint: a repetition would only slow a cell down.
    fallback: { triesPerEndpoint: 1 },
    on: { warning: () => {} },
    environment: CLOCK,
    // A comment before the first token would commit the status.
    keepAlive: { firstMs: 60_000 },
    ...options.config,
  });
  const mount = MOUNTS[options.mount ?? 'node'];
  if (mount === undefined) throw new RangeError(`There is no mount "${options.mount}"`);
  const mounted = await mount(router);
  return {
    router,
    mounted,
    faulty,
    healthy,
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      await Promise.all([faulty.close(), healthy.close()]);
    },
  };
}

function timeoutsFor({ impatient = false, upstream: { afterChunks = 0 } = {} }: FaultCellOptions): typeof PATIENT {
  if (!impatient) return PATIENT;
  return afterChunks > 0 ? IMPATIENT_LATER : IMPATIENT;
}

/** What the router remembers of the faulty provider's endpoint of a model; undefined when it noted nothing. */
export function recordOf({ router }: Pick<FaultCell, 'router'>, model = ALONE): EndpointRecord | undefined {
  const { facts, records } = router.internals.services;
  const endpoint = facts.catalog.endpoints(model).find(({ provider }) => provider === 'faulty');
  if (endpoint === undefined) throw new RangeError(`The faulty provider has no model "${model}"`);
  return records.record(endpoint);
}

/** Asks a mounted router. Members of the body may be added or replaced. */
export function ask(
  { baseURL }: Pick<Mounted, 'baseURL'>,
  body: Readonly<Record<string, unknown>> = {},
  init: RequestInit = {},
): Promise<Response> {
  return fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-router-metadata': 'enabled' },
    body: JSON.stringify({
      model: ALONE,
      messages: [{ role: 'user', content: 'Hi' }],
      provider: { order: ['faulty', 'healthy'] },
      ...body,
    }),
    ...init,
  });
}
