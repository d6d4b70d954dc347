import { readFileSync, readdirSync } from 'node:fs';
import { type HttpCall, createRouter, handle } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { PROXY_HEADERS } from '../../src/http/local-caller.ts';
import { openApiDocument } from '../../src/http/openapi/text.ts';
import { chatBody, httpCall, read as readReply, send } from '../support/http-call.ts';
import { neutralHeader, openApiFault } from '../support/openapi.ts';
import { instant } from '../support/simulated.ts';

const document = openApiDocument();

interface Documented {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
}

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path: path.replace(/\{\w+\}/g, 'x'),
    parameters: (operation as Documented).parameters ?? [],
  })),
);

/** Bodies with which operations come as far as they can. */
const BODIES: Readonly<Record<string, object>> = {
  '/chat/completions': chatBody({ model: 'simulated/small' }),
  '/messages': { model: 'simulated/small', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] },
  '/responses': { model: 'simulated/small', input: 'Hello' },
  '/embeddings': { model: 'simulated/embeddings', input: 'Hello' },
  '/batches': {
    endpoint: '/v1/chat/completions',
    model: 'simulated/small',
    requests: [{ custom_id: 'a', body: { messages: [{ role: 'user', content: 'Hello' }] } }],
  },
};

/** Headers that any HTTP server reads, those of browsers, and those that the security schemes name. */
const OF_HTTP =
  /^(?:host|connection|content-(?:type|length|encoding)|origin|sec-fetch-site|authorization|x-api-key|access-control-.*)$/;

/** Names of the headers that the router looks for in one call. */
async function headersRead(method: string, path: string): Promise<ReadonlySet<string>> {
  const router = createRouter({
    providers: [instant()],
    streams: {},
    on: { request: () => undefined, warning: () => undefined },
  });
  const names = new Set<string>();
  const call = httpCall({ method, path, body: BODIES[path], headers: { 'content-type': 'application/json' } });
  const watched: HttpCall = {
    ...call,
    header(name) {
      names.add(name);
      // What is only read beside another header is read too.
      return name === 'x-router-cache' ? 'true' : call.header(name);
    },
  };
  const reply = await handle(router, watched);
  if (reply !== undefined) await readReply(reply);
  await router.close();
  return names;
}

function ours(names: Iterable<string>): readonly string[] {
  return [
    ...new Set([...names].filter((name) => !OF_HTTP.test(name) && !PROXY_HEADERS.includes(name)).map(neutralHeader)),
  ].sort();
}

const documentedHeaders = new Set(
  [...JSON.stringify(document).matchAll(/"name":"([\w-]+)","in":"header"/g)].map(([, name = '']) =>
    neutralHeader(name),
  ),
);

describe('request headers in the OpenAPI document', () => {
  it.each(operations)('are those that the router reads: $name', async ({ method, path, parameters }) => {
    const isAsking = method === 'POST' && BODIES[path] !== undefined && path !== '/batches';
    const found = ours(await headersRead(method, path));
    // Every call may ask for metadata, but only those of models have any.
    const meant = isAsking ? found : found.filter((name) => name !== 'x-router-metadata');
    const documented = parameters.filter((one) => one.in === 'header').map(({ name }) => name);
    expect(ours(documented)).toEqual(meant);
  });

  it('leave out none that the source of the HTTP layer names', () => {
    const source = readdirSync('src/http')
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(`src/http/${name}`, 'utf8'))
      .join('\n');
    const read = [...source.matchAll(/header\('([\w-]+)'\)/g)].map(([, name = '']) => name);
    const listed = [...source.matchAll(/\['(x-(?:open)?router-[\w-]+)', '\w+'\]/g)].map(([, name = '']) => name);
    expect([read.length > 16, listed.length]).toEqual([true, 4]);
    expect(ours([...read, ...listed]).filter((name) => !documentedHeaders.has(name))).toEqual([]);
  });

  it('may all be sent by pages', async () => {
    const router = createRouter({ providers: [instant()], cors: { origins: '*' } });
    const headers = { origin: 'https://a.example', 'access-control-request-method': 'POST' };
    const { headers: allowed } = await send(router, { method: 'OPTIONS', headers });
    const names = new Set((allowed['access-control-allow-headers'] ?? '').split(', ').map(neutralHeader));
    expect([...documentedHeaders].filter((name) => !names.has(name))).toEqual([]);
  });
});

describe('answer headers in the OpenAPI document', () => {
  const documented = new Set(
    [...JSON.stringify(document).matchAll(/"([\w-]+)":\{"\$ref":"#\/components\/headers\//g)].map(([, name = '']) =>
      neutralHeader(name),
    ),
  );

  it('are all those that the source of the HTTP layer and of its limits names', () => {
    const files = [...readdirSync('src/http').map((name) => `src/http/${name}`), 'src/core/limits/limit-errors.ts'];
    const source = files.filter((name) => name.endsWith('.ts')).map((name) => readFileSync(name, 'utf8'));
    const written = [...source.join('\n').matchAll(/'((?:x-|X-|retry-|allow)[\w-]*)':/g)].map(([, name = '']) => name);
    const branded = [...source.join('\n').matchAll(/\$\{own\}-([\w-]+)`\]/g)].map(
      ([, name = '']) => `x-router-${name}`,
    );
    expect([written.length > 6, branded.length]).toEqual([true, 4]);
    const strange = [...written, ...branded].map(neutralHeader).filter((name) => !documented.has(name));
    expect(strange.filter((name) => name !== 'x-accel-buffering')).toEqual([]);
  });

  it('are those that pages may read', async () => {
    const router = createRouter({ providers: [instant()], cors: { origins: '*' } });
    const { headers } = await send(router, { method: 'GET', path: '/models' });
    const exposed = (headers['access-control-expose-headers'] ?? '').split(', ').map(neutralHeader);
    expect(new Set(exposed)).toEqual(new Set([...documented].filter((name) => name !== 'allow')));
  });

  it('are held against every answer that the tests see', () => {
    const good = { method: 'GET', path: '/models/count', status: 200, contentType: 'application/json' };
    const seen = { ...good, text: '{"data":{"count":1}}' };
    expect(openApiFault({ ...seen, headers: ['content-type', 'x-request-id'] })).toBeUndefined();
    expect(openApiFault({ ...seen, headers: ['x-ratelimit-limit'] })).toContain('x-ratelimit-limit is not documented');
  });
});
