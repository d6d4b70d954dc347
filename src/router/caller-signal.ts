/** The signal that ends a call. */
export interface CallerSignal {
  readonly signal: AbortSignal;
  /** Ends the call from within. */
  readonly abort: () => void;
  /** Stops listening to the client. To be called when the call is over, however it ended. */
  readonly release: () => void;
}

/** The signal of a response that comes all at once: that of its client. Nothing but the client ends it early. */
export function clientSignal(outer: AbortSignal | undefined): CallerSignal {
  return { signal: outer ?? neverAborted(), abort: ignore, release: ignore };
}

/** The signal of a stream: its client may abort it, or stop reading it. */
export function streamSignal(outer: AbortSignal | undefined): CallerSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort(outer?.reason);
  if (outer?.aborted === true) abort();
  outer?.addEventListener('abort', abort);
  return { signal: controller.signal, abort, release: () => outer?.removeEventListener('abort', abort) };
}

/**
 * A signal that is never aborted, for calls without one. Each call has its own: Cloudflare Workers refuse to make one
 * while a module loads, and to use it in another request than the one that made it.
 */
export function neverAborted(): AbortSignal {
  return new AbortController().signal;
}

function ignore(): void {}
