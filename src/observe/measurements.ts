/** Defines what is measured of a router, for Prometheus and OpenTelemetry alike. */
import {
  type ErrorEvent,
  listen,
  type RequestFacts,
  type RouterEventSource,
  type RouterListeners,
  type StageCosts,
} from '../contracts/events.ts';

/** What measurements are distinguished by. All have few values: models come from the catalog, never from callers. */
export type LabelName =
  | 'operation'
  | 'provider'
  | 'model'
  | 'origin'
  | 'error'
  | 'token'
  | 'plugin'
  | 'hook'
  | 'tool'
  | 'outcome'
  | 'cause'
  | 'provider_cause'
  | 'state'
  | 'code';

/** A value for each label of a measurement; those that are unknown are absent. */
export type Labels = { readonly [Name in LabelName]?: string | undefined };

/** Something that is measured. */
export interface Measurement {
  /** Name for OpenTelemetry; those that begin with `gen_ai.` belong to its semantic conventions. */
  readonly name: string;
  /** Name for Prometheus. */
  readonly prometheus: string;
  /** A `gauge` goes up and down; it is recorded by how much. */
  readonly kind: 'counter' | 'gauge' | 'histogram';
  /** As UCUM writes it: `s`, `{token}`, `{USD}`. */
  readonly unit: string;
  readonly description: string;
  readonly labels: readonly LabelName[];
  /** Upper bounds of a histogram. */
  readonly buckets?: readonly number[] | undefined;
}

/** Bounds that the semantic conventions advise. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304];

const WHO = ['operation', 'provider', 'model'] as const;

/** Everything that is measured. */
export const MEASUREMENTS = {
  requests: {
    name: 'gen_ai.client.operation.duration',
    prometheus: 'signalbox_request_duration_seconds',
    kind: 'histogram',
    unit: 's',
    description: 'Time from a request to the end of its answer, fallbacks, plugins and tools included.',
    labels: [...WHO, 'origin', 'error'],
    buckets: SECONDS,
  },
  active: {
    name: 'signalbox.requests.active',
    prometheus: 'signalbox_requests_active',
    kind: 'gauge',
    unit: '{request}',
    description: 'Requests that are being answered.',
    labels: ['operation', 'origin'],
  },
  firstChunk: {
    name: 'gen_ai.client.operation.time_to_first_chunk',
    prometheus: 'signalbox_time_to_first_chunk_seconds',
    kind: 'histogram',
    unit: 's',
    description: 'Time from a streamed request to the first content of its answer.',
    labels: [...WHO, 'origin'],
    buckets: SECONDS,
  },
  attempts: {
    name: 'signalbox.attempt.duration',
    prometheus: 'signalbox_attempt_duration_seconds',
    kind: 'histogram',
    unit: 's',
    description: 'Time of one upstream call.',
    labels: [...WHO, 'error'],
    buckets: SECONDS,
  },
  tokens: {
    name: 'gen_ai.client.token.usage',
    prometheus: 'signalbox_tokens',
    kind: 'histogram',
    unit: '{token}',
    description: 'Tokens of one upstream call.',
    labels: [...WHO, 'token'],
    buckets: TOKENS,
  },
  cost: {
    name: 'signalbox.cost',
    prometheus: 'signalbox_cost_usd_total',
    kind: 'counter',
    unit: '{USD}',
    description: 'What upstream calls and the services of plugins and tools cost.',
    labels: [...WHO, 'plugin', 'tool'],
  },
  plugins: {
    name: 'signalbox.plugin.duration',
    prometheus: 'signalbox_plugin_duration_seconds',
    kind: 'histogram',
    unit: 's',
    description: 'Time of one hook of a plugin.',
    labels: ['plugin', 'hook', 'outcome'],
    buckets: SECONDS,
  },
  tools: {
    name: 'signalbox.tool.duration',
    prometheus: 'signalbox_tool_duration_seconds',
    kind: 'histogram',
    unit: 's',
    description: 'Time of one call of a server tool.',
    labels: ['tool', 'outcome'],
    buckets: SECONDS,
  },
  coldCaches: {
    name: 'signalbox.cache.cold',
    prometheus: 'signalbox_cold_caches_total',
    kind: 'counter',
    unit: '{request}',
    description: 'Requests whose prompt was not in the cache of its provider, by the cause.',
    labels: ['provider', 'model', 'cause'],
  },
  coldCost: {
    name: 'signalbox.cache.cold.cost',
    prometheus: 'signalbox_cold_caches_cost_usd_total',
    kind: 'counter',
    unit: '{USD}',
    description: 'What cached prices would have saved for these requests.',
    labels: ['provider', 'model', 'cause'],
  },
  comparedCauses: {
    name: 'signalbox.cache.cold.compared',
    prometheus: 'signalbox_cold_caches_compared_total',
    kind: 'counter',
    unit: '{request}',
    description: 'Requests of which the provider itself said why their prompt was not cached, by both causes.',
    labels: ['provider', 'model', 'cause', 'provider_cause'],
  },
  cooldowns: {
    name: 'signalbox.endpoint.cooldowns',
    prometheus: 'signalbox_endpoint_cooldowns_total',
    kind: 'counter',
    unit: '{cooldown}',
    description: 'Times an endpoint cooled down because it, or the limits of our key, required it.',
    labels: ['provider', 'model', 'cause'],
  },
  breakers: {
    name: 'signalbox.endpoint.breaker.changes',
    prometheus: 'signalbox_endpoint_breaker_changes_total',
    kind: 'counter',
    unit: '{change}',
    description: 'Times the breaker of an endpoint opened, let a probe through, or closed.',
    labels: ['provider', 'model', 'state'],
  },
  warnings: {
    name: 'signalbox.warnings',
    prometheus: 'signalbox_warnings_total',
    kind: 'counter',
    unit: '{warning}',
    description: 'Warnings for the operator.',
    labels: ['code'],
  },
} as const satisfies Readonly<Record<string, Measurement>>;

