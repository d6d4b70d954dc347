import { type Account, type ChatRequest, type RouterEvents, apiKeys, createRouter, openaiCompatible } from 'signalbox';
import { expressRouter } from 'signalbox/express';
import express from 'express';
import { createServer } from 'node:http';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { listen } from '../support/mounts.ts';
import {
  type Upstream,
  type UpstreamHandler,
  answerWith,
  chunkEvent,
  dataEvent,
  failWith,
  sendJson,
  startUpstream,
} from '../support/upstream.ts';

/** Secrets, each with letters of its own that nothing else has. */
const KEYS = {
  provider: 'sk-canary/provider+Qq7Zp1Xx9Kk3Vv5',
  header: 'canary-header-Ww2Yy4Uu6Ii8Oo0',
  account: 'sk-canary-account-Ee3Rr5Tt7Pp9Aa1',
  client: 'sk-canary-client-Ss4Dd6Ff8Gg0Hh2',
  identity: 'canary-identity-Jj5Ll7Mm9Nn1Bb3',
} as const;
const PROMPT = 'canary prompt Cc6Vv8Xx0Zz2';
const USER = 'canary-user-Kk9Jj7Hh5';

/** What a key looks like in texts that carry it in another form. */
function spellings(key: string): readonly string[] {
  return [key, encodeURIComponent(key), JSON.stringify(key).slice(1, -1), Buffer.from(key).toString('base64')];
}

/** Ways in which providers repeat what they were sent. */
const PROVIDERS: Readonly<Record<string, UpstreamHandler>> = {
  answers: answerWith('A fine answer'),
  'repeats the key in a 401': (request, response) =>
    sendJson(response, 401, {
      error: { message: `Incorrect API key provided: ${keyOf(request)}`, code: keyOf(request) },
    }),
  'repeats the key in a 400': (request, response) =>
    sendJson(response, 400, {
      error: { message: `Bad header ${String(request.headers.authorization)}`, type: keyOf(request) },
    }),
  'repeats the key escaped': (request, response) =>
    sendJson(response, 400, { error: { message: `See https://x.example/?key=${encodeURIComponent(keyOf(request))}` } }),
  'repeats all headers': (request, response) => sendJson(response, 500, { error: request.headers }),
  'repeats the key in plain text': (request, response) => {
    response.writeHead(503, { 'content-type': 'text/plain', 'x-key': keyOf(request) });
    response.end(`upstream said: ${keyOf(request)}`);
  },
  'repeats the key in a page': (request, response) => {
    response.writeHead(502, { 'content-type': 'text/html' });
    response.end(`<html>${keyOf(request)}</html>`);
  },
  'sends elsewhere with the key in the address': (request, response) => {
    response.writeHead(307, { location: `/v1/chat/completions?key=${encodeURIComponent(keyOf(request))}` });
    response.end();
  },
  'repeats the key in a good status': (request, response) =>
    sendJson(response, 200, { error: { message: `key ${keyOf(request)} is blocked`, code: keyOf(request) } }),
  'repeats the key in the middle of a stream': (request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunkEvent({ content: 'Once' }));
    response.end(dataEvent({ error: { message: `lost ${keyOf(request)}`, code: keyOf(request) } }));
  },
  'repeats the prompt in an error': (request, response) =>
    sendJson(response, 400, { error: { message: `I will not answer "${JSON.stringify(request.body['messages'])}"` } }),
  'hangs up': (_request, response) => response.destroy(),
  'is too busy': failWith(429, undefined, { 'retry-after': '3' }),
};

function keyOf({ headers }: { readonly headers: Record<string, unknown> }): string {
  return String(headers['authorization']).replace('Bearer ', '');
}

/** Every word that was said, by who could read it. */
interface Canary {
  readonly events: string;
  readonly errors: string;
  /** The router and its provider, printed as deep as they go. */
  readonly state: string;
  /** What clients got. */
  readonly answers: string;
  /** What providers got. */
  readonly upstream: string;
}

