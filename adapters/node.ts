/** Mounts a router in Node's own HTTP servers. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { checkMount, handle, notFoundReply } from '../src/entries/mount.ts';
import type { Router } from '../src/entries/router.ts';
import {
  locate,
  type Location,
  nodeCall,
  type NodeRequest,
  type NodeResponse,
  parsedBody,
  writeReply,
} from './node-exchange.ts';

/** Options of {@link nodeRouter}. */
export interface NodeRouterOptions {
  /** Path that the API is under. Default `/v1`. */
  readonly basePath?: string | undefined;
}

/** Continues with whatever else the host serves. */
export type Next = (error?: unknown) => void;

/**
 * Serves a router from Node's own servers of HTTP/1.1 and HTTP/2, or from anything that calls `(request, response, next)`.
 * A body that something before has read is taken from `request.body`, parsed or not.
 *
 * @throws {@link ConfigError} when it is not given a router, or the base path does not begin with a slash.
 * @example
 * ```ts
 * createServer(nodeRouter(router, { basePath: '/v1' })).listen(3000);
 * ```
 */
export function nodeRouter(
  router: Router,
  { basePath = '/v1' }: NodeRouterOptions = {},
): (request: NodeRequest, response: NodeResponse, next?: Next) => void {
  const base = checkMount('nodeRouter', router, basePath);
  return function signalbox(given, into, next) {
    const [request, response] = [given as IncomingMessage, into as ServerResponse];
    const location = locate(request.url ?? '/', base);
    if (location === undefined) goOn(request, response, base, next);
    else void answer(router, request, response, { base, location, next });
  };
}

async function answer(
  router: Router,
  request: IncomingMessage,
  response: ServerResponse,
  { base, location, next }: { readonly base: string; readonly location: Location; readonly next: Next | undefined },
): Promise<void> {
  try {
    const reply = await handle(router, nodeCall(request, response, location, parsedBody(request)));
    if (reply === undefined) return goOn(request, response, base, next);
    const writing = writeReply(request, response, reply);
    if (writing !== undefined) await writing;
  } catch {
    response.destroy();
  }
}

/** A request that is not for the router. */
function goOn(request: IncomingMessage, response: ServerResponse, mount: string, next: Next | undefined): void {
  if (next !== undefined) return next();
  const { method = 'GET', url = '/' } = request;
  const [path = '/'] = url.split('?', 1);
  void writeReply(request, response, notFoundReply({ method, path, mount }));
}
