import {
  type EndpointDeclaration,
  type Explanation,
  type ModelInfo,
  type PipelineStage,
  type Router,
  type RouterConfig,
  type SimulatedOutcome,
  type WarningEvent,
  createRouter,
  simulated,
} from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';

/** What a model of these tests costs, is good at and can do. */
export interface Offered extends Omit<EndpointDeclaration, 'price'> {
  /** USD per million tokens of input; output costs the same. Left out: nobody knows. */
  readonly usd?: number;
  readonly info?: ModelInfo;
}

/** A router over one simulated provider, and what it warned of. */
export interface RoutingBench {
  readonly router: Router;
  readonly warnings: WarningEvent[];
}

/** Makes a {@link RoutingBench}; `failures` are how the first calls come out. */
export function routingBench(
  models: Readonly<Record<string, Offered>>,
  config: Omit<RouterConfig, 'providers' | 'models'> & { readonly failures?: readonly SimulatedOutcome[] } = {},
): RoutingBench {
  const { failures = [], ...rest } = config;
  const environment = fakeEnvironment();
  const warnings: WarningEvent[] = [];
  const declared = Object.entries(models).map(([id, { usd, info: _, ...endpoint }]) => [
    id,
    usd === undefined ? endpoint : { ...endpoint, price: { prompt: usd, completion: usd } },
  ]);
  const provider = simulated({
    slug: 'lab',
    name: 'Lab',
    models: Object.fromEntries(declared) as Record<string, EndpointDeclaration>,
    failures,
    firstTokenMs: 0,
    tokensPerSecond: 0,
    environment,
  });
  const router: Router = createRouter({
    environment,
    // The clock stands still, so nothing is tried again after a wait.
    fallback: { triesPerEndpoint: 1 },
    on: { warning: (warning) => void warnings.push(warning) },
    ...rest,
    models: Object.fromEntries(Object.entries(models).flatMap(([id, { info }]) => (info ? [[id, info]] : []))),
    providers: [provider],
  });
  return { router, warnings };
}

/** Models of a plan in their order, without those that a stage names as fallbacks from outside under this name. */
export function ranked(
  steps: Explanation['steps'],
  plugins: Explanation['plugins'],
  name: 'outside_cost_band' | 'outside_tier',
): readonly string[] {
  const outside = new Set(plugins.flatMap(({ stages }) => stages.flatMap(({ data }) => data?.[name] ?? [])));
  return steps.flatMap(({ model }) => (outside.has(model) ? [] : [model.replace('acme/', '')]));
}

/** The stage that a model router left. */
export function routerStage(stages: readonly PipelineStage[] | undefined): PipelineStage {
  const stage = stages?.find(({ type }) => type === 'router');
  if (stage === undefined) throw new Error('no model router left a stage');
  return stage;
}
