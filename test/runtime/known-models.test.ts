import { writeFileSync } from 'node:fs';
import {
  ConfigError,
  type Router,
  type RouterConfig,
  type WarningEvent,
  createRouter,
  groq,
  openai,
  openaiCompatible,
} from 'signalbox';
import { genaiPrices } from 'signalbox/catalog';
import { fakeEnvironment } from 'signalbox/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { VENDOR_PRESETS } from '../../src/providers/openai-compatible/presets.ts';
import { fedProvider } from '../support/fed-provider.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';

/** A lock with one model of Groq and one of OpenAI, from two sources. */
const LOCK = {
  version: 1,
  origins: [
    { source: 'models.dev', date: '2025-12-20', licence: 'MIT' },
    { source: 'another', date: '2025-10-01', licence: 'CC0-1.0' },
  ],
  vendors: {
    groq: {
      'north-70b': {
        info: { name: 'North 70B' },
        endpoint: { price: { prompt: 0.5, completion: 1 }, abilities: { tools: true }, contextLength: 8_000 },
        from: { name: 0, price: 1, abilities: 0, contextLength: 0 },
      },
    },
    openai: { 'gpt-test': { endpoint: { price: { prompt: 1, completion: 4 } }, from: { price: 0 } } },
  },
};

const HELLO = { messages: [{ role: 'user', content: 'Hello' }] } as const;

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  process.chdir(home);
  for (const folder of folders.splice(0)) folder[Symbol.dispose]();
});

const home = process.cwd();
const folders: TemporaryFolder[] = [];

/** Makes a folder with this lock file the working directory, until the test is over. */
function workInFolderWith(lock: unknown): void {
  const folder = temporaryFolder();
  folders.push(folder);
  if (lock !== undefined) writeFileSync(folder.file('signalbox.catalog.json'), JSON.stringify(lock));
  process.chdir(folder.path);
}

function routerWith(config: RouterConfig): Router & { readonly warnings: readonly WarningEvent[] } {
  const warnings: WarningEvent[] = [];
  const on = { warning: (event: WarningEvent) => void warnings.push(event) };
  const router = createRouter({ environment: fakeEnvironment(), on, ...config });
  return Object.assign(router, { warnings });
}

function modelsOf({ internals }: Router): readonly string[] {
  return [...internals.services.facts.catalog.models.keys()];
}

describe('with a key in the environment and a lock file in the working directory', () => {
  it('the known models of that vendor work at once, with prices', async () => {
    workInFolderWith(LOCK);
    for (const { apiKeyVariables } of Object.values(VENDOR_PRESETS)) {
      for (const name of apiKeyVariables) vi.stubEnv(name, '');
    }
    vi.stubEnv('GROQ_API_KEY', 'gsk-test');
    const router = routerWith({});
    expect(modelsOf(router)).toEqual(['groq/north-70b']);
    const { steps } = await router.explain({ ...HELLO, model: 'groq/north-70b' });
    expect(steps[0]?.estimatedCostUsd).toBeGreaterThan(0);
    expect(steps[0]?.priceOrigin).toEqual({ source: 'another', date: '2025-10-01', licence: 'CC0-1.0' });
  });

  it('other models of that vendor still work, without a price', async () => {
    workInFolderWith(LOCK);
    const router = routerWith({ providers: [groq({ apiKey: 'gsk-test' })] });
    const { steps } = await router.explain({ ...HELLO, model: 'groq/somebody/new' });
    expect(steps).toHaveLength(1);
    expect(steps[0]).toMatchObject({ estimatedCostUsd: undefined, priceOrigin: undefined });
  });

  it('a file that cannot be used is a mistake at the start', () => {
    workInFolderWith({ version: 7 });
    expect(() => routerWith({ providers: [groq({ apiKey: 'gsk-test' })] })).toThrow(ConfigError);
    expect(() => routerWith({ providers: [groq({ apiKey: 'gsk-test' })], catalog: [] })).not.toThrow();
  });

  it('without the file nothing is known, and any model is taken', () => {
    workInFolderWith(undefined);
    const router = routerWith({ providers: [groq({ apiKey: 'gsk-test' })] });
    expect(modelsOf(router)).toEqual([]);
    expect(router.internals.services.facts.catalog.find('groq/anything')).toBe('groq/anything');
  });
});

