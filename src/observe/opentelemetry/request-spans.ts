/** Builds spans from the events of a request. */
import {
  type Attributes,
  type Context,
  context,
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from './api.ts';
import {
  attemptAttributes,
  conventionalProvider,
  requestAttributes,
  stageAttributes,
  usageAttributes,
} from './attributes.ts';
import type { TraceContext } from '../../contracts/trace-context.ts';
import type {
  AttemptEvent,
  AttemptStartEvent,
  ContentEvent,
  ErrorEvent,
  PluginEvent,
  PluginFacts,
  RequestEvent,
  RequestFacts,
  ResultEvent,
  RouterListeners,
  ToolEvent,
  ToolFacts,
} from '../../contracts/events.ts';

/** A request that is under way, with the spans in it that have not ended. */
interface OpenRequest {
  readonly span: Span;
  readonly context: Context;
  readonly attempts: Map<number, Span>;
  readonly stages: Map<number, Span>;
}

/** Requests that may be open. More than so many were forgotten by whoever read their streams. */
const MAX_OPEN = 100_000;

/** What spans have besides what events say. */
interface SpanOptions {
  /** Whether upstream calls carry the `traceparent` of their span. */
  readonly propagate: boolean;
  /** What a span gets of content. Default: nothing, and nothing listens to it. */
  readonly contentOf?: ((event: ContentEvent) => Attributes | undefined) | undefined;
}

/**
 * Builds spans from events: one for each request, and in it one for each upstream call, hook of a plugin and call of a
 * server tool. Requests that a plugin or tool makes stand within it. Begins and ends are taken as they are told, so that
 * all times are of the tracer's own clock.
 */
export class RequestSpans {
  readonly #tracer: Tracer;
  readonly #propagate: boolean;
  readonly #open = new Map<string, OpenRequest>();
  readonly listeners: RouterListeners;

  constructor(tracer: Tracer, { propagate, contentOf }: SpanOptions) {
    this.#tracer = tracer;
    this.#propagate = propagate;
    this.listeners = {
      ...this.#listeners,
      content: contentOf && ((event) => this.#said(event, contentOf)),
    };
  }

  readonly #listeners: RouterListeners = {
    request: (event) => this.#requestBegins(event),
    attempt_start: (event) => this.#attemptBegins(event),
    attempt: (event) => this.#attemptEnds(event),
    plugin_start: (event) => this.#pluginBegins(event),
    plugin: (event) => this.#pluginEnds(event),
    tool_start: (event) => this.#toolBegins(event),
    tool: (event) => this.#toolEnds(event),
    result: (event) => this.#requestSucceeds(event),
    error: (event) => this.#requestFails(event),
  };

  /** Ends the spans of everything that is still under way. */
  close(): void {
    for (const id of this.#open.keys()) this.#close(id);
  }

  #requestBegins(event: RequestEvent): void {
    const { request } = event;
    const span = this.#tracer.startSpan(
      `${request.operation} ${request.requested}`,
      { kind: SpanKind.INTERNAL, attributes: requestAttributes(event) },
      this.#contextFor(event),
    );
    if (this.#open.size >= MAX_OPEN) this.#closeOldest();
    const own = trace.setSpan(context.active(), span);
    this.#open.set(request.id, { span, context: own, attempts: new Map(), stages: new Map() });
  }

  /** The work that requires it, or whatever its caller is doing here, or what its caller in another process does. */
  #contextFor({ request, traceContext }: RequestEvent): Context {
    const active = context.active();
    const outer = request.parent === undefined ? undefined : this.#open.get(request.parent);
    if (outer !== undefined) {
      const stage = request.parentStage === undefined ? undefined : outer.stages.get(request.parentStage);
      return stage === undefined ? outer.context : trace.setSpan(outer.context, stage);
    }
    if (trace.getSpan(active) !== undefined || traceContext === undefined) return active;
    return contextOfCaller(traceContext);
  }

  #attemptBegins(event: AttemptStartEvent): void {
    const attributes = attemptAttributes(event);
    const name = `${event.request.operation} ${event.model}`;
    const span = this.#start(event.request, name, SpanKind.CLIENT, attributes);
    if (span === undefined) return;
    this.#open.get(event.request.id)?.attempts.set(event.attempt, span);
    if (this.#propagate) event.carry(traceContextOfSpan(span.spanContext()));
  }

  #attemptEnds({ request, attempt, model, firstTokenMs, failure, usage, givenUpCost }: AttemptEvent): void {
    const span = taken(this.#open.get(request.id)?.attempts, attempt);
    if (span === undefined) return;
    if (usage !== undefined) span.setAttributes(usageAttributes(usage, request.operation));
    if (failure === undefined) {
      span.setAttribute('gen_ai.response.model', model);
      if (request.stream && firstTokenMs !== undefined) span.setAttribute(FIRST_CHUNK, firstTokenMs / 1_000);
    } else {
      span.setAttributes({ 'error.type': failure.kind, 'http.response.status_code': failure.status });
      // Not the failure's message: a provider of somebody else's may have put anything there.
      const message = failure.status === undefined ? failure.kind : `${failure.status} ${failure.kind}`;
      if (givenUpCost !== undefined) span.setAttribute('signalbox.given_up_cost_usd', givenUpCost);
      // Neither a client that left nor another call that was faster is an error of this one.
      if (failure.kind !== 'aborted' && failure.kind !== 'superseded')
        span.setStatus({ code: SpanStatusCode.ERROR, message });
    }
    span.end();
  }

  #pluginBegins({ request, stage, plugin, hook }: PluginFacts): void {
    const attributes = { 'signalbox.plugin.id': plugin, 'signalbox.plugin.hook': hook };
    this.#stageBegins(request, stage, `plugin ${plugin} ${hook}`, attributes);
  }

  #pluginEnds(event: PluginEvent): void {
    this.#stageEnds(event, ['failed', 'skipped']);
  }

  #toolBegins({ request, stage, tool, name }: ToolFacts): void {
    this.#stageBegins(request, stage, `execute_tool ${name}`, {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      // Run on the side of whoever answers, not of the caller.
      'gen_ai.tool.type': 'extension',
      'signalbox.tool.type': tool,
    });
  }

  #toolEnds(event: ToolEvent): void {
    this.#stageEnds(event, ['failed', 'timeout']);
  }

  #stageBegins(request: RequestFacts, stage: number, name: string, attributes: Attributes): void {
    const span = this.#start(request, name, SpanKind.INTERNAL, attributes);
    if (span !== undefined) this.#open.get(request.id)?.stages.set(stage, span);
  }

  #stageEnds<Outcome extends string>(
    event: (PluginEvent | ToolEvent) & { readonly outcome: Outcome },
    failures: readonly NoInfer<Outcome>[],
  ): void {
    const span = taken(this.#open.get(event.request.id)?.stages, event.stage);
    if (span === undefined) return;
    span.setAttributes({ ...stageAttributes(event), 'signalbox.outcome': event.outcome });
    if (failures.includes(event.outcome)) {
      span.setAttribute('error.type', event.outcome);
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end();
  }

  /** Spans that nobody samples are not given content. */
  #said(event: ContentEvent, contentOf: (event: ContentEvent) => Attributes | undefined): void {
    const open = this.#open.get(event.request.id);
    const span = event.type === 'tool' ? open?.stages.get(event.stage) : open?.span;
    if (span?.isRecording() !== true) return;
    const attributes = contentOf(event);
    if (attributes !== undefined) span.setAttributes(attributes);
  }

  #requestSucceeds(event: ResultEvent): void {
    const { request, provider, model, attempts, firstTokenMs, usage, finishReason } = event;
    this.#close(request.id, (span) => {
      span.setAttributes({
        ...usageAttributes(usage, request.operation),
        'gen_ai.provider.name': conventionalProvider(provider),
        'gen_ai.response.model': model,
        'signalbox.attempts': attempts,
      });
      if (request.stream) span.setAttribute(FIRST_CHUNK, firstTokenMs / 1_000);
      if (finishReason !== null) span.setAttribute('gen_ai.response.finish_reasons', [finishReason]);
    });
  }

  #requestFails({ request, provider, model, status, errorType, attempts, committed }: ErrorEvent): void {
    this.#close(request.id, (span) => {
      const callerGone = status === CALLER_GONE;
      span.setAttributes({
        'error.type': callerGone ? 'client_closed' : errorType,
        'http.response.status_code': status,
        'gen_ai.provider.name': provider === undefined ? undefined : conventionalProvider(provider),
        'gen_ai.response.model': committed ? model : undefined,
        'signalbox.attempts': attempts,
        'signalbox.committed': committed,
      });
      if (!callerGone) span.setStatus({ code: SpanStatusCode.ERROR, message: `${status} ${errorType}` });
    });
  }

  #start({ id }: RequestFacts, name: string, kind: SpanKind, attributes: Attributes): Span | undefined {
    const open = this.#open.get(id);
    return open === undefined ? undefined : this.#tracer.startSpan(name, { kind, attributes }, open.context);
  }

  #closeOldest(): void {
    const [oldest] = this.#open.keys();
    if (oldest !== undefined) this.#close(oldest);
  }

  #close(id: string, describe?: (span: Span) => void): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#open.delete(id);
    for (const span of [...open.attempts.values(), ...open.stages.values()]) span.end();
    describe?.(open.span);
    open.span.end();
  }
}

const FIRST_CHUNK = 'gen_ai.response.time_to_first_chunk';

/** Status of an error whose client disconnected. */
const CALLER_GONE = 499;

function taken(spans: Map<number, Span> | undefined, key: number): Span | undefined {
  const span = spans?.get(key);
  spans?.delete(key);
  return span;
}

/** The context of a caller in another process. */
function contextOfCaller({ traceparent, tracestate }: TraceContext): Context {
  const [, traceId = '', spanId = '', flags = '00'] = traceparent.split('-');
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & SAMPLED,
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  });
}

/** A span as the headers of a call name it. Baggage is no part of it: providers are strangers. */
function traceContextOfSpan({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext {
  const flags = (traceFlags & SAMPLED).toString(16).padStart(2, '0');
  const tracestate = traceState?.serialize();
  return {
    traceparent: `00-${traceId}-${spanId}-${flags}`,
    ...(tracestate === undefined || tracestate === '' ? {} : { tracestate }),
  };
}

const SAMPLED = 1;
