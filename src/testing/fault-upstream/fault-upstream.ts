import { RunningUpstream } from './running-upstream.ts';
import type { FaultUpstream, FaultUpstreamOptions } from './upstream-options.ts';

/**
 * Starts a server on a free port of 127.0.0.1 that answers like a provider, well or with a fault. Runs on Node only.
 *
 * @example
 * ```ts
 * await using upstream = await startFaultUpstream();
 * upstream.script(['U-10', 'ok']); // resets the first connection, answers the second request
 * const provider = openaiCompatible({ slug: 'faulty', baseURL: upstream.baseURL, models: { 'acme/one': {} } });
 * ```
 */
export async function startFaultUpstream(options: FaultUpstreamOptions = {}): Promise<FaultUpstream> {
  const net = await import('node:net');
  const http = await import('node:http');
  const tls = await import('node:tls');
  const upstream = new RunningUpstream(options, http.createServer(), (socket, { certificate, privateKey }) => {
    const secureContext = tls.createSecureContext({ cert: certificate, key: privateKey });
    return new tls.TLSSocket(socket, { isServer: true, secureContext });
  });
  await upstream.listen(net.createServer({ noDelay: true }, (socket) => upstream.accept(socket)));
  return upstream;
}
