/** W3C trace context, as its two headers carry it. */
export interface TraceContext {
  /** `00-<trace id>-<span id>-<flags>`, in lower-case hexadecimal. */
  readonly traceparent: string;
  /** What tracing systems add for themselves. */
  readonly tracestate?: string | undefined;
}

const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-[\x21-\x7e]{0,200})?$/;
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/**
 * Checks what may be a trace context. One that is none, or that is of an unknown version, is as good as none at all:
 * tracing never makes a request fail. A bad `tracestate` is left out.
 */
export function traceContextOf(traceparent: unknown, tracestate?: unknown): TraceContext | undefined {
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return undefined;
  if (traceparent.startsWith('00') && traceparent.length !== VERSION_0_LENGTH) return undefined;
  return typeof tracestate === 'string' && TRACESTATE.test(tracestate) ? { traceparent, tracestate } : { traceparent };
}

const VERSION_0_LENGTH = 55;
