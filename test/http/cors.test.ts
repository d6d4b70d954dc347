import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { generateText } from 'ai';
import OpenAI from 'openai';
import { ConfigError, type Cors, createRouter } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { GOOD_END, fedProvider } from '../support/fed-provider.ts';
import { type Answered, type CallInit, chatBody, send } from '../support/http-call.ts';

/** The headers that pages of other sites may read. */
const EXPOSED =
  'X-Generation-Id, x-request-id, request-id, Retry-After, X-Should-Retry, X-RateLimit-Limit, X-RateLimit-Remaining, ' +
  'X-RateLimit-Reset, X-Next-Cursor, ETag, X-Router-Cache-Status, X-Router-Cache-Age, X-Router-Cache-TTL, X-Router-Cache-Source-Id, ' +
  'X-OpenRouter-Cache-Status, X-OpenRouter-Cache-Age, X-OpenRouter-Cache-TTL, X-OpenRouter-Cache-Source-Id';

const SITE = 'https://app.example.com';

async function call(cors: Cors | undefined, init: CallInit): Promise<Answered> {
  const provider = fedProvider({
    script: (fed) => (fed.call.request.stream ? fed.push('Hi', ...GOOD_END) : fed.answer('Hi')),
  });
  return send(createRouter({ providers: [provider], allowAnonymous: true, cors }), init);
}

const preflight = (origin: string, asked?: string): CallInit => ({
  method: 'OPTIONS',
  headers: {
    origin,
    'access-control-request-method': 'POST',
    ...(asked === undefined ? {} : { 'access-control-request-headers': asked }),
  },
});

type Fetch = typeof globalThis.fetch;

const baseURL = 'http://127.0.0.1:3000/v1';
const messages = [{ role: 'user' as const, content: 'Hi' }];

/** One request of each SDK that pages use, sent by the given `fetch`. */
const SDKS: Readonly<Record<string, (fetch: Fetch) => Promise<unknown>>> = {
  openai: (fetch) =>
    new OpenAI({
      baseURL,
      apiKey: 'k',
      fetch,
      maxRetries: 0,
      dangerouslyAllowBrowser: true,
      organization: 'org',
      project: 'project',
    }).chat.completions.create({ model: 'acme/one', messages }),
  '@anthropic-ai/sdk': (fetch) =>
    new Anthropic({ baseURL, apiKey: 'k', fetch, maxRetries: 0, dangerouslyAllowBrowser: true }).messages.create({
      model: 'acme/one',
      max_tokens: 9,
      messages,
    }),
  '@ai-sdk/openai-compatible': (fetch) =>
    generateText({
      model: createOpenAICompatible({ name: 'own', baseURL, apiKey: 'k', fetch })('acme/one'),
      prompt: 'Hi',
      maxRetries: 0,
    }),
};

function corsHeadersOf({ headers }: Answered): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => /^access-control-|^vary$/.test(name)));
}

describe('without the option', () => {
  it('no page of another site may call', async () => {
    const asked = await call(undefined, preflight(SITE));
    expect(asked.status).toBe(405);
    expect(asked.headers['allow']).toBe('POST');
    expect(corsHeadersOf(asked)).toEqual({});
    expect(corsHeadersOf(await call(undefined, { headers: { origin: SITE }, body: chatBody() }))).toEqual({});
  });
});

