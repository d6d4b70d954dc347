import type { NetworkOptions } from '../options/http.ts';
import { sharedNetwork } from './network.ts';
import type { Transport } from './transport.ts';

/**
 * Loads the transport that fits the runtime, on first use. Which one it is decides the `imports` field of
 * package.json: undici on Node, `fetch` everywhere else, and where undici is in a bundle that cannot load it: it is
 * CommonJS, and bundles in the form of modules have no `require` unless they were given one.
 *
 * @param network - Default: that of the routers of this process.
 */
export async function loadTransport(network: NetworkOptions | undefined = sharedNetwork()): Promise<Transport> {
  try {
    const { createTransport } = await import('#transport');
    return createTransport(network);
  } catch (error) {
    const { process } = globalThis as { process?: { emitWarning?: (text: string, options: object) => void } };
    const reason = error instanceof Error ? error.message : '';
    process?.emitWarning?.(
      `Providers are called with fetch, which costs more, because undici could not be loaded: ${reason}. Leave the package signalbox out of the bundle (external).`,
      { code: 'SIGNALBOX_FETCH' },
    );
    const { createTransport } = await import('./fetch.ts');
    return createTransport(network);
  }
}
