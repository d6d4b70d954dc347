import type { ServerResponse } from 'node:http';
import { type SearchEngine, brave, exa, searxng, tavily } from 'signalbox';
import { type ReceivedRequest, type Upstream, sendJson, startUpstream } from './upstream.ts';

/** A page that the search server knows. */
export interface KnownPage {
  readonly url: string;
  readonly title?: string;
  readonly text: string;
}

/** Two pages about one thing. */
export const PAGES: readonly KnownPage[] = [
  { url: 'https://news.example/comet', title: 'Comet seen', text: 'A comet was seen over Vienna on Monday.' },
  { url: 'https://blog.example.org/sky/comet', title: 'My comet', text: 'I saw the comet twice.' },
];

/** A real HTTP server that speaks the wires of all search engines, and the engines that ask it. */
export interface SearchServer extends AsyncDisposable {
  /** Address without a path. */
  readonly baseURL: string;
  readonly requests: Upstream['requests'];
  readonly engines: Readonly<Record<'exa' | 'tavily' | 'brave' | 'searxng', SearchEngine>>;
  /** Pages that every search finds. */
  pages: readonly KnownPage[];
  /** Takes the place of the usual answer, until it is undefined again. */
  fault: ((request: ReceivedRequest, response: ServerResponse) => void) | undefined;
}

/** Starts a {@link SearchServer}; its engines give up after so many milliseconds. */
export async function startSearchServer(timeoutMs = 10_000): Promise<SearchServer> {
  const upstream = await startUpstream((request, response) => {
    if (server.fault !== undefined) return server.fault(request, response);
    const answer = answerTo(request, server.pages);
    if (answer === undefined) return sendJson(response, 401, { error: 'Invalid key sk-secret' });
    sendJson(response, 200, answer);
  });
  const keyless = { baseURL: upstream.baseURL.replace(/\/v1$/, ''), timeoutMs };
  const options = { ...keyless, apiKey: KEY };
  const engines = { exa: exa(options), tavily: tavily(options), brave: brave(options), searxng: searxng(keyless) };
  const server: SearchServer = {
    baseURL: options.baseURL,
    requests: upstream.requests,
    engines,
    pages: PAGES,
    fault: undefined,
    async [Symbol.asyncDispose]() {
      await Promise.all(Object.values(engines).map((engine) => engine.close?.()));
      await upstream[Symbol.asyncDispose]();
    },
  };
  return server;
}

const KEY = 'search-key-1';

/** What an engine answers; undefined when the key is not right. */
function answerTo({ path, headers, body }: ReceivedRequest, pages: readonly KnownPage[]): object | undefined {
  if (path === '/search' && headers['x-api-key'] !== undefined) {
    if (headers['x-api-key'] !== KEY) return undefined;
    return {
      requestId: 'request-1',
      resolvedSearchType: body['type'],
      results: pages.map((page) => ({
        id: page.url,
        url: page.url,
        title: page.title ?? null,
        publishedDate: '2026-01-02T03:04:05.000Z',
        author: null,
        highlights: page.text.split(' | '),
        highlightScores: [0.5],
      })),
      costDollars: { total: 0.007 },
    };
  }
  if (path === '/search' && headers.authorization !== undefined) {
    if (headers.authorization !== `Bearer ${KEY}`) return undefined;
    return {
      query: body['query'],
      answer: null,
      images: [],
      results: pages.map((page) => ({
        url: page.url,
        title: page.title,
        content: page.text,
        score: 0.9,
        raw_content: null,
      })),
      response_time: 0.3,
      request_id: 'request-2',
    };
  }
  if (path.startsWith('/res/v1/web/search?')) {
    if (headers['x-subscription-token'] !== KEY) return undefined;
    return {
      type: 'search',
      query: { original: 'q', more_results_available: false },
      web: {
        type: 'search',
        family_friendly: true,
        results: pages.map((page) => {
          const [description, ...extra_snippets] = page.text.split(' | ');
          return { type: 'search_result', url: page.url, title: page.title, description, extra_snippets };
        }),
      },
    };
  }
  return {
    query: 'q',
    number_of_results: 0,
    results: pages.map((page) => ({ url: page.url, title: page.title, content: page.text, engine: 'a', score: 1 })),
    answers: [],
    unresponsive_engines: [],
  };
}