describe('a page of a named site', () => {
  const cors = { origins: ['https://other.example.com', SITE] };

  it('is told what it may send, in both spellings', async () => {
    const answer = await call(cors, preflight(SITE));
    expect(answer.status).toBe(204);
    expect(answer.text).toBe('');
    expect(answer.headers).not.toHaveProperty('content-type');
    expect(corsHeadersOf(answer)).toEqual({
      vary: 'Origin',
      'access-control-allow-origin': SITE,
      'access-control-expose-headers': EXPOSED,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers':
        'Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, x-api-key, anthropic-version, anthropic-beta, ' +
        'anthropic-dangerous-direct-browser-access, x-session-id, x-claude-code-session-id, x-anthropic-beta, traceparent, tracestate, User-Agent, OpenAI-Organization, OpenAI-Project, OpenAI-Beta, HTTP-Referer, X-Title, X-Router-Metadata, ' +
        'X-Router-Experimental-Metadata, X-Router-Title, X-Router-Categories, X-Router-Cache, X-Router-Cache-TTL, X-Router-Cache-Clear, X-OpenRouter-Metadata, ' +
        'X-OpenRouter-Experimental-Metadata, X-OpenRouter-Title, X-OpenRouter-Categories, X-OpenRouter-Cache, X-OpenRouter-Cache-TTL, X-OpenRouter-Cache-Clear',
      'access-control-max-age': '600',
    });
  });

  it('may send what a widespread client adds, and nothing else of its own', async () => {
    const asked = 'authorization, X-Stainless-OS,x-stainless-retry-count, x-evil, x-stainless-a b';
    const { headers } = await call(cors, preflight(SITE, asked));
    const allowed = headers['access-control-allow-headers'] ?? '';
    expect(allowed.endsWith(', x-stainless-os, x-stainless-retry-count')).toBe(true);
    expect(allowed).not.toContain('evil');
  });

  it('may send what the option names', async () => {
    const { headers } = await call({ ...cors, headers: ['X-Team', 'x-trace'] }, preflight(SITE));
    expect(headers['access-control-allow-headers']?.endsWith(', X-Team, x-trace')).toBe(true);
    for (const name of ['X Team', 'x-a, x-b', '', 'x-a\r\nx-b']) {
      expect(() => createRouter({ providers: [fedProvider()], cors: { ...cors, headers: [name] } })).toThrow(
        'cors.headers[0] must be the name of a header, such as "X-Team"',
      );
    }
  });

  it.each(Object.entries(SDKS))('may send every header that %s sends', async (_name, ask) => {
    const sent = new Set<string>();
    await ask((_input, init) => {
      for (const name of new Headers(init?.headers).keys()) sent.add(name);
      return Promise.reject(new Error('seen'));
    }).catch(() => undefined);
    expect(sent).toContain('user-agent');
    const { headers } = await call(cors, preflight(SITE, [...sent].join(', ')));
    const allowed = (headers['access-control-allow-headers'] ?? '').toLowerCase().split(', ');
    // What any page may send without asking.
    const safe = new Set(['accept', 'accept-language', 'content-language', 'content-length']);
    expect([...sent].filter((name) => !allowed.includes(name) && !safe.has(name))).toEqual([]);
  });

  it('is told which methods a path takes', async () => {
    const { headers } = await call(cors, { ...preflight(SITE), path: '/models' });
    expect(headers['access-control-allow-methods']).toBe('GET, HEAD');
  });

  it.each([
    ['a whole answer', { body: chatBody() }, 200],
    ['a stream', { body: chatBody({ stream: true }) }, 200],
    ['an error', { body: '{' }, 400],
    ['a wrong method', { method: 'DELETE' }, 405],
    ['the models', { method: 'GET', path: '/models' }, 200],
  ])('may read %s and the headers that matter', async (_name, init, status) => {
    const headers = { origin: SITE, 'content-type': 'application/json' };
    const answer = await call(cors, { ...init, headers });
    expect(answer.status).toBe(status);
    expect(corsHeadersOf(answer)).toEqual({
      vary: 'Origin',
      'access-control-allow-origin': SITE,
      'access-control-expose-headers': EXPOSED,
    });
  });
});

describe('a page of another site', () => {
  const cors = { origins: [SITE] };

  it.each(['https://evil.example', 'https://app.example.com.evil.example', 'http://app.example.com', 'null'])(
    'is refused: %s',
    async (origin) => {
      const answer = await call(cors, preflight(origin));
      expect(answer.status).toBe(400);
      expect(answer.error.message).toBe(
        `Pages of ${origin} may not call this router: its option cors does not name them`,
      );
      expect(corsHeadersOf(answer)).toEqual({ vary: 'Origin' });
    },
  );

  it('gets answers that its browser will not show it', async () => {
    const answer = await call(cors, { headers: { origin: 'https://evil.example' }, body: chatBody() });
    expect(corsHeadersOf(answer)).toEqual({ vary: 'Origin' });
  });
});

describe('pages of all sites', () => {
  it('may call when the option says so, without credentials of the browser', async () => {
    const answer = await call({ origins: '*' }, preflight('https://anything.example'));
    expect(answer.status).toBe(204);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    expect(answer.headers).not.toHaveProperty('access-control-allow-credentials');
    expect(answer.headers).not.toHaveProperty('vary');
  });
});

describe('a request that is no question of a browser', () => {
  it('stays what it was', async () => {
    const answer = await call({ origins: '*' }, { method: 'OPTIONS', headers: { origin: SITE } });
    expect(answer.status).toBe(405);
  });
});

describe('the option', () => {
  const problemsOf = (origins: unknown): readonly string[] => {
    try {
      createRouter({ providers: [fedProvider()], cors: { origins } as Cors });
      return [];
    } catch (error) {
      if (!ConfigError.isInstance(error)) throw error;
      return error.problems.map(({ path }) => path);
    }
  };

  it('takes origins only, and tells all that are none', () => {
    expect(problemsOf(['https://a.example', 'http://localhost:3000'])).toEqual([]);
    expect(problemsOf(['https://a.example/', 'a.example', '*', 7, 'https://a.example'])).toEqual([
      'cors.origins[0]',
      'cors.origins[1]',
      'cors.origins[2]',
      'cors.origins[3]',
    ]);
    expect(problemsOf('https://a.example')).toEqual(['cors.origins']);
    expect(problemsOf(undefined)).toEqual(['cors.origins']);
  });
});
