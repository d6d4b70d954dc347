/** Mounts a router in Express 4 and 5. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { checkMount, errorReplyOf, handle } from '../src/entries/mount.ts';
import type { Router } from '../src/entries/router.ts';
import { locate, nodeCall, parsedBody, writeReply } from './node-exchange.ts';

/** The part of an Express request that is needed; satisfied by Express 4 and 5. */
export interface ExpressRequest extends IncomingMessage {
  body?: unknown;
}

/** Continues with the next handler, or with the error handlers. */
export type ExpressNext = (error?: unknown) => void;

/** A handler, and an error handler behind it; Express takes both as one. */
export type ExpressHandlers = [
  (request: ExpressRequest, response: ServerResponse, next: ExpressNext) => void,
  (error: unknown, request: ExpressRequest, response: ServerResponse, next: ExpressNext) => void,
];

/**
 * Mounts a router in an Express app, version 4 or 5, before or behind `express.json()`.
 * Errors of Express's own body parsers become JSON like all others; requests that are not for the router go on.
 *
 * @throws {@link ConfigError} when it is not given a router.
 * @example
 * ```ts
 * app.use('/v1', expressRouter(router));
 * ```
 */
export function expressRouter(router: Router): ExpressHandlers {
  checkMount('expressRouter', router);
  function signalbox(request: ExpressRequest, response: ServerResponse, next: ExpressNext): void {
    const location = locate(request.url ?? '/', '');
    if (location === undefined) return next();
    const call = nodeCall(request, response, location, parsedBody(request));
    handle(router, call)
      .then((reply) => (reply === undefined ? next() : writeReply(request, response, reply)))
      .catch(next);
  }

  function signalboxErrors(error: unknown, request: ExpressRequest, response: ServerResponse, next: ExpressNext): void {
    const problem = bodyParserProblem(error);
    if (problem === undefined || response.headersSent) return next(error);
    const path = locate(request.url ?? '/', '')?.path;
    void writeReply(request, response, errorReplyOf(problem.status, problem.message, path));
  }

  return [signalbox, signalboxErrors];
}

/** What a body parser of Express complained about, if that is what it was. */
function bodyParserProblem(error: unknown): { status: number; message: string } | undefined {
  const { type, status, limit, code } = (error ?? {}) as Readonly<
    Record<'type' | 'status' | 'limit' | 'code', unknown>
  >;
  if (typeof status !== 'number') return undefined;
  // What the parsers of Node say of a broken compression has no type.
  if (status === 400 && typeof code === 'string' && /^(?:Z_|ERR__ERROR_FORMAT|ERR_BROTLI)/.test(code)) {
    return { status, message: 'The request body is not compressed as its content-encoding says' };
  }
  if (typeof type !== 'string') return undefined;
  switch (type) {
    case 'entity.parse.failed':
    case 'entity.verify.failed':
    case 'request.aborted':
    case 'request.size.invalid':
      return { status: 400, message: 'The request body is not valid JSON, or is not complete' };
    case 'entity.too.large':
      return {
        status: 413,
        message: `The request body must not be larger than the ${String(limit)} bytes this server parses`,
      };
    case 'encoding.unsupported':
    case 'charset.unsupported':
      return { status: 415, message: 'The request body is in an encoding that this server does not read' };
    default:
      return undefined;
  }
}
