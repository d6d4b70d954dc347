import { anthropic, createRouter, google, webSearchTool } from 'signalbox';
import { describe, expect, it } from 'vitest';
import type { SearchEngine } from '../../../../src/contracts/plugin-services.ts';

const engine: SearchEngine = { id: 'mine', search: () => Promise.resolve({ results: [], cost: 0 }) };
const models = { 'maker/one': {} } as const;
const WEATHER = { type: 'function', function: { name: 'weather' } } as const;

/** Names of the functions that the model would see. */
async function offered(
  provider: 'anthropic' | 'google',
  parameters: object,
  tools: readonly object[] = [],
): Promise<unknown> {
  const chosen = provider === 'google' ? google({ apiKey: 'k', models }) : anthropic({ apiKey: 'k', models });
  const router = createRouter({
    providers: [chosen],
    plugins: [],
    serverTools: [webSearchTool({ engines: [engine] })],
  });
  const explained = await router.explain({
    model: 'maker/one',
    messages: [{ role: 'user', content: 'Hi' }],
    tools: [{ type: 'router:web_search', parameters: { ...parameters } }, ...(tools as (typeof WEATHER)[])],
  });
  await router.close();
  return explained.serverTools.map(({ name }) => name);
}

describe('who searches', () => {
  it.each([
    ['anthropic', {}, []],
    ['anthropic', { allowed_domains: ['a.example'] }, []],
    ['anthropic', { excluded_domains: ['a.example/x'] }, []],
    ['anthropic', { allowed_domains: ['*.a.example'] }, ['web_search']],
    ['anthropic', { allowed_domains: ['a.example'], excluded_domains: ['b.example'] }, ['web_search']],
    ['anthropic', { engine: 'mine' }, ['web_search']],
    ['google', {}, []],
    ['google', { engine: 'native' }, []],
    ['google', { allowed_domains: ['a.example'] }, ['web_search']],
  ] as const)('for %s with %j the model is offered %j', async (provider, parameters, names) => {
    expect(await offered(provider, parameters)).toEqual(names);
  });

  it('is we, where the search of a provider cannot stand beside functions', async () => {
    expect(await offered('google', {}, [WEATHER])).toEqual(['web_search']);
    expect(await offered('anthropic', {}, [WEATHER])).toEqual([]);
  });
});
