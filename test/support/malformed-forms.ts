import { gzipSync } from 'node:zlib';
import { type Body, fullBody, setAt } from './chat-bodies.ts';
import { FIELD_KINDS, SAMPLES, refusedKinds } from './chat-field-types.ts';
import { chatBody } from './http-call.ts';
import { SPECIAL_ADDRESSES } from './special-addresses.ts';

/** A request as bytes: what stands on its first line, in its headers and behind them. */
export interface Form {
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

/** Paths that take bodies. */
export const POSTED = [
  'chat/completions',
  'messages',
  'messages/count_tokens',
  'responses',
  'embeddings',
  'batches',
  'files',
];
const GZIP = { 'content-encoding': 'gzip' };
/** A body that is answered. */
export const GOOD = JSON.stringify(chatBody());

/** Bodies that are no requests, whatever the path. */
const BODIES: readonly Omit<Form, 'path'>[] = [
  '',
  ' ',
  'null',
  'true',
  '7',
  '"a"',
  '[]',
  '[{}]',
  '{}',
  '{',
  '}',
  '{"a"',
  '{"a":',
  '{"a":1,}',
  "{'a':1}",
  '{"a":NaN}',
  '{"a":1e999}',
  '{"a":-0}',
  '{"a":01}',
  '{a:1}',
  '// {}',
  '{}{}',
  '\u0000',
  '{"\u0000":1}',
  '{"model":"\\ud800"}',
  '{"__proto__":{"model":"acme/one"}}',
  '{"constructor":{"prototype":{}}}',
  '\ufeff{',
  '{"messages":null}',
  '{"model":"acme/one","messages":[null]}',
  '{"model":{},"messages":[{}],"input":[[]]}',
  '{"endpoint":"/v1/chat/completions","requests":[',
  '{"requests":[{}],"endpoint":"/v1/embeddings"}',
  '{"endpoint":"/v1/nothing","requests":[]}',
  '{"endpoint":"/v1/messages","requests":[{"custom_id":1}]}',
  '['.repeat(5_000),
  '{"a":'.repeat(5_000),
  `{"a":${'9'.repeat(5_000)}}`,
  `{"a":"${'\\n'.repeat(5_000)}`,
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
  '',
  'text/plain',
  'application/xml',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'json',
  '/',
  ';',
  'multipart/form-data; boundary=',
  'multipart/form-data; boundary=a',
  'application/json; charset=utf-16',
  'application/json; charset=',
  'application/json;;',
  `application/json; a=${'b'.repeat(2_000)}`,
  '*/*',
].map((type) => ({ body: GOOD, headers: { 'content-type': type } }));

/** Headers with meanings, and values that have none. */
const HEADERS: readonly Omit<Form, 'path'>[] = [
  'authorization',
  'x-api-key',
  'x-session-id',
  'x-router-metadata',
  'x-router-cache',
  'x-router-cache-ttl',
  'idempotency-key',
  'accept',
  'origin',
  'traceparent',
  'anthropic-version',
  'x-router-fusion-depth',
  'range',
]
  .flatMap((header) =>
    ['', ' ', '\u00ff\u00fe', '-1', '1e400', 'null', 'a'.repeat(4_000)].map((value) => [header, value]),
  )
  .map(([header = '', value = '']) => ({ body: GOOD, headers: { [header]: value } }));

const PATHS: readonly Form[] = [
  'models/%zz',
  'models/%00',
  'models/%c0%af',
  'models/a%2fb%2fc',
  'models//',
  'models/../../etc/passwd',
  '%2e%2e/x',

  'batches/%zz',
  'batches/..%2f..',
  `batches/${'a'.repeat(4_000)}`,
  'batches/batch_%F0%9F%9A%A6',
  'files/%zz/content',

  'models?limit=-1',
  'models?limit=1e9&offset=x',
  'models?sort=__proto__',
  'models?%zz=%zz',
  'models?limit=&limit=',

  'batches?limit=0',
  'batches?limit=101',
  'batches?after=%00',
  'batches?status=x&status=',
  'batches?created_after=x',
  'generation',
  'generation?id=',
  'generation?id=%00',
  'ledger?limit=x',
  'ledger/costs?by=x',
  'keys',
  'keys/%zz',

  'models/acme/one/endpoints/x',
  'model/__proto__/constructor',
  'openapi.json?x[y]=z',
  'providers/',
  'files?limit=x',
].flatMap((path) => ['GET', 'HEAD', 'DELETE', 'POST', 'PATCH'].map((method) => ({ method, path })));

const LINE = '/v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n';
const JSON_TYPE = 'content-type: application/json\r\n';
/** What no library for HTTP would send. */
export const WIRE: readonly Form[] = [
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

/** Forms of every kind. */
export const EVERY_FORM: readonly Form[] = [
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

/** A chat request with every field that there is, one of them wrong: of each wrong kind, and in three more ways. */
export const FIELDS: readonly Form[] = Object.entries(FIELD_KINDS).flatMap(([at, kinds], index) =>
  [
    ...refusedKinds(kinds).map((kind) => SAMPLES[kind]),
    ...[0, 1, 2].map((turn) => WRONG[(3 * index + turn) % WRONG.length]),
  ].map((value) => {
    const body = acceptedBody();
    try {
      setAt(body, at, value);
    } catch {
      // The place is in something that was left out.
    }
    return { path: 'chat/completions', body: JSON.stringify(body) };
  }),
);

/** Spellings of addresses that lead to this machine or its network. */
export const SPELLINGS = [
  ...SPECIAL_ADDRESSES.map((address) => (address.includes(':') ? `[${address}]` : address)),

  'localhost',
  'LOCALHOST.',
  'a.localhost',
  '2130706433',
  '0x7f.1',
  '0177.0.0.1',
  '127.1',
  '127。0。0。1',
  '①②⑦.0.0.1',

  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:a9fe:a9fe]',
  'metadata.internal',
  'db.local',
  '0',
  '[::ffff:169.254.169.254]',
];
