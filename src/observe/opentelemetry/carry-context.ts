import type { TraceContext } from '../../core/trace-context.ts';
import { type Context, ROOT_CONTEXT, type SpanContext, createTraceState, trace } from './api.ts';

/** The context of a caller in another process. */
export function contextOfCaller({ traceparent, tracestate }: TraceContext): Context {
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
export function traceContextOfSpan({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext {
  const flags = (traceFlags & SAMPLED).toString(16).padStart(2, '0');
  const tracestate = traceState?.serialize();
  return {
    traceparent: `00-${traceId}-${spanId}-${flags}`,
    ...(tracestate === undefined || tracestate === '' ? {} : { tracestate }),
  };
}

const SAMPLED = 1;
