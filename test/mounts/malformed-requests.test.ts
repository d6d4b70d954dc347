/** Runs in a process of its own: it watches every connection that the process opens. */
import { channel } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
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
import { createPdfRunner } from '../../src/plugins/services/pdf/runner-inline.ts';
import { fedProvider, GOOD_END } from '../support/fed-provider.ts';
import { HOSTS } from '../support/hosts.ts';
import { chatBody } from '../support/http-call.ts';
import type { Mounted } from '../support/mounts.ts';
import { connectRaw } from '../support/raw-http.ts';
import { STORMS_ARE_FULL } from '../support/storms.ts';
import { EVERY_FORM, FIELDS, type Form, GOOD, POSTED, SPELLINGS, WIRE } from '../support/malformed-forms.ts';

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

describe.each(NAMES)('malformed requests to %s', (name) => {
  const share = <Item>(items: readonly Item[], parts: number): readonly Item[] =>
    items.filter((_, index) => index % parts === NAMES.indexOf(name) % parts);

  // In a storm every third form, so that each is sent to three mounts or four; else to one or two. And every value of a
  // field to one.
  it('never are a failure of ours', async () => {
    const forms = [...share(EVERY_FORM, STORMS_ARE_FULL ? 3 : 6), ...WIRE, ...share(FIELDS, NAMES.length)];
    expect(forms.length).toBeGreaterThan(STORMS_ARE_FULL ? 300 : 150);
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
      { numRuns: STORMS_ARE_FULL ? 300 : 100 },
    );
  });
});

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
