/** Mounts a router in a catch-all route of the Next.js App Router. */
import type { Router } from '../src/entries/router.ts';
import { checkMount } from '../src/entries/mount.ts';
import { fetchRouter, type FetchRouterOptions } from './fetch.ts';

/** Options of {@link nextRouter}. */
export interface NextRouterOptions {
  /** Path of the route's folder, for example `/api/v1` for `app/api/v1/[...path]/route.ts`. Default `/api/v1`. */
  readonly basePath?: string | undefined;
  /**
   * Keeps the function alive for a stream that is read on without its client: `after` of `next/server`. Only needed where
   * functions end with their response, as on Vercel. Default: the server lives by itself.
   */
  readonly waitUntil?: FetchRouterOptions['waitUntil'];
}

/** Handlers of a route file in the App Router. */
export interface NextHandlers {
  readonly GET: (request: Request) => Promise<Response>;
  readonly POST: (request: Request) => Promise<Response>;
  readonly DELETE: (request: Request) => Promise<Response>;
  /** Nothing here takes it; with it in the route, callers are told what is taken instead. */
  readonly PUT: (request: Request) => Promise<Response>;
  /** For keys of `storedApiKeys`; otherwise like {@link NextHandlers.PUT}. */
  readonly PATCH: (request: Request) => Promise<Response>;
  /** Answers browsers that ask before they call; only needed where pages of other sites may, see the option `cors`. */
  readonly OPTIONS: (request: Request) => Promise<Response>;
}

/**
 * Handlers for a catch-all route of the Next.js App Router.
 *
 * @throws {@link ConfigError} when it is not given a router, or the base path does not begin with a slash.
 * @example
 * ```ts
 * // app/api/v1/[...path]/route.ts
 * export const { GET, POST, DELETE, PUT, PATCH } = nextRouter(router, { basePath: '/api/v1' });
 * ```
 */
export function nextRouter(router: Router, { basePath = '/api/v1', waitUntil }: NextRouterOptions = {}): NextHandlers {
  const signalbox = fetchRouter(router, { basePath: checkMount('nextRouter', router, basePath), waitUntil });
  return {
    GET: signalbox,
    POST: signalbox,
    DELETE: signalbox,
    PUT: signalbox,
    PATCH: signalbox,
    OPTIONS: signalbox,
  };
}
