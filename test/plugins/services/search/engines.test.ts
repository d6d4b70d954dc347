import { ConfigError, RouterError, type SearchEngine, type SearchQuery, brave, exa, searxng, tavily } from 'signalbox';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseDomainFilter } from '../../../../src/plugins/services/domain-filter.ts';
import { searchEnginesFromEnvironment } from '../../../../src/plugins/services/search/choose-search.ts';
import { type SearchServer, startSearchServer } from '../../../support/search-server.ts';

let server: SearchServer;

beforeEach(async () => {
  server = await startSearchServer();
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await server[Symbol.asyncDispose]();
});

function domains(allowed: readonly string[], blocked: readonly string[] = []): SearchQuery['domains'] {
  const checked = parseDomainFilter({ name: 'a', rules: allowed }, { name: 'b', rules: blocked });
  if (!checked.ok) throw new Error(checked.problem);
  return checked.filter;
}

function asked(more: Partial<SearchQuery> = {}): SearchQuery {
  return {
    query: 'comet over Vienna',
    maxResults: 5,
    domains: domains([]),
    signal: AbortSignal.timeout(5_000),
    ...more,
  };
}

/** Address and body of the one request that the server got. */
async function sent(engine: SearchEngine, query: SearchQuery): Promise<{ query: URLSearchParams; body: object }> {
  server.requests.length = 0;
  await engine.search(query);
  expect(server.requests).toHaveLength(1);
  const [request] = server.requests;
  return { query: new URL(request?.path ?? '', 'http://host').searchParams, body: request?.body ?? {} };
}

describe.each(['exa', 'tavily', 'brave', 'searxng'] as const)('the engine %s', (id) => {
  it('gives pages with their titles and excerpts', async () => {
    server.pages = [
      { url: 'https://a.example/', title: 'A', text: 'One | Two' },
      { url: 'https://b.example/', text: 'Three' },
    ];
    const { results } = await server.engines[id].search(asked());
    const joined = id === 'exa' || id === 'brave' ? 'One\n[...]\nTwo' : 'One | Two';
    expect(results).toMatchObject([
      { url: 'https://a.example/', title: 'A', content: joined },
      { url: 'https://b.example/', content: 'Three' },
    ]);
  });

  it.each([
    ['a key that is refused', 401, 502, 'does not accept the key that is configured here (401)'],
    ['too many requests', 429, 503, 'is called too often (429)'],
    ['a server error', 500, 502, 'answered 500'],
    ['a redirect', 302, 502, 'answered 302'],
  ])('says what is wrong after %s, and no word of the service', async (_what, answered, status, message) => {
    server.fault = (_request, response) => {
      response.writeHead(answered, { location: 'https://elsewhere.example/' });
      response.end(JSON.stringify({ error: 'Invalid key search-key-1' }));
    };
    const error = await server.engines[id].search(asked()).catch((thrown: unknown) => thrown);
    expect(RouterError.isInstance(error) && [error.status, error.message]).toEqual([
      status,
      `The search engine ${id} ${message}`,
    ]);
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ['something that is not JSON', '<html>'],
    ['a list', '[]'],
    ['nothing', ''],
  ])('does not take %s for an answer', async (_what, body) => {
    server.fault = (_request, response) => response.end(body);
    await expect(server.engines[id].search(asked())).rejects.toThrow(`${id} answered with something that is not JSON`);
  });

  it('survives an answer that is shaped otherwise', async () => {
    for (const results of [
      'text',
      null,
      [1, null, {}, { url: 5 }, { url: '', title: 3 }, { url: 'x', highlights: {} }],
    ]) {
      server.fault = (_request, response) => response.end(JSON.stringify({ results, web: { results } }));
      const found = await server.engines[id].search(asked());
      expect(found.results.map(({ url, content }) => [url, content])).toEqual(
        Array.isArray(results) ? [['x', '']] : [],
      );
    }
  });

  it('gives up in time, and when the caller leaves', async () => {
    await using impatient = await startSearchServer(100);
    for (const one of [server, impatient]) one.fault = () => {};
    await expect(impatient.engines[id].search(asked())).rejects.toThrow(
      `The search engine ${id} did not answer in time`,
    );
    const controller = new AbortController();
    const search = server.engines[id].search(asked({ signal: controller.signal }));
    controller.abort(new Error('gone'));
    await expect(search).rejects.toThrow('gone');
  });

  it('cannot be reached after its server is gone', async () => {
    await server[Symbol.asyncDispose]();
    await expect(server.engines[id].search(asked())).rejects.toThrow(`The search engine ${id} could not be reached`);
  });
});

describe('Exa', () => {
  it('is asked for excerpts, with filters in its own words', async () => {
    const filter = domains(['example.com/blog', '*.example.org'], ['bad.example']);
    const { body } = await sent(
      server.engines.exa,
      asked({ domains: filter, mode: 'fast', location: { country: 'at' } }),
    );
    expect(body).toEqual({
      query: 'comet over Vienna',
      type: 'fast',
      numResults: 5,
      contents: { highlights: true },
      includeDomains: ['example.com/blog', '*.example.org'],
      excludeDomains: ['bad.example'],
      userLocation: 'AT',
    });
  });

  it('gets the length of excerpts from the context size, or from the number of characters', async () => {
    const sized = await sent(server.engines.exa, asked({ contextSize: 'medium' }));
    expect(sized.body).toMatchObject({ contents: { highlights: { maxCharacters: 15_000 } } });
    const counted = await sent(server.engines.exa, asked({ contextSize: 'medium', maxCharacters: 200 }));
    expect(counted.body).toMatchObject({ contents: { highlights: { maxCharacters: 200 } } });
  });

  it('takes its usual mode for one that it does not know', async () => {
    expect((await sent(server.engines.exa, asked({ mode: 'advanced' }))).body).toMatchObject({ type: 'auto' });
  });

  it('costs what it reports, else what it lists for the mode and the results, unless the program knows better', async () => {
    expect((await server.engines.exa.search(asked({ mode: 'deep' }))).cost).toBe(0.007);
    const results = Array.from({ length: 12 }, (_, index) => ({ url: `https://a.example/${index}` }));
    server.fault = (_request, response) => response.end(JSON.stringify({ results }));
    const cost = async (mode: SearchQuery['mode']): Promise<number> =>
      (await server.engines.exa.search(asked({ mode }))).cost;
    expect(await cost(undefined)).toBeCloseTo(0.009, 9);
    expect(await cost('deep-lite')).toBeCloseTo(0.014, 9);
    expect(await cost('deep-reasoning')).toBeCloseTo(0.017, 9);
  });
});

