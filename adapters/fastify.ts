/** Mounts a router in Fastify 5 as a plugin. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { checkMount, errorReplyOf, handle, type HttpReply } from '../src/entries/mount.ts';
import type { Router } from '../src/entries/router.ts';
import { locate, type Location, nodeCall, type NodeRequest, type NodeResponse, writeReply } from './node-exchange.ts';

/** Options of {@link fastifyRouter}; `prefix` is Fastify's own. */
export interface FastifyRouterOptions {
  readonly router: Router;
  readonly prefix?: string | undefined;
}

/** The parts of a Fastify request that are needed. */
export interface FastifyRequestLike {
  readonly raw: NodeRequest;
  readonly url: string;
}

/** The parts of a Fastify reply that are needed. */
export interface FastifyReplyLike {
  readonly raw: NodeResponse;
  hijack(): unknown;
  getHeaders(): Record<string, number | string | string[] | undefined>;
  callNotFound(): unknown;
}

/** The parts of an error of Fastify, or of a hook, that are needed. */
export interface FastifyErrorLike {
  readonly message: string;
  readonly statusCode?: number | undefined;
  readonly code?: string | undefined;
}

/** The parts of a Fastify instance that are needed; satisfied by Fastify 5. */
export interface FastifyInstanceLike {
  readonly prefix: string;
  removeAllContentTypeParsers(): unknown;
  // Method shorthand keeps the parameters bivariant, so that Fastify's own richer types fit.
  addContentTypeParser(
    type: string,
    parser: (request: never, payload: never, done: (error: Error | null) => void) => void,
  ): unknown;
  setErrorHandler(
    handler: (error: FastifyErrorLike, request: FastifyRequestLike, reply: FastifyReplyLike) => unknown,
  ): unknown;
  all(path: string, handler: (request: FastifyRequestLike, reply: FastifyReplyLike) => unknown): unknown;
}

/**
 * Mounts a router in a Fastify app. The plugin is encapsulated: body parsers and error handlers of the app stay as
 * they are outside the prefix, and headers that hooks of the app have set are sent, also with streams.
 *
 * @throws {@link ConfigError} when its options have no router.
 * @example
 * ```ts
 * await app.register(fastifyRouter, { router, prefix: '/v1' });
 * ```
 */
export async function fastifyRouter(instance: FastifyInstanceLike, { router }: FastifyRouterOptions): Promise<void> {
  checkMount('fastifyRouter.router', router);
  const locateBelow = locatorOf(instance.prefix);
  instance.removeAllContentTypeParsers();
  // The body is left unread: who calls is checked first, and the router's own limits apply.
  instance.addContentTypeParser('*', (_request, _payload, done) => done(null));
  instance.setErrorHandler((error, request, reply) => {
    const path = locateBelow(request.url)?.path;
    return send(request, reply, replyOfError(error, path));
  });
  answerBadUrls(instance, locateBelow);
  instance.all('/*', async (request, reply) => {
    const location = locateBelow(request.url);
    const answer = location && (await handle(router, nodeCall(...rawOf(request, reply), location)));
    return answer === undefined ? reply.callNotFound() : send(request, reply, answer);
  });
  return Promise.resolve();
}

/** Where an address is below the mount; undefined when it is not below it. */
type Locator = (url: string) => Location | undefined;

/** Finds where addresses are below a prefix, which may have parameters: `/tenants/:id/v1`, `/v:version(^\\d+$)`. */
function locatorOf(prefix: string): Locator {
  if (!prefix.includes(':')) return (url) => locate(url, prefix);
  const base = new RegExp(`^${partsOf(prefix).map(patternOf).join('/')}(?=[/?]|$)`);
  return (url) => {
    const found = base.exec(url)?.[0];
    return found === undefined ? undefined : locate(url, found);
  };
}

/** The parts of a prefix between its slashes; a regular expression in parentheses may have slashes of its own. */
function partsOf(prefix: string): readonly string[] {
  let depth = 0;
  let plain = '';
  for (const character of prefix) {
    if (character === '(') depth += 1;
    if (depth === 0) plain += character;
    if (character === ')') depth -= 1;
  }
  return plain.split('/');
}

/** What a part of a prefix matches: itself, or with a parameter in it anything. Two colons are one that is none. */
function patternOf(part: string): string {
  return part.replaceAll('::', '').includes(':')
    ? '[^/?]+'
    : part.replaceAll('::', ':').replace(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}

/** Answers what Fastify refuses before it looks for a route. */
type FrameworkErrors = (error: FastifyErrorLike, request: FastifyRequestLike, reply: FastifyReplyLike) => unknown;

/**
 * Below the prefix, an address that cannot be decoded gets an error like all others. Fastify takes a handler for it only
 * as an option of the whole server, so it is put there, in front of the app's own; where that option cannot be found,
 * Fastify's own answer stays.
 */
function answerBadUrls(instance: FastifyInstanceLike, locateBelow: Locator): void {
  const options = optionsOf(instance);
  if (options === undefined) return;
  const others = options.frameworkErrors;
  const replyWithError: FrameworkErrors = (error, request, reply) => {
    const location = locateBelow(request.raw.url ?? '/');
    if (location !== undefined && error.statusCode === 400) {
      return send(request, reply, errorReplyOf(400, 'The path cannot be decoded', location.path));
    }
    if (others !== undefined) return others(error, request, reply);
    const { statusCode = 500, code, message } = error;
    const body = JSON.stringify({ error: STATUS_CODES[statusCode], code, message, statusCode });
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const [, raw] = rawOf(request, reply);
    return raw.writeHead(statusCode, headers).end(body);
  };
  options.frameworkErrors = replyWithError;
}

function optionsOf(instance: object): { frameworkErrors?: FrameworkErrors | undefined } | undefined {
  for (let owner: object | null = instance; owner !== null; owner = Object.getPrototypeOf(owner) as object | null) {
    const symbol = Object.getOwnPropertySymbols(owner).find(({ description }) => description === 'fastify.options');
    const options: unknown = symbol === undefined ? undefined : Reflect.get(owner, symbol);
    if (typeof options === 'object' && options !== null && !Object.isFrozen(options)) return options;
  }
  return undefined;
}

/** What hooks of the app refuse keeps its status and its words; what fails in them is nobody's business outside. */
function replyOfError({ statusCode = 500, message }: FastifyErrorLike, path: string | undefined): HttpReply {
  const refused = statusCode >= 400 && statusCode < 500;
  return refused ? errorReplyOf(statusCode, message, path) : errorReplyOf(500, 'The server failed', path);
}

/** Writes past Fastify, with the headers that its hooks have set so far. */
async function send(
  request: FastifyRequestLike,
  reply: FastifyReplyLike,
  answer: HttpReply,
): Promise<FastifyReplyLike> {
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  await writeReply(...rawOf(request, reply), answer);
  return reply;
}

/** What a request and its reply are of Node. */
function rawOf(request: FastifyRequestLike, reply: FastifyReplyLike): [IncomingMessage, ServerResponse] {
  return [request.raw as IncomingMessage, reply.raw as ServerResponse];
}
