import { createRouter, failure } from 'signalbox';
import type { Brand } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { GOOD_END, fedProvider } from '../support/fed-provider.ts';
import { chatBody, send } from '../support/http-call.ts';

function routerOf(brand?: Brand): ReturnType<typeof createRouter> {
  const provider = fedProvider({
    script: (fed) => {
      if (fed.call.request.extra['fail'] === true) fed.fail(failure('unreachable', 'Nobody is there'));
      else if (!fed.call.request.stream) fed.answer('Hi');
      else fed.push('Hi', ...GOOD_END);
    },
  });
  return createRouter({ providers: [provider], brand });
}

/** Names of metadata in an answer to a request with these headers. */
async function namesIn(
  headers: Record<string, string>,
  fields: object = {},
  brand?: Brand,
): Promise<readonly string[]> {
  const { text } = await send(routerOf(brand), { headers, body: chatBody({ ...fields }) });
  return ['"router_metadata"', '"openrouter_metadata"'].filter((name) => text.includes(name));
}

const NEUTRAL = ['"router_metadata"'];
const BRANDED = ['"openrouter_metadata"'];

describe.each([
  ['a whole answer', {}],
  ['a stream', { stream: true }],
  ['an error', { fail: true }],
])('metadata in %s', (_name, fields) => {
  it.each([
    [{ 'X-Router-Metadata': 'enabled' }, NEUTRAL],
    [{ 'x-router-metadata': 'ENABLED' }, NEUTRAL],
    [{ 'x-router-metadata': ' Enabled ' }, NEUTRAL],
    [{ 'X-Router-Experimental-Metadata': 'enabled' }, NEUTRAL],
    [{ 'X-OpenRouter-Metadata': 'enabled' }, BRANDED],
    [{ 'x-openrouter-experimental-metadata': 'enabled' }, BRANDED],
  ])('is asked for by %j, and answered in the same spelling', async (headers, expected) => {
    expect(await namesIn(headers as Record<string, string>, fields)).toEqual(expected);
  });

  it.each([
    {},
    { 'x-router-metadata': 'disabled' },
    { 'x-router-metadata': 'true' },
    { 'x-router-metadata': '1' },
    { 'x-router-metadata': '' },
    { 'x-openrouter-metadata': 'yes' },
  ])('is not asked for by %j', async (headers) => {
    expect(await namesIn(headers as Record<string, string>, fields)).toEqual([]);
  });

  it('has the spelling of the configuration, whichever way it is asked for', async () => {
    expect(await namesIn({ 'x-router-metadata': 'enabled' }, fields, 'openrouter')).toEqual(BRANDED);
    expect(await namesIn({ 'x-openrouter-metadata': 'enabled' }, fields, 'openrouter')).toEqual(BRANDED);
    expect(await namesIn({ 'x-router-metadata': 'enabled' }, fields, 'router')).toEqual(NEUTRAL);
  });
});

describe('names on input', () => {
  it('are understood in both spellings, whatever the brand of the answers', async () => {
    for (const brand of ['router', 'openrouter'] as const) {
      for (const prefix of ['router', 'openrouter']) {
        const tools = [{ type: `${prefix}:datetime` }];
        const { status } = await send(routerOf(brand), { body: chatBody({ tools }) });
        expect(status).toBe(200);
      }
    }
  });

  it('of the session header take effect in any case', async () => {
    const provider = fedProvider({ script: (fed) => fed.answer('Hi') });
    const router = createRouter({ providers: [provider] });
    await send(router, { headers: { 'X-Session-Id': ' s1 ' }, body: chatBody() });
    await send(router, { headers: { 'x-session-id': 's1' }, body: chatBody({ session_id: 's2' }) });
    expect(provider.calls.map(({ call }) => call.request.session.id)).toEqual(['s1', 's2']);
  });
});