describe('the catalog option', () => {
  it('takes the parsed JSON of a lock file, and declared models are completed from it', async () => {
    const router = routerWith({
      providers: [openai({ apiKey: 'sk-test', models: { 'openai/gpt-test': {}, 'openai/other': {} } })],
      catalog: LOCK,
    });
    expect(modelsOf(router)).toEqual(['openai/gpt-test', 'openai/other']);
    const { steps } = await router.explain({ ...HELLO, model: 'openai/gpt-test', max_tokens: 1_000 });
    expect(steps[0]?.estimatedCostUsd).toBeCloseTo(0.004, 5);
  });

  it('takes what genai-prices knows', async () => {
    const router = routerWith({ providers: [openai({ apiKey: 'sk-test' })], catalog: await genaiPrices() });
    const { steps } = await router.explain({ ...HELLO, model: 'openai/gpt-5.4' });
    expect(steps[0]?.estimatedCostUsd).toBeGreaterThan(0);
    expect(steps[0]?.priceOrigin?.source).toBe('@pydantic/genai-prices');
  });

  it('takes several, the first of which wins', async () => {
    const first = {
      version: 1,
      origins: [{ source: 'ours', date: '2025-12-31', licence: 'none' }],
      vendors: { groq: { 'north-70b': { endpoint: { price: { prompt: 0, completion: 0 } }, from: { price: 0 } } } },
    };
    const router = routerWith({ providers: [groq({ apiKey: 'gsk-test' })], catalog: [first, LOCK] });
    const [endpoint] = router.internals.services.facts.catalog.endpoints('groq/north-70b');
    expect(endpoint).toMatchObject({ price: { prompt: 0 }, contextLength: 8_000 });
  });

  it('tells where it is wrong', () => {
    const wrong = { ...LOCK, vendors: { groq: { 'north-70b': { endpoint: { price: { prompt: 1 } }, from: {} } } } };
    const make = (): unknown => routerWith({ providers: [groq({ apiKey: 'gsk-test' })], catalog: [LOCK, wrong] });
    expect(make).toThrow(ConfigError);
    expect(make).toThrow('catalog[1].vendors.groq.north-70b.endpoint.price.completion');
  });

  it('serves a vendor by the slug of its provider, whoever made it', () => {
    const own = openaiCompatible({ slug: 'groq', baseURL: 'http://127.0.0.1:9/v1' });
    expect(modelsOf(routerWith({ providers: [own], catalog: LOCK }))).toEqual(['groq/north-70b']);
  });
});

describe('facts of an old source', () => {
  const providers = [groq({ apiKey: 'gsk-test' })];

  it('are warned of, by source and with what would help', () => {
    expect(routerWith({ providers, catalog: LOCK }).warnings).toEqual([
      {
        code: 'catalog_stale',
        message:
          'Prices and limits from another (2025-10-01, 92 days old) may have changed; run "npx signalbox catalog refresh"',
      },
    ]);
  });

  it('are not warned of where none of its vendors is asked', () => {
    const local = openaiCompatible({ slug: 'local', baseURL: 'http://127.0.0.1:9/v1' });
    expect(routerWith({ providers: [local], catalog: LOCK }).warnings).toEqual([]);
    expect(routerWith({ providers: [openai({ apiKey: 'sk-test' })], catalog: LOCK }).warnings).toEqual([]);
  });

  it('are written to the console when nobody listens', () => {
    const written = vi.spyOn(console, 'warn').mockImplementation(() => {});
    createRouter({ providers, catalog: LOCK, environment: fakeEnvironment() });
    expect(written).toHaveBeenCalledOnce();
  });
});

describe('a bill', () => {
  it('is made from what was in force when the request came, and lists its parts', async () => {
    const noon = Date.UTC(2026, 0, 1, 12);
    const price = {
      prompt: 1,
      completion: 1,
      changes: [{ hours: { from: 720, to: 780 }, price: { prompt: 3, completion: 5 } }],
    };
    const usage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
    const provider = fedProvider({ models: { 'acme/one': { price } }, script: (call) => call.answer('Hi', { usage }) });
    const costs: unknown[] = [];
    for (const startAt of [noon - 1_000, noon]) {
      const router = createRouter({
        providers: [provider],
        environment: fakeEnvironment({ startAt }),
        on: { result: ({ costParts }) => costs.push(costParts?.map(({ item, nanoUsd }) => [item, nanoUsd])) },
      });
      await router.chat({ ...HELLO, model: 'acme/one' });
    }
    expect(costs).toEqual([
      [
        ['prompt', 1_000_000],
        ['completion', 100_000],
      ],
      [
        ['prompt', 3_000_000],
        ['completion', 500_000],
      ],
    ]);
  });
});
