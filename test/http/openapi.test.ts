import { Validator } from '@seriousme/openapi-schema-validator';
import { createRouter } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../src/http/openapi/text.ts';
import { matchRoute } from '../../src/http/routes.ts';
import { chatBody, send } from '../support/http-call.ts';
import { type SeenAnswer, openApiFault } from '../support/openapi.ts';
import { instant } from '../support/simulated.ts';

const document = openApiDocument();

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);

describe('the OpenAPI document', () => {
  it('is one of version 3.1, as its own schema says', async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(structuredClone({ ...document }));
    expect(errors ?? []).toEqual([]);
    expect(valid).toBe(true);
    expect(validator.version).toBe('3.1');
  });

  it('describes paths that the router takes, each with the method that it takes', () => {
    for (const { path, method } of operations) {
      const concrete = path.replace(/\{\w+\}/g, 'x');
      expect(matchRoute(method, concrete), `${method} ${path}`).toMatchObject({ type: 'operation' });
    }
  });

  it('names each operation once', () => {
    const ids = operations.map(({ operation }) => (operation as { operationId: string }).operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('refers to nothing that is not in it', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/([\w-]+)"/g)];
    expect(references.length).toBeGreaterThan(100);
    const lost = references.filter(([, kind = '', name = '']) => !Object.hasOwn(document.components[kind] ?? {}, name));
    expect(lost.map(([text]) => text)).toEqual([]);
    expect(JSON.stringify(document).match(/"\$(?:schema|id|defs)"/g)).toBeNull();
  });

  it('leaves answers open to new members, and keeps closed what requests keep closed', () => {
    const schemas = document.components['schemas'] as Readonly<Record<string, { additionalProperties?: unknown }>>;
    expect(schemas['ChatResult']).not.toHaveProperty('additionalProperties');
    expect(schemas['ProviderPreferences']).toHaveProperty('additionalProperties', false);
  });
});

describe('GET /openapi.json', () => {
  it('gives the document to everybody, like the list of models', async () => {
    const router = createRouter({ providers: [instant()], authenticate: () => undefined });
    const answer = await send(router, { method: 'GET', path: '/openapi.json', remoteAddress: '203.0.113.9' });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.json).toEqual(JSON.parse(JSON.stringify(document)));
  });

  it('spells the metadata as the answers of this router do', async () => {
    const router = createRouter({ providers: [instant()], brand: 'openrouter' });
    const { text } = await send(router, { method: 'GET', path: '/openapi.json' });
    expect(text).toContain('"openrouter_metadata":');
    expect(text).not.toContain('"router_metadata":');
  });
});

describe('what a router answers', () => {
  const paths = {
    '/chat/completions': chatBody(),
    '/messages': { model: 'acme/one', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] },
    '/responses': { model: 'acme/one', input: 'Hello' },
  };
  const headers = { 'x-router-metadata': 'enabled' };

  // `send` holds every answer against the document; here each kind is sure to be among them.
  it.each(Object.entries(paths))('is what the document says: %s, whole, streamed and refused', async (path, body) => {
    const router = createRouter({ providers: [instant()], aliases: { 'acme/one': 'simulated/small' } });
    expect((await send(router, { path, body, headers })).text).toContain('"router_metadata":');
    expect((await send(router, { path, body: { ...body, stream: true }, headers })).text).toContain('data: ');
    expect((await send(router, { path, body: { ...body, provider: { only: ['nobody'] } }, headers })).status).toBe(404);
    expect((await send(router, { path, body: { ...body, model: 'acme/none' }, headers })).status).toBe(400);
    expect((await send(router, { path, body: { ...body, temperature: 9 } })).status).toBe(400);
    expect((await send(router, { path, method: 'GET' })).status).toBe(405);
    const locked = createRouter({ providers: [instant()], authenticate: () => undefined });
    expect((await send(locked, { path, body })).status).toBe(401);
  });

  it('is what the document says for tools, reasoning and likelihoods', async () => {
    const router = createRouter({ providers: [instant()] });
    const { data } = (await send(router, { method: 'GET', path: '/models' })).json as { data: { id: string }[] };
    const tool = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } };
    const asked = [{ tools: [tool], tool_choice: 'required' }, { reasoning: { effort: 'high' } }, { n: 2 }];
    for (const { id } of data.slice(0, 4)) {
      for (const fields of asked) {
        for (const stream of [true, false]) {
          const body = chatBody({ model: id, stream, ...fields });
          expect((await send(router, { body })).status).toBeLessThan(500);
        }
      }
    }
  });
});

describe('the check of answers', () => {
  const good: SeenAnswer = {
    method: 'GET',
    path: '/models/count',
    status: 200,
    contentType: 'application/json',
    text: '{"data":{"count":1}}',
  };

  it('finds nothing in a good one', () => {
    expect(openApiFault(good)).toBeUndefined();
  });

  it.each<[string, Partial<SeenAnswer>]>([
    ['must be integer', { text: '{"data":{"count":"1"}}' }],
    ['must have required property', { text: '{"data":{}}' }],
    ['must NOT have additional properties', { text: '{"data":{"count":1,"more":1}}' }],
    ['not JSON', { text: '{' }],
    ['the content type text/html is not documented', { contentType: 'text/html' }],
    ['the status is not documented', { status: 418 }],
    ['the path is not documented', { path: '/model' }],
    [
      'must have required property',
      {
        method: 'POST',
        path: '/chat/completions',
        contentType: 'text/event-stream; charset=utf-8',
        text: 'data: {"id":"gen-1"}\n\ndata: [DONE]\n\n',
      },
    ],
  ])('finds that it %s', (fault, changed) => {
    expect(openApiFault({ ...good, ...changed })).toContain(fault);
  });
});
