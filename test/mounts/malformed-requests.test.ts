/** Runs in a process of its own: it watches every connection that the process opens. */
import { channel } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import {
  type ErrorEvent,
  type Router,
  createRouter,
  defaultPlugins,
  defaultServerTools,
  fileParser,
  localPdfReader,
} from 'signalbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPdfRunner } from '../../src/plugins/pdf/runner-inline.ts';
import { type Body, fullBody, setAt } from '../support/chat-bodies.ts';
import { FIELD_KINDS, SAMPLES, refusedKinds } from '../support/chat-field-types.ts';
import { fedProvider, GOOD_END } from '../support/fed-provider.ts';
import { HOSTS } from '../support/hosts.ts';
import { chatBody } from '../support/http-call.ts';
import type { Mounted } from '../support/mounts.ts';
import { connectRaw } from '../support/raw-http.ts';
import { SPECIAL_ADDRESSES } from '../support/special-addresses.ts';

/** A request as bytes: what stands on its first line, in its headers and behind them. */
interface Form {
  readonly method?: string;
  /** Below the mount. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Whether the client ends the connection behind it, because the server would wait for more. */
  readonly cut?: boolean;
  /** Everything instead of the above. */
  readonly raw?: string;
}

const NAMES = Object.keys(HOSTS);

let provider: ReturnType<typeof fedProvider>;
const errors: ErrorEvent[] = [];
const routers: Router[] = [];
const mounts = new Map<string, Mounted>();
/** Where connections were opened to, as `address:port`. */
const dialled: string[] = [];

function onSocket(message: unknown): void {
  const { socket } = message as { readonly socket: Socket };
  socket.on('connectionAttempt', (address: string, port: number) => dialled.push(`${address}:${port}`));
}

beforeAll(async () => {
  channel('net.client.socket').subscribe(onSocket);
  provider = fedProvider({
    script: (fed) => (fed.call.request.stream ? fed.push('Hi', ...GOOD_END) : fed.answer('Hi')),
  });
  for (const [name, host] of Object.entries(HOSTS)) {
    const router = createRouter({
      providers: [provider],
      allowAnonymous: true,
      plugins: [
        ...defaultPlugins().filter(({ id }) => id !== 'file-parser'),
        // Without threads, which take half a second each.
        fileParser({ reader: localPdfReader({ run: createPdfRunner() }) }),
      ],
      serverTools: defaultServerTools(),
      on: { warning: () => undefined, error: (event) => void errors.push(event) },
    });
    routers.push(router);
    mounts.set(name, await host(router));
  }
});

afterAll(async () => {
  channel('net.client.socket').unsubscribe(onSocket);
  for (const mount of mounts.values()) await mount[Symbol.asyncDispose]();
  await Promise.all(routers.map((router) => router.close()));
});

/** The status of an answer; 0 where the server ended the connection without a word. */
async function statusOf(name: string, form: Form): Promise<number> {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(await answerTo(name, form))?.[1] ?? 0);
}

