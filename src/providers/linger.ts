import type { TransportResponse } from './transport/transport.ts';

/** Milliseconds that a response may take to end after its end mark. */
const LINGER_MS = 500;
/** Bytes that may follow an end mark. */
const LINGER_BYTES = 64 * 1024;

/**
 * Waits in the background for the end of a response that has said all it had to say. Its last bytes usually come a
 * moment after the end mark, and cancelling before them would close a connection that the next call can use. A
 * response that does not end soon is cancelled.
 */
export function linger(response: TransportResponse): void {
  const timer = setTimeout(() => response.cancel(), LINGER_MS);
  // A program that is done need not wait for this; only Node's timers know how not to be waited for.
  (timer as { readonly unref?: () => void }).unref?.();
  void drain(response).finally(() => clearTimeout(timer));
}

async function drain(response: TransportResponse): Promise<void> {
  let left = LINGER_BYTES;
  try {
    for (let chunks = await response.read(); chunks !== undefined; chunks = await response.read()) {
      for (const chunk of chunks) left -= chunk.byteLength;
      if (left < 0) return response.cancel();
    }
  } catch {
    // The answer is complete, so how its connection ended is of no interest.
  }
}
