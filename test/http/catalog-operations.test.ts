import { createRouter, handle } from 'signalbox';
import { afterAll, describe, expect, it } from 'vitest';
import { fedProvider } from '../support/fed-provider.ts';
import { type Answered, httpCall, read, send } from '../support/http-call.ts';

const models = {
  'acme/one': { price: { prompt: 1, completion: 2 }, zeroDataRetention: true },
  'acme/hidden': { price: { prompt: 1, completion: 2 } },
};
const router = createRouter({
  providers: [fedProvider({ slug: 'acme', models })],
  plugins: [],
  models: { 'acme/one': { name: 'Acme One', aliases: ['acme/uno'] } },
  authenticate: ({ key }) =>
    key === 'limited' ? { id: 'limited', policy: { excludedModels: ['acme/hidden'] } } : undefined,
});
afterAll(() => router.close());

async function get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answered> {
  return send(router, { method: 'GET', path, headers, remoteAddress: '8.8.8.8' });
}

/** The same for a client of Anthropic, whose forms the document of this API does not describe. */
async function getAsAnthropic(path: string): Promise<Answered> {
  const reply = await handle(router, httpCall({ method: 'GET', path, headers: { 'anthropic-version': '2023-06-01' } }));
  if (reply === undefined) throw new Error(`${path} is not for the router`);
  return read(reply);
}

describe('the catalog', () => {
  it('is public: without a key, and with one that is unknown', async () => {
    for (const headers of [{}, { authorization: 'Bearer unknown' }]) {
      const { status, json } = await get('/models', headers);
      expect(status).toBe(200);
      expect(json['total_count']).toBe(2);
    }
  });

  it('shows an account what it may use', async () => {
    const headers = { authorization: 'Bearer limited' };
    expect((await get('/models', headers)).json['total_count']).toBe(1);
    expect((await get('/models/count', headers)).json).toEqual({ data: { count: 1 } });
    expect((await get('/models/acme/hidden', headers)).status).toBe(404);
    expect((await get('/models/acme/hidden')).status).toBe(200);
  });

  it.each(['acme/one', 'acme/uno', 'acme/one:nitro'])('finds a model as %s', async (slug) => {
    const { status, json } = await get(`/models/${slug}`);
    expect([status, json['data']]).toMatchObject([200, { id: 'acme/one' }]);
  });

  it('answers 404 with the model’s name, and says where models are listed', async () => {
    const { status, json } = await get('/models/acme/nothing');
    expect(status).toBe(404);
    expect(JSON.stringify(json)).toContain('There is no model \\"acme/nothing\\" here; GET /models lists them');
  });

  it('lists models in the form of Anthropic for its clients', async () => {
    const { json } = await getAsAnthropic('/models');
    expect(json).toMatchObject({ has_more: false, data: [{ type: 'model' }, { type: 'model' }] });
    const missing = await getAsAnthropic('/models/acme/nothing');
    expect(missing.json).toMatchObject({ type: 'error', error: { type: 'not_found_error' } });
  });

  it('lists endpoints that keep nothing, and providers', async () => {
    expect((await get('/endpoints/zdr')).json['data']).toMatchObject([{ provider_name: expect.any(String) }]);
    expect((await get('/providers')).json['data']).toMatchObject([{ slug: 'acme' }]);
  });
});