/** Sends a form over a connection of its own, and gives what came back as it came. */
async function answerTo(name: string, { method = 'POST', path, headers, body = '', cut, raw }: Form): Promise<string> {
  const mount = mounts.get(name) as Mounted;
  await using client = await connectRaw(mount);
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const all = {
    host: 'localhost',
    connection: 'close',
    ...(method === 'POST' ? { 'content-type': 'application/json', 'content-length': `${bytes.byteLength}` } : {}),
    ...headers,
  };
  const lines = Object.entries(all).map(([key, value]) => `${key}: ${value}\r\n`);
  client.write(Buffer.from(raw ?? `${method} /v1/${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1'));
  if (raw === undefined) client.write(bytes);
  if (cut === true) client.socket.end();
  await client.closed;
  return client.text();
}

/** Statuses of 500 and more that a mount gave, each with its form. */
async function failuresOf(name: string, forms: readonly Form[]): Promise<readonly string[]> {
  const failures: string[] = [];
  for (const form of forms) {
    const status = await statusOf(name, form);
    if (status >= 500) failures.push(`${status} for ${JSON.stringify(form).slice(0, 300)}`);
  }
  return failures;
}

const POSTED = ['chat/completions', 'messages', 'messages/count_tokens', 'responses', 'embeddings', 'batches', 'files'];
const GZIP = { 'content-encoding': 'gzip' };
const GOOD = JSON.stringify(chatBody());

/** Bodies that are no requests, whatever the path. */
const BODIES: readonly Omit<Form, 'path'>[] = [
  ...['', ' ', 'null', 'true', '7', '"a"', '[]', '[{}]', '{}', '{', '}', '{"a"', '{"a":', '{"a":1,}', "{'a':1}"],
  ...['{"a":NaN}', '{"a":1e999}', '{"a":-0}', '{"a":01}', '{a:1}', '// {}', '{}{}', '\u0000', '{"\u0000":1}'],
  ...['{"model":"\\ud800"}', '{"__proto__":{"model":"acme/one"}}', '{"constructor":{"prototype":{}}}', '\ufeff{'],
  ...['{"messages":null}', '{"model":"acme/one","messages":[null]}', '{"model":{},"messages":[{}],"input":[[]]}'],
  ...['{"endpoint":"/v1/chat/completions","requests":[', '{"requests":[{}],"endpoint":"/v1/embeddings"}'],
  ...['{"endpoint":"/v1/nothing","requests":[]}', '{"endpoint":"/v1/messages","requests":[{"custom_id":1}]}'],
  ...['['.repeat(5_000), '{"a":'.repeat(5_000), `{"a":${'9'.repeat(5_000)}}`, `{"a":"${'\\n'.repeat(5_000)}`],
].map((body) => ({ body }));

const BYTES: readonly Omit<Form, 'path'>[] = [
  { body: new Uint8Array([0xff, 0xfe, 0x7b, 0x00]) },
  { body: new Uint8Array([0xc3, 0x28]) },
  { body: Buffer.from(GOOD, 'utf16le') },
  { body: 'no gzip', headers: GZIP },
  { body: gzipSync(GOOD).subarray(0, 20), headers: GZIP },
  { body: gzipSync('{'), headers: GZIP },
  { body: gzipSync('['.repeat(100_000)), headers: GZIP },
  { body: gzipSync(gzipSync(GOOD)), headers: GZIP },
  { body: GOOD, headers: { 'content-encoding': 'deflate' } },
  { body: GOOD, headers: { 'content-encoding': 'gzip, gzip' } },
  { body: GOOD, headers: { 'content-encoding': '' } },
];

const TYPES: readonly Omit<Form, 'path'>[] = [
  ...[
    '',
    'text/plain',
    'application/xml',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'json',
    '/',
    ';',
  ],
  ...['multipart/form-data; boundary=', 'multipart/form-data; boundary=a', 'application/json; charset=utf-16'],
  ...['application/json; charset=', 'application/json;;', `application/json; a=${'b'.repeat(2_000)}`, '*/*'],
].map((type) => ({ body: GOOD, headers: { 'content-type': type } }));

/** Headers with meanings, and values that have none. */
const HEADERS: readonly Omit<Form, 'path'>[] = [
  ...['authorization', 'x-api-key', 'x-session-id', 'x-router-metadata', 'x-router-cache', 'x-router-cache-ttl'],
  ...['idempotency-key', 'accept', 'origin', 'traceparent', 'anthropic-version', 'x-router-fusion-depth', 'range'],
]
  .flatMap((header) =>
    ['', ' ', '\u00ff\u00fe', '-1', '1e400', 'null', 'a'.repeat(4_000)].map((value) => [header, value]),
  )
  .map(([header = '', value = '']) => ({ body: GOOD, headers: { [header]: value } }));

const PATHS: readonly Form[] = [
  ...[
    'models/%zz',
    'models/%00',
    'models/%c0%af',
    'models/a%2fb%2fc',
    'models//',
    'models/../../etc/passwd',
    '%2e%2e/x',
  ],
  ...[
    'batches/%zz',
    'batches/..%2f..',
    `batches/${'a'.repeat(4_000)}`,
    'batches/batch_%F0%9F%9A%A6',
    'files/%zz/content',
  ],
  ...[
    'models?limit=-1',
    'models?limit=1e9&offset=x',
    'models?sort=__proto__',
    'models?%zz=%zz',
    'models?limit=&limit=',
  ],
  ...[
    'batches?limit=0',
    'batches?limit=101',
    'batches?after=%00',
    'batches?status=x&status=',
    'batches?created_after=x',
  ],
  ...['generation', 'generation?id=', 'generation?id=%00', 'ledger?limit=x', 'ledger/costs?by=x', 'keys', 'keys/%zz'],
  ...[
    'models/acme/one/endpoints/x',
    'model/__proto__/constructor',
    'openapi.json?x[y]=z',
    'providers/',
    'files?limit=x',
  ],
].flatMap((path) => ['GET', 'HEAD', 'DELETE', 'POST', 'PATCH'].map((method) => ({ method, path })));

const LINE = '/v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n';
const JSON_TYPE = 'content-type: application/json\r\n';
/** What no library for HTTP would send. */
const WIRE: readonly Form[] = [
  `POST ${LINE}${JSON_TYPE}content-length: -1\r\n\r\n${GOOD}`,
  `POST ${LINE}${JSON_TYPE}content-length: 1\r\ncontent-length: 2\r\n\r\n${GOOD}`,
  `POST ${LINE}${JSON_TYPE}content-length: ${GOOD.length}\r\ntransfer-encoding: chunked\r\n\r\n${GOOD}`,
  `POST ${LINE}${JSON_TYPE}transfer-encoding: chunked\r\n\r\nzz\r\n${GOOD}\r\n0\r\n\r\n`,
  `POST ${LINE}${JSON_TYPE}transfer-encoding: chunked\r\n\r\n5\r\n{"a`,
  `POST ${LINE}${JSON_TYPE}transfer-encoding: gzip\r\n\r\n${GOOD}`,
  `POST ${LINE}${JSON_TYPE}content-length: ${GOOD.length + 9}\r\n\r\n${GOOD}`,
  `POST ${LINE}content-length: 0\r\n\r\n`,
  `POST ${LINE}\r\n`,
  `POST ${LINE}a b: c\r\n\r\n`,
  `POST ${LINE}x: ${'a'.repeat(20_000)}\r\n\r\n`,
  'POST /v1/chat/completions HTTP/1.1\r\nconnection: close\r\n\r\n',
  'POST /v1/chat/completions HTTP/9.9\r\nhost: localhost\r\n\r\n',
  'POST http://localhost:1/v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n',
  'POST * HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n',
  'GET /v1/\u0001 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n',
  'BREW /v1/models HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n',
  'GET\r\n\r\n',
  '\r\n\r\n\r\n',
  '\u0016\u0003\u0001\u0000',
].map((raw) => ({ path: '', raw, cut: true }));

const EVERY_FORM: readonly Form[] = [
  ...POSTED.flatMap((path) => [...BODIES, ...BYTES, ...TYPES].map((form) => ({ path, ...form }))),
  ...HEADERS.map((form) => ({ path: 'chat/completions', ...form })),
  ...PATHS,
  ...WIRE,
];

/** Everything but what a test is not about: other providers, plugins that need engines, and presets. */
function acceptedBody(): Body {
  const { provider: _, preset: __, models: ___, service_tier: ____, ...body } = fullBody();
  return body;
}

const WRONG: readonly unknown[] = [
  '\u0000',
  '__proto__',
  -1,
  1e308,
  0.1,
  'x'.repeat(5_000),
  [[[]]],
  { $ref: '#' },
  '%zz',
];
const FIELDS: readonly Form[] = Object.entries(FIELD_KINDS).flatMap(([at, kinds]) =>
  [...refusedKinds(kinds).map((kind) => SAMPLES[kind]), ...WRONG].map((value) => {
    const body = acceptedBody();
    try {
      setAt(body, at, value);
    } catch {
      // The place is in something that was left out.
    }
    return { path: 'chat/completions', body: JSON.stringify(body) };
  }),
);

describe.each(NAMES)('malformed requests to %s', (name) => {
  const share = <Item>(items: readonly Item[], parts: number): readonly Item[] =>
    items.filter((_, index) => index % parts === NAMES.indexOf(name) % parts);

  // Every third form, so that each is sent to three mounts or four, and every value of a field to one.
  it('never are a failure of ours', async () => {
    const forms = [...share(EVERY_FORM, 3), ...WIRE, ...share(FIELDS, NAMES.length)];
    expect(forms.length).toBeGreaterThan(300);
    errors.length = 0;
    expect(await failuresOf(name, forms)).toEqual([]);
    expect(errors.filter(({ status }) => status >= 500)).toEqual([]);
    expect(await statusOf(name, { path: 'chat/completions', body: GOOD })).toBe(200);
  });
});

describe('any JSON at all', () => {
  it('is never a failure of ours, at any path', async () => {
    const json = fc.jsonValue({ maxDepth: 3 });
    const names = fc.oneof(fc.constantFrom('messages', 'model', 'input', 'requests', 'endpoint', 'tools'), fc.string());
    const body = fc.oneof(
      json,
      fc.dictionary(names, json).map((more) => ({ ...chatBody(), ...more })),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...NAMES), fc.constantFrom(...POSTED), body, async (name, path, value) => {
        expect(await statusOf(name, { path, body: JSON.stringify(value) })).toBeLessThan(500);
      }),
      { numRuns: 300 },
    );
  });
});

/** Spellings of addresses that lead to this machine or its network. */
const SPELLINGS = [
  ...SPECIAL_ADDRESSES.map((address) => (address.includes(':') ? `[${address}]` : address)),
  ...[
    'localhost',
    'LOCALHOST.',
    'a.localhost',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '127.1',
    '127。0。0。1',
    '①②⑦.0.0.1',
  ],
  ...[
    '[::ffff:7f00:1]',
    '[0:0:0:0:0:ffff:a9fe:a9fe]',
    'metadata.internal',
    'db.local',
    '0',
    '[::ffff:169.254.169.254]',
  ],
];

describe('addresses that nobody may ask', () => {
  it.each(NAMES)('are never dialled, wherever they stand in a request: %s', async (name) => {
    const mine = new URL((mounts.get(name) as Mounted).baseURL);
    const port = `${mine.hostname}:${mine.port}`;
    dialled.length = 0;
    const hosts = SPELLINGS.filter((_, index) => index % 2 === NAMES.indexOf(name) % 2);
    for (const host of hosts) {
      const url = `https://${host}/x.pdf`;
      const file = { type: 'file', file: { filename: 'x.pdf', file_data: url } };
      const plugins = [{ id: 'file-parser', pdf: { engine: 'cloudflare-ai' } }];
      const messages = [{ role: 'user', content: [{ type: 'text', text: 'Read this' }, file] }];
      const request = { custom_id: 'a', body: chatBody() };
      for (const [path, body] of [
        ['chat/completions', chatBody({ messages, plugins })],
        ['batches', { endpoint: '/v1/chat/completions', callback_url: url, requests: [request] }],
      ] as const) {
        const answer = await answerTo(name, { path, body: JSON.stringify(body) });
        expect([url, answer]).toEqual([url, expect.stringMatching(/^HTTP\/1\.1 400 [^]*public internet/)]);
      }
    }
    expect(dialled.filter((address) => address !== port)).toEqual([]);
    // The watch sees connections: those of the test itself.
    expect(dialled.length).toBeGreaterThanOrEqual(2 * hosts.length);
  });
});
