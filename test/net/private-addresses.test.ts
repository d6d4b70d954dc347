import { assert, constantFrom, oneof, property, tuple } from 'fast-check';
import { createRouter, openaiCompatible, type Router } from 'signalbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkAddresses } from '../../src/net/private-addresses.ts';
import { MOUNTS } from '../support/mounts.ts';
import { runs } from '../support/properties.ts';
import { SPECIAL_ADDRESSES } from '../support/special-addresses.ts';
import { answerWith, startUpstream, type Upstream } from '../support/upstream.ts';

type Json = Readonly<Record<string, unknown>>;

/** Where an address may be in each API format, with the path that an error names. */
const PLACES: readonly (readonly [path: string, route: string, body: (url: string) => Json])[] = [
  ['messages[0].content[0].image_url', '/chat/completions', (url) => chat({ type: 'image_url', image_url: { url } })],
  ['messages[0].content[0].video_url', '/chat/completions', (url) => chat({ type: 'video_url', video_url: { url } })],
  ['messages[0].content[0].video_url', '/chat/completions', (url) => chat({ type: 'input_video', video_url: { url } })],
  ['messages[0].content[0].file', '/chat/completions', (url) => chat({ type: 'file', file: { file_data: url } })],
  ['messages[0].images[0].image_url', '/chat/completions', inAnAnswer],
  ['messages[1].content[0].image_url', '/chat/completions', inAToolResult],
  ['messages[0].content[0].source', '/messages', (url) => message({ type: 'image', source: { type: 'url', url } })],
  ['messages[0].content[0].source', '/messages', (url) => message({ type: 'document', source: { type: 'url', url } })],
  ['input[0].content[0].image_url', '/responses', (url) => response({ type: 'input_image', image_url: url })],
  ['input[0].content[0].file_url', '/responses', (url) => response({ type: 'input_file', file_url: url })],
  ['input[0].content[0].image_url', '/embeddings', inAnEmbedding],
];

function chat(part: Json): Json {
  return { model: 'acme/all', messages: [{ role: 'user', content: [part] }] };
}

function message(part: Json): Json {
  return { ...chat(part), max_tokens: 10 };
}

function response(part: Json): Json {
  return { model: 'acme/all', input: [{ type: 'message', role: 'user', content: [part] }] };
}

function inAnAnswer(url: string): Json {
  const answer = { role: 'assistant', content: 'See', images: [{ type: 'image_url', image_url: { url } }] };
  return { model: 'acme/all', messages: [answer, { role: 'user', content: 'And?' }] };
}

function inAToolResult(url: string): Json {
  const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };
  const content = [{ type: 'image_url', image_url: { url } }];
  const messages = [
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content },
  ];
  return { model: 'acme/all', messages };
}

function inAnEmbedding(url: string): Json {
  return { model: 'acme/vectors', input: [{ content: [{ type: 'image_url', image_url: { url } }] }] };
}

/** IPv4 addresses in every spelling that some reader takes. */
function spellings(address: string): readonly string[] {
  if (address.includes(':')) return [`[${address}]`, `[${address.toUpperCase()}]`];
  const parts = address.split('.').map(Number);
  const [first = 0, second = 0, third = 0, fourth = 0] = parts;
  const whole = ((first * 256 + second) * 256 + third) * 256 + fourth;
  return [
    address,
    `${address}.`,
    String(whole),
    `0x${whole.toString(16)}`,
    `0${whole.toString(8)}`,
    parts.map((part) => `0x${part.toString(16)}`).join('.'),
    parts.map((part) => `0${part.toString(8)}`).join('.'),
    `${first}.${second}.${third * 256 + fourth}`,
    address.replaceAll('.', '。'),
    address
      .split('')
      .map((sign) => (sign === '.' ? sign : `%3${sign}`))
      .join(''),
    `[::ffff:${address}]`,
    `[64:ff9b::${address}]`,
    // Readers differ: eight, or ten with a zero before it.
    `0${address}`,
  ];
}

const NAMES = [
  'localhost',
  'LOCALHOST.',
  'a.localhost',
  'metadata.google.internal',
  'nas.local',
  'x.home.arpa',
  'vllm',
];

const privateHost = oneof(
  constantFrom(...SPECIAL_ADDRESSES).chain((address) => constantFrom(...spellings(address))),
  constantFrom(...NAMES),
  constantFrom('10.0.0.1', '169.254.169.254').map((address) => `user:secret@${address}`),
  constantFrom('a.example\\@10.0.0.1', 'user@a.example'),
);

const privateUrl = tuple(
  constantFrom('http://', 'https://', 'HTTP://', 'Https://'),
  privateHost,
  constantFrom('', ':80', ':8000', ':443'),
  constantFrom('', '/', '/a.png', '/latest/meta-data/?x=https://a.example', '#@a.example'),
).map((parts) => parts.join(''));

