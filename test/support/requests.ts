import { type Catalog, buildCatalog } from '../../src/catalog/catalog.ts';
import type { EndpointDeclaration, EndpointOwner } from '../../src/catalog/endpoint.ts';
import type { ModelInfo } from '../../src/catalog/model.ts';
import type { Account, RoutingPolicy } from '../../src/contracts/account.ts';
import { normalizeChatRequest } from '../../src/core/normalize/normalize.ts';
import type { NormalizedRequest } from '../../src/contracts/request.ts';
import type { Preset } from '../../src/core/normalize/preset.ts';
import { planRoute } from '../../src/core/selection/plan-route.ts';
import type { RoutePlan } from '../../src/core/selection/route-plan.ts';
import { DEFAULT_SELECTION_POLICY, type EndpointRecord, type World } from '../../src/core/selection/world.ts';
import type { ChatRequest } from '../../src/protocol/chat-request.ts';
import type { Checked, RequestFault } from '../../src/protocol/fault.ts';
import type { RouterFacts } from '../../src/core/normalize/context.ts';

/** The model of tests that are about providers. */
export const MODEL = 'acme/one';

/** Monotonic time of plans that do not say otherwise. */
export const NOW = 1_000_000_000;

/** One endpoint, or several, of a model. */
export type Offer = EndpointDeclaration | readonly EndpointDeclaration[];

/** What the router of a test is made of. */
export interface SceneOptions {
  /** Models by provider slug. */
  readonly providers: Readonly<Record<string, Readonly<Record<string, Offer>>>>;
  /** What providers are besides their slug. */
  readonly owners?: Readonly<Record<string, Partial<EndpointOwner> & { readonly acceptsAnyModel?: boolean }>>;
  readonly models?: Readonly<Record<string, ModelInfo>>;
  readonly aliases?: Readonly<Record<string, string | readonly string[]>>;
  readonly presets?: Readonly<Record<string, Preset>>;
  readonly policy?: RoutingPolicy;
  readonly defaultModel?: string;
  readonly routerModels?: readonly string[];
}

/** Who asks, and how. */
export interface Asking {
  readonly account?: Account;
  readonly sessionHeader?: string;
}

/** What selection may know, by the slug of the endpoint. */
export interface Circumstances extends Partial<Omit<World, 'record'>> {
  readonly records?: Readonly<Record<string, EndpointRecord>>;
}

/** A catalog and everything that is done with it before anybody is called. */
export interface Scene {
  readonly catalog: Catalog;
  /** Normalises a request; a refused one fails the test. */
  request(body?: Partial<ChatRequest>, asking?: Asking): NormalizedRequest;
  /** The fault of a request that must be refused. */
  fault(body: Partial<ChatRequest>, asking?: Asking): RequestFault;
  plan(body?: Partial<ChatRequest>, circumstances?: Circumstances, asking?: Asking): RoutePlan;
  /** Slugs of the endpoints in the order in which they would be tried. */
  order(body?: Partial<ChatRequest>, circumstances?: Circumstances, asking?: Asking): readonly string[];
}

/** Sets a scene. */
export function sceneOf(options: SceneOptions): Scene {
  const providers = Object.entries(options.providers).map(([slug, models]) => ({
    slug,
    name: slug,
    ...options.owners?.[slug],
    models,
  }));
  const catalog = buildCatalog(providers, options.models, options.aliases);
  const facts: RouterFacts = {
    catalog,
    policy: options.policy ?? {},
    defaultModel: options.defaultModel,
    presets: options.presets ?? {},
    routerModels: new Set(options.routerModels),
    docsUrl: 'docs',
  };

  function normalize(body: Partial<ChatRequest>, asking: Asking): Checked<NormalizedRequest> {
    const named = 'model' in body || 'models' in body || 'preset' in body;
    const whole = { messages: [{ role: 'user', content: 'Hello' }], ...(named ? {} : { model: MODEL }), ...body };
    return normalizeChatRequest(
      whole as ChatRequest,
      {
        id: 'gen-test',
        created: 1_700_000_000,
        account: asking.account ?? { id: 'tester' },
        endUser: 'user_test',
        sessionHeader: asking.sessionHeader,
        wantsMetadata: false,
      },
      facts,
    );
  }

  const scene: Scene = {
    catalog,
    request(body = {}, asking = {}) {
      const checked = normalize(body, asking);
      if (!checked.ok) throw new Error(`refused: ${checked.fault.message}`);
      return checked.value;
    },
    fault(body, asking = {}) {
      const checked = normalize(body, asking);
      if (checked.ok) throw new Error('was not refused');
      return checked.fault;
    },
    plan: (body, circumstances, asking) => planRoute(scene.request(body, asking), worldOf(circumstances)),
    order: (body, circumstances, asking) =>
      scene.plan(body, circumstances, asking).steps.map(({ endpoint }) => endpoint.tag),
  };
  return scene;
}

/** A scene in which every provider serves {@link MODEL} as declared. */
export function serving(
  declarations: Readonly<Record<string, Offer>>,
  options: Omit<SceneOptions, 'providers'> = {},
): Scene {
  const providers = Object.fromEntries(
    Object.entries(declarations).map(([slug, declaration]) => [slug, { [MODEL]: declaration }]),
  );
  return sceneOf({ ...options, providers });
}

/** A world in which nothing is known but what is given. */
export function worldOf({ records = {}, ...rest }: Circumstances = {}): World {
  return {
    record: (endpoint) => records[endpoint.id] ?? records[endpoint.tag],
    now: NOW,
    roll: 0,
    policy: DEFAULT_SELECTION_POLICY,
    ...rest,
  };
}

/** Why each endpoint was left out, by slug. */
export function reasonsOf(plan: RoutePlan): Readonly<Record<string, string>> {
  return Object.fromEntries(plan.rejected.map(({ endpoint, reason }) => [endpoint.tag, reason]));
}

/** A price that is the same for input and output, so that it blends to the amount in USD per million tokens. */
export function costing(usd: number): EndpointDeclaration {
  return { price: { prompt: usd / 2, completion: usd / 2 } };
}
