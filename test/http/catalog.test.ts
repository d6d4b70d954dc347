import { type ModelCard, type Plugin, type Router, createRouter } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { fedProvider } from '../support/fed-provider.ts';
import { type Answered, send } from '../support/http-call.ts';
import { standIn } from '../support/plugins.ts';

const first = fedProvider({
  slug: 'first',
  models: {
    'acme/one': {
      price: { prompt: 1, completion: 2, cacheRead: 0.1, image: 0.003 },
      contextLength: 100_000,
      maxOutputTokens: 4_000,
      parameters: ['temperature', 'tools'],
      inputModalities: ['text', 'image'],
      outputModalities: ['text'],
      zeroDataRetention: true,
    },
    'acme/two': { price: { prompt: 10, completion: 30 }, contextLength: 8_000, distillable: true },
    'zeta/free': { variant: 'free', price: { prompt: 0, completion: 0 } },
    'zeta/painter': { outputModalities: ['image'] },
  },
});
const second = fedProvider({
  slug: 'second',
  models: {
    'acme/one': { price: { prompt: 0.5, completion: 1 }, contextLength: 200_000, region: 'eu', quantization: 'fp8' },
  },
});
const router = createRouter({
  providers: [first, second],
  plugins: [],
  models: {
    'acme/one': { name: 'Acme One', description: 'The first.', created: 1_700_000_000, aliases: ['acme/uno'] },
    'acme/unserved': { name: 'Nobody serves it' },
  },
});

async function get(path: string, query = ''): Promise<Answered> {
  return send(router, { method: 'GET', path, query, remoteAddress: '8.8.8.8' });
}

async function idsOf(query: string): Promise<readonly string[]> {
  const { json } = await get('/models', query);
  return (json['data'] as readonly ModelCard[]).map(({ id }) => id);
}

const ALL = ['acme/one', 'acme/two', 'zeta/free:free'];

describe('GET /models', () => {
  it('lists every model that somebody serves and that writes text, with the price of its cheapest endpoint per token', async () => {
    const { status, headers, json } = await get('/models');
    expect(status).toBe(200);
    expect(headers).toMatchObject({ 'content-type': 'application/json' });
    expect(json).toMatchObject({ total_count: 3, links: { next: null } });
    const [one] = json['data'] as readonly ModelCard[];
    expect(one).toEqual({
      id: 'acme/one',
      canonical_slug: 'acme/one',
      name: 'Acme One',
      created: 1_700_000_000,
      description: 'The first.',
      context_length: 200_000,
      architecture: {
        input_modalities: ['text', 'image'],
        output_modalities: ['text'],
        modality: 'text+image->text',
        tokenizer: 'Other',
        instruct_type: null,
      },
      pricing: { prompt: '0.0000005', completion: '0.000001' },
      top_provider: { context_length: 100_000, max_completion_tokens: 4_000, is_moderated: false },
      per_request_limits: null,
      supported_parameters: expect.arrayContaining(['temperature', 'tools', 'seed']) as unknown,
      default_parameters: null,
      supported_voices: null,
      knowledge_cutoff: null,
      expiration_date: null,
      links: { details: '/models/acme/one/endpoints' },
    });
  });

  it.each([
    ['', ALL],
    ['q=ONE', ['acme/one']],
    ['q=acme', ['acme/one', 'acme/two']],
    ['model_authors=zeta', ['zeta/free:free']],
    ['model_authors=zeta,acme', ALL],
    ['providers=second', ['acme/one']],
    ['providers=first', ALL],
    ['context=100000', ['acme/one']],
    ['context=8000', ['acme/one', 'acme/two']],
    ['zdr=true', ['acme/one']],
    ['distillable=true', ['acme/two']],
    ['zdr=false', ALL],
    ['variant=free', ['zeta/free:free']],
    ['input_modalities=image', ALL],
    ['output_modalities=all', [...ALL, 'zeta/painter']],
    ['output_modalities=image', [...ALL, 'zeta/painter']],
    ['output_modalities=text,image', ALL],
    ['supported_parameters=tools,seed', ALL],
    ['q=acme&zdr=true', ['acme/one']],
    ['q=nothing', []],
    ['unknown=1&__proto__=2', ALL],
  ])('takes filters: %s', async (query, expected) => {
    expect(await idsOf(query)).toEqual(expected);
    const { json } = await get('/models/count', query);
    expect(json).toEqual({ data: { count: expected.length } });
  });

  it.each([
    ['sort=name', ['acme/one', 'acme/two', 'zeta/free:free']],
    ['sort=newest', ['acme/one', 'acme/two', 'zeta/free:free']],
    ['sort=context-high-to-low', ['acme/one', 'acme/two', 'zeta/free:free']],
    ['sort=pricing-low-to-high', ['zeta/free:free', 'acme/one', 'acme/two']],
    ['sort=pricing-high-to-low', ['acme/two', 'acme/one', 'zeta/free:free']],
  ])('takes orders: %s', async (query, expected) => {
    expect(await idsOf(query)).toEqual(expected);
  });

  it('comes in pages when it is asked to', async () => {
    const page = async (query: string): Promise<unknown> => {
      const { json } = await get('/models', query);
      const { next } = json['links'] as { next: string | null };
      return [(json['data'] as readonly ModelCard[]).map(({ id }) => id), json['total_count'], next];
    };
    expect(await page('limit=2')).toEqual([['acme/one', 'acme/two'], 3, '/models?limit=2&offset=2']);
    expect(await page('limit=2&offset=2')).toEqual([['zeta/free:free'], 3, null]);
    expect(await page('offset=1')).toEqual([['acme/two', 'zeta/free:free'], 3, null]);
    expect(await page('offset=9')).toEqual([[], 3, null]);
    expect(await page('q=acme&limit=1')).toEqual([['acme/one'], 2, '/models?q=acme&limit=1&offset=1']);
    expect(await page('limit=1000')).toEqual([ALL, 3, null]);
    expect(await page('limit=0')).toEqual([[], 3, null]);
  });

  it.each([
    [
      'sort=best',
      'The query parameter sort must be one of name, newest, context-high-to-low, pricing-low-to-high, pricing-high-to-low.',
    ],
    ['limit=1001', 'The query parameter limit must be a whole number up to 1000.'],
    ['limit=-1', 'The query parameter limit must be a whole number up to 1000.'],
    ['limit=1.5', 'The query parameter limit must be a whole number up to 1000.'],
    ['offset=x', 'The query parameter offset must be a whole number up to 9007199254740991.'],
    ['context=long', 'The query parameter context must be a number.'],
    ['min_price=', 'The query parameter min_price must be a number.'],
    ['max_price=Infinity', 'The query parameter max_price must be a number.'],
  ])('refuses a query that makes no sense: %s', async (query, message) => {
    const { status, error } = await get('/models', query);
    expect(status).toBe(400);
    expect(error).toEqual({ code: 400, message, metadata: { error_type: 'invalid_request' } });
  });
});

