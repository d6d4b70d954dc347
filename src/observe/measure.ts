import {
  type AttemptEvent,
  type ErrorEvent,
  listen,
  type RequestFacts,
  type ResultEvent,
  type RouterEventSource,
  type StageCosts,
} from '../runtime/chat/events.ts';
import type { Labels, MeasurementName } from './measurements.ts';

/** Takes one value of a measurement. */
export type Recorder = (name: MeasurementName, value: number, labels: Labels) => void;

/** Stands for models that the catalog does not list, so that callers cannot make up new values. */
const UNLISTED = 'other';

/** Turns the events of a router into values of measurements. Gives the function that ends it. */
export function measure(source: RouterEventSource, record: Recorder): () => void {
  /** Requests whose beginning was seen: only those may count down. */
  const active = new Set<string>();

  function ended({ id, operation, parent }: RequestFacts): void {
    if (active.delete(id)) record('active', -1, { operation, origin: originOf({ parent }) });
  }

  return listen(source, {
    request({ request }) {
      active.add(request.id);
      record('active', 1, { operation: request.operation, origin: originOf(request) });
    },
    attempt(event) {
      const who = whoOf(event);
      const { durationMs, failure, usage } = event;
      record('attempts', durationMs / 1_000, { ...who, error: failure?.kind });
      if (usage === undefined) return;
      record('tokens', usage.prompt_tokens, { ...who, token: 'input' });
      if (event.request.operation === 'chat') record('tokens', usage.completion_tokens, { ...who, token: 'output' });
      if (usage.cost !== undefined) record('cost', usage.cost, who);
    },
    result(event) {
      ended(event.request);
      const labels = { ...whoOf(event), origin: originOf(event.request) };
      record('requests', event.durationMs / 1_000, labels);
      if (event.request.stream) record('firstChunk', event.firstTokenMs / 1_000, labels);
    },
    error(event) {
      ended(event.request);
      const { request, durationMs, errorType, status } = event;
      const error = status === 499 ? 'client_closed' : errorType;
      record('requests', durationMs / 1_000, { ...whoOf(event), origin: originOf(request), error });
    },
    plugin(event) {
      const { plugin, hook, outcome, durationMs } = event;
      record('plugins', durationMs / 1_000, { plugin, hook, outcome });
      recordServices(event, { operation: event.request.operation, plugin });
    },
    tool(event) {
      const { tool, outcome, durationMs } = event;
      record('tools', durationMs / 1_000, { tool, outcome });
      recordServices(event, { operation: event.request.operation, tool });
    },
    health(event) {
      const { provider } = event;
      const model = modelOf(event);
      if (event.type === 'cooldown') record('cooldowns', 1, { provider, model, cause: event.cause });
      else record('breakers', 1, { provider, model, state: event.state });
    },
    warning({ code }) {
      record('warnings', 1, { code });
    },
  });

  /** What models cost that a plugin or tool asked is counted with their own calls. */
  function recordServices({ serviceCost }: StageCosts, labels: Labels): void {
    if (serviceCost !== undefined && serviceCost > 0) record('cost', serviceCost, labels);
  }
}

function whoOf(event: AttemptEvent | ResultEvent | ErrorEvent): Labels {
  const { provider, request } = event;
  return { operation: request.operation, provider, model: modelOf(event) };
}

function modelOf({ model, listed }: Pick<ErrorEvent, 'model' | 'listed'>): string | undefined {
  return model === undefined || listed === true ? model : UNLISTED;
}

/** Requests of plugins and tools are a part of one that is counted already. */
function originOf({ parent }: Pick<RequestFacts, 'parent'>): string {
  return parent === undefined ? 'caller' : 'plugin';
}
