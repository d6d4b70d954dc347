import type { Transport } from './transport.ts';

/**
 * Loads the transport that fits the runtime, on first use. Which one it is decides the `imports` field of
 * package.json: undici on Node, `fetch` everywhere else.
 */
export async function loadTransport(): Promise<Transport> {
  const { createTransport } = await import('#transport');
  return createTransport();
}