describe('Tavily', () => {
  it('is asked in its own words', async () => {
    const filter = domains(['example.com'], ['*.bad.example']);
    const query = asked({
      domains: filter,
      mode: 'deep',
      maxResults: 25,
      contextSize: 'high',
      query: 'word '.repeat(200).trim(),
    });
    const { body } = await sent(server.engines.tavily, query);
    expect(body).toEqual({
      query: 'word '.repeat(80).trim(),
      search_depth: 'advanced',
      max_results: 20,
      chunks_per_source: 3,
      include_domains: ['example.com'],
      exclude_domains: ['*.bad.example'],
    });
  });

  it('costs by depth', async () => {
    expect((await server.engines.tavily.search(asked())).cost).toBe(0.008);
    expect((await server.engines.tavily.search(asked({ mode: 'advanced' }))).cost).toBe(0.016);
  });
});

describe('Brave', () => {
  it('is asked with goggles for whole hosts, and within its limits', async () => {
    const { query } = await sent(
      server.engines.brave,
      asked({
        domains: domains(['example.com/blog', '*.example.org'], ['bad.example', 'half.example/x']),
        query: 'a '.repeat(80),
      }),
    );
    expect(query.get('q')).toBe('a '.repeat(50).trim());
    expect(query.get('goggles')).toBe('$discard\n$site=example.com\n$site=example.org\n$discard,site=bad.example');
    expect(query.get('count')).toBe('20');
  });

  it('is asked for no more than is wanted when nothing will be taken away', async () => {
    const { query } = await sent(server.engines.brave, asked({ location: { country: 'de', city: 'Ulm' } }));
    expect(Object.fromEntries(query)).toEqual({
      q: 'comet over Vienna',
      count: '5',
      result_filter: 'web',
      text_decorations: 'false',
      country: 'DE',
    });
  });

  it('checks results only, where a filter is longer or stranger than goggles can be', async () => {
    const many = Array.from({ length: 40 }, (_, index) => `site-${index}.example`);
    for (const filter of [domains(many), domains(['news.*.example'])]) {
      expect((await sent(server.engines.brave, asked({ domains: filter }))).query.has('goggles')).toBe(false);
    }
  });
});

describe('SearXNG', () => {
  it('is asked for JSON, with words for sites, and costs nothing', async () => {
    const filter = domains(['example.com', '*.example.org'], ['bad.example']);
    const { query } = await sent(server.engines.searxng, asked({ domains: filter }));
    expect(Object.fromEntries(query)).toEqual({
      q: 'comet over Vienna (site:example.com OR site:example.org) -site:bad.example',
      format: 'json',
    });
    expect((await server.engines.searxng.search(asked())).cost).toBe(0);
  });
});

describe('engines', () => {
  it('cost what the program says', async () => {
    const engine = brave({ baseURL: 'http://127.0.0.1:1', apiKey: 'k', pricePerSearch: 1, timeoutMs: 100 });
    await expect(engine.search(asked())).rejects.toThrow('could not be reached');
    const priced = searxng({ baseURL: server.baseURL, pricePerSearch: 0.5 });
    expect((await priced.search(asked())).cost).toBe(0.5);
    await priced.close?.();
  });

  it('refuse options that cannot be right', () => {
    const problems = (run: () => unknown): readonly string[] => {
      try {
        run();
        return [];
      } catch (error) {
        return ConfigError.isInstance(error) ? error.problems.map(({ path }) => path) : [String(error)];
      }
    };
    expect(problems(() => exa({ apiKey: 'a b' }))).toEqual(['exa.apiKey']);
    expect(problems(() => tavily({ apiKey: '', baseURL: 'ftp://x' }))).toEqual(['tavily.apiKey', 'tavily.baseURL']);
    expect(problems(() => brave({ apiKey: 'k', pricePerSearch: -1 }))).toEqual(['brave.pricePerSearch']);
    expect(problems(() => searxng({ baseURL: 'not an address' }))).toEqual(['searxng.baseURL']);
  });

  it('come from the environment in a fixed order', () => {
    vi.stubEnv('SEARXNG_URL', 'http://127.0.0.1:8888').stubEnv('EXA_API_KEY', 'e');
    vi.stubEnv('TAVILY_API_KEY', 't').stubEnv('BRAVE_API_KEY', 'b');
    expect(searchEnginesFromEnvironment().map(({ id }) => id)).toEqual(['exa', 'tavily', 'brave', 'searxng']);
    vi.stubEnv('EXA_API_KEY', undefined).stubEnv('TAVILY_API_KEY', ' ');
    expect(searchEnginesFromEnvironment().map(({ id }) => id)).toEqual(['brave', 'searxng']);
  });
});
