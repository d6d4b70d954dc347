import fastify, { type FastifyInstance } from 'fastify';
import { createRouter } from 'signalbox';
import { fastifyRouter } from 'signalbox/fastify';
import { describe, expect, it } from 'vitest';
import { GOOD_END, fedProvider } from '../support/fed-provider.ts';
import { chatBody } from '../support/http-call.ts';
import { type Mounted, listen } from '../support/mounts.ts';

function makeRouter(): ReturnType<typeof createRouter> {
  const provider = fedProvider({
    script: (fed) => (fed.call.request.stream ? fed.push('Hi', ...GOOD_END) : fed.answer('Hi')),
  });
  return createRouter({ providers: [provider] });
}

async function serve(prepare: (app: FastifyInstance) => unknown, prefix = '/v1'): Promise<Mounted> {
  const app = fastify();
  await prepare(app);
  await app.register(fastifyRouter, { router: makeRouter(), prefix });
  await app.ready();
  return listen(app.server);
}

async function ask({ baseURL }: Mounted, fields: Record<string, unknown> = {}): Promise<Response> {
  return fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(chatBody(fields)),
  });
}

describe('a Fastify app', () => {
  it('may refuse requests in its hooks, and its status and words are kept', async () => {
    await using mounted = await serve((app) => {
      app.addHook('onRequest', (_request, reply, done) => {
        reply.header('retry-after', '7');
        done(Object.assign(new Error('Slow down, please'), { statusCode: 429 }));
      });
    });
    const response = await ask(mounted);
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('7');
    expect(await response.json()).toMatchObject({
      error: { code: 429, message: 'Slow down, please', metadata: { error_type: 'rate_limit_exceeded' } },
    });
    const messages = await fetch(`${mounted.baseURL}/messages`, { method: 'POST' });
    expect(messages.status).toBe(429);
    expect(await messages.json()).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } });
  });

  it('may fail in its hooks, and says nothing of why', async () => {
    await using mounted = await serve((app) => {
      app.addHook('preHandler', (_request, _reply, done) => done(new Error('the secret inside')));
    });
    const response = await ask(mounted);
    const text = await response.text();
    expect(response.status).toBe(500);
    expect(JSON.parse(text)).toMatchObject({ error: { code: 500, message: 'The server failed' } });
    expect(text).not.toContain('secret');
  });

  it('has its own limit of bodies for its own routes, and hooks up to the answer', async () => {
    const ran: string[] = [];
    const app = fastify({ bodyLimit: 100 });
    app.addHook('onRequest', async (_request, reply) => void reply.header('x-team', 'signals'));
    app.addHook('preHandler', async () => void ran.push('preHandler'));
    app.addHook('preSerialization', async () => void ran.push('preSerialization'));
    app.addHook('onSend', async () => void ran.push('onSend'));
    app.addHook('onResponse', async () => void ran.push('onResponse'));
    app.post('/own', async () => ({ fine: true }));
    await app.register(fastifyRouter, { router: makeRouter(), prefix: '/v1' });
    await app.ready();
    await using mounted = await listen(app.server);
    const long = { messages: [{ role: 'user', content: 'word '.repeat(100) }] };
    const response = await ask(mounted, long);
    expect([response.status, response.headers.get('x-team')]).toEqual([200, 'signals']);
    await response.text();
    await expect.poll(() => ran).toEqual(['preHandler', 'onResponse']);
    const headers = { 'content-type': 'application/json' };
    const own = await fetch(new URL('/own', mounted.baseURL), { method: 'POST', headers, body: JSON.stringify(long) });
    expect(own.status).toBe(413);
    const streamed = await ask(mounted, { ...long, stream: true });
    expect((await streamed.text()).endsWith('data: [DONE]\n\n')).toBe(true);
    await expect.poll(() => ran.filter((hook) => hook === 'onResponse')).toHaveLength(3);
  });

  it('may answer in its hooks by itself', async () => {
    await using mounted = await serve((app) => {
      app.addHook('onRequest', async (_request, reply) => reply.code(403).send({ mine: true }));
    });
    const response = await ask(mounted);
    expect(response.status).toBe(403);
    expect(await response.json()).toEqual({ mine: true });
  });

  it('keeps its error handler, its parsers and its page for what is not found', async () => {
    await using mounted = await serve((app) => {
      app.setErrorHandler((error: Error, _request, reply) => reply.code(418).send(error.message));
      app.setNotFoundHandler((_request, reply) => reply.code(404).send('not here'));
      app.post('/own', () => {
        throw new Error('of the app');
      });
    });
    const own = new URL('/own', mounted.baseURL);
    const parsed = await fetch(own, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' });
    expect(parsed.status).toBe(418);
    const thrown = await fetch(own, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
    expect(await thrown.text()).toBe('of the app');
    expect(await (await fetch(`${mounted.baseURL}/nothing`)).text()).toBe('not here');
    expect((await ask(mounted)).status).toBe(200);
  });

  it('is told of the end of every answer, also of streams', async () => {
    const ended: number[] = [];
    await using mounted = await serve((app) => {
      app.addHook('onResponse', (_request, reply, done) => {
        ended.push(reply.raw.statusCode);
        done();
      });
    });
    await (await ask(mounted)).text();
    await (await ask(mounted, { stream: true })).text();
    await expect.poll(() => ended).toEqual([200, 200]);
  });

  it('takes bodies larger than its own limit, since the router has one', async () => {
    await using mounted = await serve(() => undefined);
    const response = await ask(mounted, { messages: [{ role: 'user', content: 'x'.repeat(3_000_000) }] });
    expect(response.status).toBe(200);
    await response.text();
  });

  it('may mount it under a longer prefix', async () => {
    await using mounted = await serve(() => undefined, '/api/llm/v1');
    const response = await ask({ ...mounted, baseURL: mounted.baseURL.replace('/v1', '/api/llm/v1') });
    expect(response.status).toBe(200);
    await response.text();
  });

  it.each([
    ['/tenants/:id/v1', '/tenants/a%2Fb/v1', '/tenants/v1'],
    ['/tenants/:id(^\\d+$)/v1', '/tenants/17/v1', '/tenants/seventeen/v1'],
    ['/:tenant/:project/llm', '/acme/x.y/llm', '/acme/llm'],
    ['/t/:name(^[a-z/]{1,9}$)/v1', '/t/abc/v1', '/t/abc/v2'],
    ['/v:version(^\\d$)', '/v1', '/vx'],
    ['/a::b/v1', '/a:b/v1', '/a::b/v1'],
    ['/a.b/:id', '/a.b/v1', '/aXb/v1'],
  ])('may mount it under a prefix with parameters: %s', async (prefix, below, beside) => {
    await using mounted = await serve(() => undefined, prefix);
    const at = (path: string): Mounted => ({ ...mounted, baseURL: mounted.baseURL.replace('/v1', path) });
    const response = await ask(at(below));
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"Hi"')]);
    expect((await fetch(`${at(below).baseURL}/models?limit=1`)).status).toBe(200);
    const wrong = await fetch(`${at(below).baseURL}/models/acme/%ff`);
    expect([wrong.status, await wrong.text()]).toEqual([400, expect.stringContaining('The path cannot be decoded')]);
    const elsewhere = await ask(at(beside));
    expect([elsewhere.status, await elsewhere.text()]).toEqual([404, expect.stringContaining('Route POST:')]);
  });
});