describe('what else reads the catalog', () => {
  it.each(['/model/acme/uno:nitro', '/models/acme/one:floor:online', '/model/acme/one'])(
    'shows a model under a name with variants of routing, or without: %s',
    async (path) => expect((await get(path)).json['data']).toMatchObject({ id: 'acme/one' }),
  );

  it('lists endpoints that keep nothing of a request', async () => {
    const models = { 'acme/one': { zeroDataRetention: true }, 'acme/two': {} };
    const own = createRouter({ providers: [fedProvider({ models })], plugins: [] });
    const { json } = await send(own, { method: 'GET', path: '/endpoints/zdr' });
    expect(json).toMatchObject({ data: [{ model_id: 'acme/one', provider_name: 'FED' }] });
  });
});

describe('router models', () => {
  const chooser: Plugin = { ...standIn('chooser'), models: ['router/chooser', 'router/other'] };
  const routing = createRouter({ providers: [first], plugins: [chooser] });
  const read = (path: string, query = ''): Promise<Answered> =>
    send(routing, { method: 'GET', path, query, remoteAddress: '8.8.8.8' });
  const idsFor = async (query: string): Promise<readonly string[]> =>
    ((await read('/models', query)).json['data'] as readonly ModelCard[]).map(({ id }) => id);

  it('are listed after the models for the plugins that are there, without a price of their own', async () => {
    expect(await idsFor('')).toEqual([...ALL, 'router/chooser', 'router/other']);
    const { json } = await read('/model/router/chooser');
    expect(json['data']).toMatchObject({
      id: 'router/chooser',
      context_length: null,
      pricing: { prompt: '-1', completion: '-1' },
      architecture: { input_modalities: ['text', 'image'], output_modalities: ['text'], modality: 'text+image->text' },
    });
    const { json: endpoints } = await read('/models/router/chooser/endpoints');
    expect(endpoints['data']).toMatchObject({ id: 'router/chooser', endpoints: [] });
    expect((await read('/model/router/unknown')).status).toBe(404);
  });

  it.each([
    ['model_authors=router', ['router/chooser', 'router/other']],
    ['q=chooser', ['router/chooser']],
    ['providers=first', ALL],
    ['context=1', ['acme/one', 'acme/two']],
    ['max_price=1000', ALL],
    ['output_modalities=image&q=router', []],
  ])('take filters: %s', async (query, expected) => {
    expect(await idsFor(query)).toEqual(expected);
  });
});