const publicUrl = tuple(
  constantFrom('http://', 'https://', 'HTTPS://'),
  constantFrom(
    'a.example',
    '8.8.8.8',
    '[2606:4700::1111]',
    'cdn.localhost.example',
    'internal.example',
    'xn--bcher-kva.example',
  ),
  constantFrom('', ':9000', ':443'),
  constantFrom('', '/a.png', '/10.0.0.1/a.png?url=http://localhost/', '#http://10.0.0.1'),
).map((parts) => parts.join(''));

const NOBODY: ReadonlySet<string> = new Set();

describe('addresses in a request', () => {
  it('are refused wherever they lead into a private network, in every spelling and place', () => {
    assert(
      property(privateUrl, constantFrom(...PLACES), (url, [path, , body]) => {
        const checked = checkAddresses(body(url), NOBODY);
        expect(checked.ok ? 'let through' : checked.fault).toMatchObject({ status: 400 });
        if (!checked.ok) expect(checked.fault.path.startsWith(path)).toBe(true);
        if (!checked.ok) expect(checked.fault.message).not.toContain(url);
      }),
      runs(2_000),
    );
  });

  it('pass wherever they are public', () => {
    assert(
      property(publicUrl, constantFrom(...PLACES), (url, [, , body]) => {
        expect(checkAddresses(body(url), NOBODY).ok).toBe(true);
      }),
      runs(1_000),
    );
  });

  it('pass where the operator names the host, with or without its port', () => {
    const body = chat({ type: 'image_url', image_url: { url: 'http://10.0.0.5:9000/a.png' } });
    expect(checkAddresses(body, new Set(['10.0.0.5'])).ok).toBe(true);
    expect(checkAddresses(body, new Set(['10.0.0.5:9000'])).ok).toBe(true);
    expect(checkAddresses(body, new Set(['10.0.0.5:9001', '10.0.0.6'])).ok).toBe(false);
  });

  it('are words in texts, in arguments of tools and in schemas, where nothing fetches them', () => {
    const url = 'http://localhost:3000/';
    const words: Json = {
      messages: [
        { role: 'user', content: [{ type: 'text', text: url }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'open', input: { url, image_url: url } }] },
      ],
      input: [{ type: 'function_call', name: 'open', arguments: { image_url: url } }],
      tools: [{ input_schema: { properties: { image_url: { default: url } } } }],
      metadata: { image_url: url },
    };
    expect(checkAddresses(words, NOBODY).ok).toBe(true);
  });

  it('are found in what only a provider of the API format understands', () => {
    const url = 'http://10.0.0.1/';
    for (const body of [
      { input: [{ type: 'computer_call_output', output: { type: 'computer_screenshot', image_url: url } }] },
      { tools: [{ type: 'mcp', server_url: url }] },
      { mcp_servers: [{ type: 'url', url }] },
      { input: [{ type: 'something_new', content: [{ audio_url: { url } }] }] },
    ]) {
      expect(checkAddresses(body, NOBODY).ok).toBe(false);
    }
  });
});

describe('a mount', () => {
  let upstream: Upstream;
  const routers: Router[] = [];

  beforeAll(async () => {
    upstream = await startUpstream(answerWith('Fine.'));
  });

  afterAll(async () => {
    await Promise.all(routers.map((router) => router.close()));
    await upstream[Symbol.asyncDispose]();
  });

  function open(allowPrivate?: readonly string[]): Router {
    const all = ['text', 'image', 'file', 'video', 'audio'] as const;
    const provider = openaiCompatible({
      slug: 'acme',
      baseURL: upstream.baseURL,
      apiKey: 'none',
      models: {
        'acme/all': { inputModalities: all },
        'acme/vectors': { inputModalities: all, outputModalities: ['embeddings'] },
      },
    });
    const router = createRouter({
      providers: [provider],
      allowAnonymous: true,
      ...(allowPrivate && { net: { allowPrivate } }),
    });
    routers.push(router);
    return router;
  }

  it.each(Object.entries(MOUNTS))('%s refuses them before any provider is called', async (_name, mount) => {
    await using served = await mount(open());
    const before = upstream.requests.length;
    for (const [path, route, body] of PLACES) {
      const sent = await fetch(`${served.baseURL}${route}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body('http://169.254.169.254/latest/meta-data/')),
      });
      const text = await sent.text();
      expect({
        route,
        status: sent.status,
        names: text.includes(path),
        says: text.includes('net.allowPrivate'),
      }).toEqual({
        route,
        status: 400,
        names: true,
        says: true,
      });
    }
    expect(upstream.requests.length).toBe(before);
  });

  it('passes on what the operator allows', async () => {
    const router = open(['10.0.0.5:9000']);
    const image = (url: string) => ({
      model: 'acme/all',
      messages: [{ role: 'user' as const, content: [{ type: 'image_url' as const, image_url: { url } }] }],
    });
    await expect(router.chat(image('http://10.0.0.5:9000/a.png'))).resolves.toBeDefined();
    await expect(router.chat(image('http://10.0.0.6:9000/a.png'))).rejects.toThrow('net.allowPrivate');
    await router.close();
  });
});
