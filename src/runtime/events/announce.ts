/** Emits the events of requests and attempts. */
import { type TraceContext, traceContextOf } from '../../contracts/trace-context.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { EndpointHealth } from '../../core/fallback/health.ts';
import type { Choice } from '../../protocol/chat-result.ts';
import type { NormalizedRequest, RoutedRequest } from '../../contracts/request.ts';
import type { AttemptedCall } from '../chat/attempt-call.ts';
import type { RuntimeServices } from '../chat/services.ts';
import type { BegunAttempt } from './request-follower.ts';
import type { RequestFacts, RequestEvent, NumericParameter } from '../../contracts/events.ts';

/** Emits the `request` event. To be called once for each request that will end in a result or an error. */
export function announceRequest({ events }: RuntimeServices, { request }: { readonly request: RoutedRequest }): void {
  for (const follower of events.followers) follower.begins(request);
  if (events.heard('request')) {
    const { traceContext } = request;
    events.emit('request', { request: requestFacts(request), parameters: numbersOf(request), traceContext });
  }
  if (request.operation === 'chat' && events.heard('content')) {
    const { messages, tools, serverTools } = request as NormalizedRequest;
    events.emit('content', {
      type: 'request',
      request: requestFacts(request),
      messages,
      tools: [...tools, ...serverTools],
    });
  }
}

/** Emits the `content` event of an answer, before the event of its end. */
export function announceAnswer(
  { events }: Pick<RuntimeServices, 'events'>,
  request: NormalizedRequest,
  choices: () => readonly Choice[],
): void {
  if (events.heard('content'))
    events.emit('content', { type: 'answer', request: requestFacts(request), choices: choices() });
}

/** Emits the `attempt_start` event, and gives the headers that a listener wants to go with the call. */
export function announceAttempt(
  services: RuntimeServices,
  request: RoutedRequest,
  begun: BegunAttempt,
): TraceContext | undefined {
  const { events } = services;
  const { step, attempt, hedge } = begun;
  for (const follower of events.followers) follower.attemptStarts(request, begun);
  if (!events.heard('attempt_start')) return undefined;
  const { endpoint, figures } = step;
  let carried: TraceContext | undefined;
  events.emit('attempt_start', {
    request: requestFacts(request),
    attempt,
    hedge: hedge || undefined,
    decision: figures,
    provider: endpoint.provider,
    model: endpoint.model,
    listed: isListed(services, endpoint.model),
    endpoint: endpoint.id,
    // A listener observes; what it gives must not be able to break a request.
    carry: ({ traceparent, tracestate }) => void (carried = traceContextOf(traceparent, tracestate)),
  });
  return carried;
}

/** Emits the `first_token` event for a stream. */
export function announceFirstToken(
  services: RuntimeServices,
  { request }: { readonly request: RoutedRequest },
  made: AttemptedCall,
): void {
  const { events } = services;
  for (const follower of events.followers) follower.firstToken(request, made);
  if (!events.heard('first_token')) return;
  const { endpoint, attempt, hedge, startedAt, firstTokenAt } = made;
  events.emit('first_token', {
    request: requestFacts(request),
    attempt,
    hedge: hedge || undefined,
    provider: endpoint.provider,
    model: endpoint.model,
    listed: isListed(services, endpoint.model),
    endpoint: endpoint.id,
    firstTokenMs: firstTokenAt - startedAt,
  });
}

/** Emits `health` events for what has changed about an endpoint. */
export function announceHealth(
  services: Pick<RuntimeServices, 'events' | 'facts' | 'environment'>,
  endpoint: Endpoint,
  before: EndpointHealth,
  after: EndpointHealth,
): void {
  const { events, environment } = services;
  if (!events.heard('health')) return;
  const { provider, model, id } = endpoint;
  const who = { provider, model, listed: isListed(services, model), endpoint: id };
  const now = environment.now();
  const { cooldown, breaker } = after;
  if (cooldown !== undefined && cooldown !== before.cooldown) {
    events.emit('health', { ...who, type: 'cooldown', forMs: cooldown.until - now, cause: cooldown.cause });
  }
  if (breaker.state === 'open' && breaker.openings > before.breaker.openings) {
    events.emit('health', { ...who, type: 'breaker', state: 'open', forMs: breaker.openUntil - now });
  } else if (breaker.state === 'closed' && before.breaker.state === 'open') {
    events.emit('health', { ...who, type: 'breaker', state: 'closed' });
  } else if (breaker.state === 'open' && breaker.probes > 0 && before.breaker.probes === 0) {
    events.emit('health', { ...who, type: 'breaker', state: 'half_open' });
  }
}

/** The facts about a request that events carry. One plain literal: four events of each request have them. */
export function requestFacts(request: RoutedRequest): RequestFacts {
  return {
    id: request.id,
    operation: request.operation,
    parent: request.within?.parent,
    parentStage: request.within?.stage,
    mirror: request.within?.mirror,
    account: request.account.id,
    requested: request.requested,
    stream: request.stream,
    session: request.session.id,
    metadata: request.metadata,
    trace: request.trace,
    applied: request.applied,
  };
}

/** Whether a model's name comes from the catalog, and not from a caller of a provider that takes any name. */
export function isListed({ facts }: Pick<RuntimeServices, 'facts'>, model: string): boolean {
  return facts.catalog.models.has(model);
}

const NUMBERS: ReadonlySet<string> = new Set<NumericParameter>([
  'temperature',
  'top_p',
  'top_k',
  'frequency_penalty',
  'presence_penalty',
  'max_completion_tokens',
  'seed',
]);

function numbersOf(request: RoutedRequest): RequestEvent['parameters'] {
  const { parameters = {} } = request as Partial<NormalizedRequest>;
  const numbers: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && NUMBERS.has(name)) numbers[name] = value;
  }
  return numbers;
}