/** Runs every kind of request against one kind of provider, and keeps every word that is said. */
async function sing(handler: UpstreamHandler): Promise<Canary> {
  await using upstream: Upstream = await startUpstream(handler);
  const events: unknown[] = [];
  const errors: unknown[] = [];
  const answers: unknown[] = [];
  const note =
    <Name extends keyof RouterEvents>(name: Name) =>
    (event: RouterEvents[Name]) => {
      events.push(name, event, inspect(event, { depth: 20 }));
    };
  const account: Account = { id: 'account-1', providerKeys: { up: { apiKey: KEYS.account, fallback: true } } };
  const provider = openaiCompatible({
    slug: 'up',
    name: 'Up',
    baseURL: upstream.baseURL,
    apiKey: KEYS.provider,
    headers: { 'x-extra-token': KEYS.header },
    models: { 'acme/one': {}, 'acme/two': {} },
  });
  const router = createRouter({
    providers: [provider],
    authenticate: apiKeys([{ key: KEYS.client, ...account }]),
    identitySecret: KEYS.identity,
    fallback: { triesPerEndpoint: 1, maxWaitMs: 0 },
    on: { attempt: note('attempt'), result: note('result'), error: note('error'), warning: note('warning') },
  });
  const app = express().use('/v1', expressRouter(router));
  await using mounted = await listen(createServer(app));

  const bodies: readonly Record<string, unknown>[] = [
    {},
    { stream: true },
    { stream: true, debug: { echo_upstream_body: true } },
    { models: ['acme/two'], session_id: 'session-1', metadata: { team: 'a' }, trace: { trace_id: 't' } },
    { model: 'acme/nope' },
    { temperature: 'hot' },
    { tools: [{ type: 'function', function: { name: 'no spaces please' } }] },
  ];
  for (const fields of bodies) {
    const body = { model: 'acme/one', messages: [{ role: 'user', content: PROMPT }], user: USER, ...fields };
    for (const key of [KEYS.client, `${KEYS.client}-wrong`]) {
      const response = await fetch(`${mounted.baseURL}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, 'x-router-metadata': 'enabled' },
        body: JSON.stringify(body),
      });
      answers.push([...response.headers], await response.text());
    }
    const request = body as unknown as ChatRequest<'acme/one'>;
    await router
      .chat(request, { account, metadata: true })
      .catch((error: unknown) => errors.push(...everythingOf(error)));
    await router.explain(request, { account }).then(
      (explanation) => answers.push(explanation),
      (error: unknown) => errors.push(...everythingOf(error)),
    );
    try {
      for await (const chunk of router.stream(request, { account })) answers.push(chunk);
    } catch (error) {
      errors.push(...everythingOf(error));
    }
  }
  const { config } = router.internals;
  const state = [
    ...[router, provider, config].map((value) => inspect(value, { depth: 20, showHidden: true })),
    JSON.stringify(config),
    String(config.identitySecret),
  ];
  await router.close();
  return {
    events: textOf(events),
    errors: textOf(errors),
    state: textOf(state),
    answers: textOf(answers),
    upstream: textOf(upstream.requests),
  };
}

/** Every way in which an error could be written down. */
function everythingOf(thrown: unknown): readonly unknown[] {
  const error = thrown as Error & { metadata?: unknown };
  return [
    error.message,
    error.stack,
    error.cause,
    inspect(error, { depth: 20, showHidden: true }),
    JSON.stringify(error),
  ];
}

function textOf(values: readonly unknown[]): string {
  return values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join('\n');
}

describe.each(Object.entries(PROVIDERS))('a provider that %s', (name, handler) => {
  it('is told the keys, and nobody else is', async () => {
    const { upstream, ...readable } = await sing(handler);
    for (const [whose, key] of Object.entries(KEYS)) {
      for (const [where, text] of Object.entries(readable)) {
        const found = spellings(key).find((spelling) => text.includes(spelling));
        expect(found, `the key of ${whose} is in ${where}: ${excerptOf(text, found)}`).toBeUndefined();
      }
    }
    const { events, errors, state } = readable;
    expect(events).toContain('account-1');
    expect(state).toContain('[redacted]');
    // What a provider says of a prompt goes back to who wrote it, and nowhere else.
    const quiet = name === 'repeats the prompt in an error' ? [events, state] : [events, errors, state];
    for (const text of quiet) expect(text).not.toContain(PROMPT);
    for (const text of [events, errors, state]) expect(text).not.toContain(USER);
    for (const sent of [KEYS.provider, KEYS.header, PROMPT]) expect(upstream).toContain(sent);
    for (const unsent of [KEYS.client, KEYS.identity, USER]) expect(upstream).not.toContain(unsent);
  });
});

function excerptOf(text: string, found: string | undefined): string {
  const at = found === undefined ? -1 : text.indexOf(found);
  return at < 0 ? '' : text.slice(Math.max(0, at - 200), at + 200);
}