/** Name of a measurement. */
export type MeasurementName = keyof typeof MEASUREMENTS;

/** Takes the values of one series: of one measurement, under one value of each of its labels. */
export type Series = (value: number) => void;

/** Finds a series. What every request records keeps those that it found: most requests bring the same labels again. */
export type SeriesOf = (name: MeasurementName, labels: Labels) => Series;

/** Stands for models that the catalog does not list, so that callers cannot make up new values. */
const UNLISTED = 'other';

/** Turns the events of a router into values of measurements. Gives the function that ends it. */
export function recordMeasurements(source: RouterEventSource, seriesOf: SeriesOf): () => void {
  const active = byLabel((operation) => byLabel((origin) => seriesOf('active', { operation, origin })));
  const models = byLabel((operation) =>
    byLabel((provider) => byLabel((model) => seriesOfModel(seriesOf, { operation, provider, model }))),
  );
  /** Requests whose beginning was seen: only those may count down. */
  const begun = new Set<string>();

  function ended(request: RequestFacts): void {
    if (begun.delete(request.id)) active(request.operation)(originOf(request))(-1);
  }

  return listen(source, {
    request({ request }) {
      begun.add(request.id);
      active(request.operation)(originOf(request))(1);
    },
    attempt(event) {
      const { request, provider, durationMs, failure, usage } = event;
      const model = models(request.operation)(provider)(modelOf(event));
      model.attempts(failure?.kind)(durationMs / 1_000);
      if (usage === undefined) return;
      model.input(usage.prompt_tokens);
      if (request.operation === 'chat') model.output(usage.completion_tokens);
      if (usage.cost !== undefined) model.cost(usage.cost);
    },
    result(event) {
      const { request, provider, durationMs, firstTokenMs } = event;
      ended(request);
      const answered = models(request.operation)(provider)(modelOf(event)).answered(originOf(request));
      answered.requests(undefined)(durationMs / 1_000);
      if (request.stream) answered.firstChunk(firstTokenMs / 1_000);
      const { cause, provider_cause: found, lost_usd: lostUsd = 0 } = event.cache ?? {};
      const model = modelOf(event);
      if (found !== undefined)
        seriesOf('comparedCauses', { provider, model, cause: cause ?? 'none', provider_cause: found })(1);
      if (cause === undefined) return;
      const labels = { provider, model, cause };
      seriesOf('coldCaches', labels)(1);
      if (lostUsd > 0) seriesOf('coldCost', labels)(lostUsd);
    },
    error(event) {
      const { request, provider, durationMs, errorType, status } = event;
      ended(request);
      const error = status === 499 ? 'client_closed' : errorType;
      const answered = models(request.operation)(provider)(modelOf(event)).answered(originOf(request));
      answered.requests(error)(durationMs / 1_000);
    },
    ...measuredStages(seriesOf),
    health(event) {
      const { provider } = event;
      const model = modelOf(event);
      if (event.type === 'cooldown') seriesOf('cooldowns', { provider, model, cause: event.cause })(1);
      else seriesOf('breakers', { provider, model, state: event.state })(1);
    },
    warning({ code }) {
      seriesOf('warnings', { code })(1);
    },
  });
}

/** Plugins and server tools. */
function measuredStages(seriesOf: SeriesOf): Required<Pick<RouterListeners, 'plugin' | 'tool'>> {
  /** What models cost that a plugin or tool called is counted with their own calls. */
  const recordServices = ({ serviceCost }: StageCosts, labels: Labels): void => {
    if (serviceCost !== undefined && serviceCost > 0) seriesOf('cost', labels)(serviceCost);
  };
  return {
    plugin(event) {
      const { plugin, hook, outcome, durationMs } = event;
      seriesOf('plugins', { plugin, hook, outcome })(durationMs / 1_000);
      recordServices(event, { operation: event.request.operation, plugin });
    },
    tool(event) {
      const { tool, outcome, durationMs } = event;
      seriesOf('tools', { tool, outcome })(durationMs / 1_000);
      recordServices(event, { operation: event.request.operation, tool });
    },
  };
}

/** The series of one kind of request to one model of one provider. */
function seriesOfModel(seriesOf: SeriesOf, who: Labels) {
  return {
    attempts: byLabel((error) => seriesOf('attempts', { ...who, error })),
    input: seriesOf('tokens', { ...who, token: 'input' }),
    output: seriesOf('tokens', { ...who, token: 'output' }),
    cost: seriesOf('cost', who),
    answered: byLabel((origin) => ({
      requests: byLabel((error) => seriesOf('requests', { ...who, origin, error })),
      firstChunk: seriesOf('firstChunk', { ...who, origin }),
    })),
  };
}

/** Keeps what was made for each value of a label. Labels have few values, so all of it may be kept. */
function byLabel<Made>(make: (value: string | undefined) => Made): (value: string | undefined) => Made {
  const known = new Map<string | undefined, Made>();
  return (value) => {
    let made = known.get(value);
    if (made === undefined) {
      made = make(value);
      known.set(value, made);
    }
    return made;
  };
}

function modelOf({ model, listed }: Pick<ErrorEvent, 'model' | 'listed'>): string | undefined {
  return model === undefined || listed === true ? model : UNLISTED;
}

/** Requests of plugins and tools are a part of one that is counted already, and nobody waits for a copy. */
function originOf({ parent, mirror }: Pick<RequestFacts, 'parent' | 'mirror'>): string {
  if (mirror !== undefined) return 'mirror';
  return parent === undefined ? 'caller' : 'plugin';
}