describe('prices that change with time', () => {
  const price = {
    prompt: 1,
    completion: 1,
    audioPrompt: 40,
    changes: [{ from: Date.UTC(2026, 0, 1) / 1_000, price: { prompt: 5, completion: 5 } }],
  };
  const at = (startAt: number): Router =>
    createRouter({
      plugins: [],
      providers: [fedProvider({ models: { 'acme/one': { price } } })],
      models: { 'acme/one': { knowledgeCutoff: '2025-06', expirationDate: '2027-01-31' } },
      environment: fakeEnvironment({ startAt }),
    });

  it('are listed, filtered and shown as they are now', async () => {
    const [before, after] = [at(Date.UTC(2025, 11, 31)), at(Date.UTC(2026, 0, 1))];
    const listed = async (own: Router, query = ''): Promise<unknown> =>
      (await send(own, { method: 'GET', path: '/models', query })).json['data'];
    expect(await listed(before)).toMatchObject([
      { pricing: { prompt: '0.000001', audio: '0.00004' }, knowledge_cutoff: '2025-06', expiration_date: '2027-01-31' },
    ]);
    expect(await listed(after)).toMatchObject([{ pricing: { prompt: '0.000005' } }]);
    expect(await listed(before, 'min_price=5')).toEqual([]);
    expect(await listed(after, 'min_price=5')).toHaveLength(1);
    const { json } = await send(after, { method: 'GET', path: '/models/acme/one/endpoints' });
    expect(json['data']).toMatchObject({ endpoints: [{ pricing: { prompt: '0.000005' } }] });
  });
});

describe('GET /models/{author}/{slug}', () => {
  it.each(['/models/acme/one', '/model/acme/one', '/models/acme%2Fone', '/model/acme/uno', '/models/ACME/One'])(
    'shows one model: %s',
    async (path) => {
      expect((await get(path)).json).toMatchObject({ data: { id: 'acme/one', name: 'Acme One' } });
    },
  );

  it('does not know what is not there', async () => {
    const { status, error } = await get('/models/acme/nope');
    expect(status).toBe(404);
    expect(error).toEqual({
      code: 404,
      message: 'There is no model "acme/nope" here; GET /models lists them',
      metadata: { error_type: 'not_found' },
    });
  });

  it('repeats little of a long name', async () => {
    const { error } = await get(`/models/acme/${'x'.repeat(10_000)}`);
    expect(error.message.length).toBeLessThan(160);
  });
});

describe('GET /models/{author}/{slug}/endpoints', () => {
  it('lists who serves a model, and how they do', async () => {
    const { json } = await get('/models/acme/one/endpoints');
    expect(json).toMatchObject({
      data: {
        id: 'acme/one',
        name: 'Acme One',
        endpoints: [
          {
            name: 'FIRST | acme/one',
            model_id: 'acme/one',
            model_name: 'Acme One',
            provider_name: 'FIRST',
            tag: 'first',
            quantization: null,
            context_length: 100_000,
            max_completion_tokens: 4_000,
            max_prompt_tokens: null,
            pricing: { prompt: '0.000001', completion: '0.000002', input_cache_read: '0.0000001', image: '0.003' },
            supported_parameters: ['temperature', 'tools'],
            supports_implicit_caching: false,
            status: 0,
            uptime_last_5m: null,
            uptime_last_30m: null,
            uptime_last_1d: null,
            latency_last_30m: null,
            throughput_last_30m: null,
          },
          { tag: 'second/eu', quantization: 'fp8', pricing: { prompt: '0.0000005' } },
        ],
      },
    });
  });

  it('is empty for a model that nobody serves, and a 404 for one that nobody knows', async () => {
    expect((await get('/models/acme/unserved/endpoints')).json).toMatchObject({ data: { endpoints: [] } });
    expect((await get('/models/acme/nope/endpoints')).status).toBe(404);
  });
});

describe('GET /providers', () => {
  it('lists who serves models', async () => {
    expect((await get('/providers')).json).toEqual({
      data: [
        ['FIRST', 'first'],
        ['SECOND', 'second'],
      ].map(([name, slug]) => ({
        name,
        slug,
        privacy_policy_url: null,
        terms_of_service_url: null,
        status_page_url: null,
        headquarters: null,
        datacenters: null,
      })),
    });
  });
});
