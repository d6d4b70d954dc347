import { createRouter, errorReplyOf, handle } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { matchRoute } from '../../src/http/routes.ts';
import { fedProvider } from '../support/fed-provider.ts';
import { httpCall, send } from '../support/http-call.ts';

const router = createRouter({ providers: [fedProvider()] });

describe('a path', () => {
  it.each([
    ['POST', '/chat/completions', { name: 'chat' }],
    ['POST', '/chat/completions/', { name: 'chat' }],
    ['GET', '/models', { name: 'models' }],
    ['GET', '/models/', { name: 'models' }],
    ['HEAD', '/models', { name: 'models' }],
    ['GET', '/models/user', { name: 'models' }],
    ['GET', '/models/count', { name: 'models_count' }],
    ['GET', '/models/acme/one', { name: 'model', slug: 'acme/one' }],
    ['GET', '/model/acme/one', { name: 'model', slug: 'acme/one' }],
    ['GET', '/models/acme%2Fone', { name: 'model', slug: 'acme/one' }],
    ['GET', '/models/acme/one:free/endpoints', { name: 'endpoints', slug: 'acme/one:free' }],
    ['GET', '/models/acme%2Fone/endpoints/', { name: 'endpoints', slug: 'acme/one' }],
    ['GET', '/models/100%/endpoints', { name: 'endpoints', slug: '100%' }],
    ['GET', '/endpoints/zdr', { name: 'endpoints_private' }],
    ['GET', '/providers', { name: 'providers' }],
    ['GET', '/openapi.json', { name: 'openapi' }],
  ])('of ours is found: %s %s', (method, path, operation) => {
    expect(matchRoute(method, path)).toEqual({ type: 'operation', operation });
  });

  it.each([
    '/',
    '/chat',
    '/chat/completions/x',
    '/chat//completions',
    '/CHAT/COMPLETIONS',
    '/models/a/b/c',
    '/x',
    '//models',
  ])('that is not ours is left to the host: %s', async (path) => {
    expect(matchRoute('GET', path)).toBeUndefined();
    expect(matchRoute('POST', path)).toBeUndefined();
    expect(await handle(router, httpCall({ path }))).toBeUndefined();
  });

  it.each([
    ['GET', '/chat/completions', 'POST'],
    ['HEAD', '/chat/completions', 'POST'],
    ['OPTIONS', '/chat/completions', 'POST'],
    ['DELETE', '/chat/completions/', 'POST'],
    ['POST', '/models', 'GET, HEAD'],
    ['PUT', '/models/acme/one/endpoints', 'GET, HEAD'],
    ['PATCH', '/providers', 'GET, HEAD'],
    ['get', '/models', 'GET, HEAD'],
  ])('of ours with another method is a 405 that tells the right one: %s %s', async (method, path, allow) => {
    const answer = await send(router, { method, path });
    expect(answer.status).toBe(405);
    expect(answer.headers).toMatchObject({ allow, 'content-type': 'application/json' });
    expect(answer.error).toMatchObject({ code: 405, message: `This path takes ${allow} only` });
  });

  it.each(['/messages', '/messages/', '/responses'])('of a dialect has its errors in that shape: %s', async (path) => {
    const answer = await send(router, { method: 'GET', path });
    expect(answer.status).toBe(405);
    expect(answer.headers).toMatchObject({ allow: 'POST' });
    expectShapeOf(path, answer.json, 'This path takes POST only');
  });
});

describe('an error of the host', () => {
  it.each(['/messages', '/messages/', '/responses'])('has the shape of its path: %s', (path) => {
    const reply = errorReplyOf(413, 'Too large for this host', path);
    if (reply.type !== 'whole') throw new Error('an error is whole');
    expect(reply.status).toBe(413);
    expectShapeOf(path, JSON.parse(reply.body) as object, 'Too large for this host');
  });

  it.each([undefined, '/chat/completions', '/elsewhere'])('has that of chat anywhere else: %s', (path) => {
    const reply = errorReplyOf(413, 'Too large for this host', path);
    expect(reply.type === 'whole' && JSON.parse(reply.body)).toMatchObject({ error: { code: 413 }, user_id: null });
  });
});

/** Clients of each dialect find their errors by these members. */
function expectShapeOf(path: string, body: object, message: string): void {
  if (path.startsWith('/messages')) {
    expect(body).toMatchObject({
      type: 'error',
      error: { message, type: expect.stringMatching(/_(?:error|large)$/) as string },
    });
  } else {
    expect(body).toMatchObject({
      error: { message, type: 'invalid_request_error', param: null },
      error_type: expect.any(String) as string,
    });
  }
}
