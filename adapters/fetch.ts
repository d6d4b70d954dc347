/** Mounts a router wherever Web `Request` and `Response` are spoken: Hono, Bun, Deno, Workers. */
import { checkMount, handle, type HttpReply, notFoundReply } from '../src/entries/mount.ts';
import type { Router } from '../src/entries/router.ts';
import { webCall, type WebCallOptions, webResponse } from './web-exchange.ts';

/** Options of {@link fetchRouter}. */
export interface FetchRouterOptions {
  /** Path that the API is under. Default `/v1`. */
  readonly basePath?: string | undefined;
  /**
   * Address of the client, where the runtime gives it. Only needed for routers without authentication, which answer
   * callers on their own machine only.
   */
  readonly remoteAddress?: WebCallOptions['remoteAddress'];
  /**
   * Keeps the runtime alive for a stream that is read on without its client, where it would end with the connection:
   * `waitUntil` of `cloudflare:workers` or of `@vercel/functions`. Default: the runtime lives by itself.
   */
  readonly waitUntil?: WebCallOptions['waitUntil'];
}

/**
 * Serves a router from anything with Web `Request` and `Response`: Hono, Bun, Deno, Workers.
 *
 * @throws {@link ConfigError} when it is not given a router, or the base path does not begin with a slash.
 * @example
 * ```ts
 * export default { fetch: fetchRouter(router, { basePath: '/v1' }) };
 * ```
 */
export function fetchRouter(
  router: Router,
  { basePath = '/v1', remoteAddress, waitUntil }: FetchRouterOptions = {},
): (request: Request) => Promise<Response> {
  const base = checkMount('fetchRouter', router, basePath);
  return async function signalbox(request) {
    const call = webCall(request, base, { remoteAddress, waitUntil });
    const reply: HttpReply | undefined = call && (await handle(router, call));
    if (reply !== undefined) return webResponse(request, reply);
    const path = new URL(request.url).pathname;
    return webResponse(request, notFoundReply({ method: request.method, path, mount: base }));
  };
}
