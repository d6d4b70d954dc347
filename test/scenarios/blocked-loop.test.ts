/** Runs in a process of its own: it measures how long single turns take, to which the garbage of other tests would add. */
import { createRouter, openaiCompatible } from 'signalbox';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fedProvider } from '../support/fed-provider.ts';
import { leastOf, watchTurns, withNoise } from '../support/longest-turn.ts';
import { MOUNTS, type Mounted } from '../support/mounts.ts';
import { chatHead, connectRaw } from '../support/raw-http.ts';
import { STORMS_ARE_FULL } from '../support/storms.ts';
import { type ThreadUpstream, startThreadUpstream } from '../support/thread-upstream.ts';

/** Milliseconds of the processor that a turn may take, whatever is in a body within the limits. */
const LONGEST_TURN_MS = 250;

/** The same for each megabyte that was begun. */
const TURN_MS_PER_MB = 50;

/** Milliseconds of the processor that a plugin may take in a turn. */
const LONGEST_PLUGIN_TURN_MS = withNoise(100);

function limitFor(body: Uint8Array): number {
  return withNoise(Math.min(LONGEST_TURN_MS, TURN_MS_PER_MB * Math.ceil(body.byteLength / 1_000_000)));
}

/** Bytes of bodies that are one long text: a quarter of the limit, so that a busy machine makes no difference. */
const LONG = 8_000_000;

const many = (count: number, item: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => item(at)).join();
const filled = (bytes: number, unit: string): string => unit.repeat(Math.floor(bytes / Buffer.byteLength(unit)));
const saying = (content: string, more = ''): string =>
  `{"max_tokens":9,"model":"acme/one","messages":[{"role":"user","content":${content}}]${more}}`;
const part = '{"type":"text","text":"a"}';

/** Bodies that are small and were made to be expensive, and the largest that are allowed. */
const BODIES: Readonly<Record<string, () => string>> = {
  'ten million objects': () => `[${'{},'.repeat(10_000_000)}{}]`,
  '31 million brackets': () => '['.repeat(31_000_000),
  'a million names': () => saying('"a"', `,"trace":{${many(1_000_000, (at) => `"k${at}":1`)}}`),
  'metadata with 150,000 pairs': () => saying('"a"', `,"metadata":{${many(150_000, (at) => `"k${at}":"a"`)}}`),
  'metadata with 19,000 pairs': () => saying('"a"', `,"metadata":{${many(19_000, (at) => `"k${at}":"a"`)}}`),
  '19,000 names in one object': () => saying('"a"', `,"x":{${many(19_000, (at) => `"k${at}":1`)}}`),
  '19,000 names in many objects': () =>
    saying('"a"', `,"x":[${many(630, (row) => `{${many(30, (at) => `"k${row}_${at}":1`)}}`)}]`),
  '190,000 values': () => saying('"a"', `,"x":[${'{},'.repeat(190_000)}1]`),
  '10,000 messages': () =>
    `{"max_tokens":9,"model":"acme/one","messages":[${many(10_000, (at) => `{"role":"${at % 2 === 0 ? 'user' : 'assistant'}","content":"${at}"}`)}]}`,
  '60,000 parts of a message': () => saying(`[${many(60_000, () => part)}]`),
  'a wrong part at the end': () => saying(`[${many(60_000, () => part)},{"type":"text","text":1}]`),
  'a long text': () => saying(`"${filled(LONG, 'hello world ')}"`),
  'a long text of escapes': () => saying(`"${filled(LONG, '\\n')}"`),
  'a long text of quotation marks': () => saying(`"${filled(LONG, '\\"')}"`),
  'a long text with half a character': () => saying(`"${filled(LONG, '\\"')}\\ud800"`),
  'a long text of Chinese': () => saying(`"${filled(LONG, '漢字')}"`),
  'white space': () => `${filled(LONG, ' ')}${saying('"a"')}`,
  'a long number': () => saying('"a"', `,"seed":${filled(LONG, '1')}`),
  'a text without an end': () => `{"a":"${filled(LONG, 'a')}`,
};

const PATHS = ['chat/completions', 'messages', 'batches'];
/**
 * Which bodies go where. A batch is read piece by piece; the other two are read alike, and differ in what they accept:
 * without storms they take turns.
 */
const SENT = Object.entries(BODIES).flatMap(([name, make], index) =>
  PATHS.filter((path, at) => STORMS_ARE_FULL || path === 'batches' || at === index % 2).map((path) => ({
    path,
    name,
    make,
  })),
);

describe('a body within the limit on bytes', () => {
  let upstream: ThreadUpstream;
  let mount: Mounted;

  beforeAll(async () => {
    upstream = await startThreadUpstream();
    const models = { 'acme/one': { contextLength: 100_000_000 } };
    const provider = openaiCompatible({ slug: 'acme', apiKey: 'k'.repeat(20), baseURL: upstream.baseURL, models });
    const router = createRouter({ providers: [provider], on: { warning: () => undefined } });
    mount = (await MOUNTS['node']?.(router)) as Mounted;
  });
  afterAll(async () => {
    await mount[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  async function longestTurn(path: string, body: Uint8Array, headers: Record<string, string> = {}): Promise<number> {
    await using client = await connectRaw(mount);
    const watch = watchTurns();
    client.write(chatHead(body.byteLength, headers).replace('chat/completions', path));
    client.write(body);
    expect(await client.until(/\r\n\r\n[^]*\}$/)).toBe(true);
    expect(client.text()).toMatch(/^HTTP\/1\.1 [24]\d\d /);
    return watch.stop();
  }

  it.each(SENT)('holds nobody up: $name, $path', async ({ path, make }) => {
    const body = path === 'batches' ? batchOf(make()) : Buffer.from(make());
    const limit = limitFor(body);
    expect(await leastOf(limit, () => longestTurn(path, body))).toBeLessThanOrEqual(limit);
  });

  it('holds nobody up when it comes compressed', async () => {
    for (const make of [BODIES['ten million objects'], BODIES['31 million brackets']]) {
      const body = gzipSync(make?.() ?? '', { level: 1 });
      for (const path of PATHS) {
        const turn = (): Promise<number> => longestTurn(path, body, { 'content-encoding': 'gzip' });
        const limit = withNoise(LONGEST_TURN_MS);
        expect(await leastOf(limit, turn)).toBeLessThanOrEqual(limit);
      }
    }
  });
});

function batchOf(body: string): Buffer {
  return Buffer.from(`{"endpoint":"/v1/chat/completions","requests":[{"custom_id":"a","body":${body}}]}`);
}

describe('context compression', () => {
  const cat = 'The cat sat on the mat and 漢字. ';

  it.each([
    ['one long text', () => [filled(27_000_000, cat)]],
    ['many texts', () => Array.from({ length: 9_000 }, () => filled(3_000, cat))],
    ['letters without an end', () => [filled(27_000_000, 'a')]],
  ])('holds nobody up with %s, asked and unasked', async (_name, texts) => {
    const models = { 'acme/small': { contextLength: 8_192 }, 'acme/large': { contextLength: 1_000_000 } };
    const provider = fedProvider({ models, script: (fed) => fed.answer('Hi') });
    const router = createRouter({ providers: [provider], on: { warning: () => undefined } });
    const contents = texts();
    for (const request of [
      { model: 'acme/small' },
      { model: 'acme/large', plugins: [{ id: 'context-compression' }] },
      { model: 'acme/small', plugins: [{ id: 'context-compression', engine: 'relevant' }] },
    ]) {
      const least = await leastOf(LONGEST_PLUGIN_TURN_MS, async () => {
        // New messages each time: what was counted of one is remembered.
        const messages = contents.map((content) => ({ role: 'user' as const, content }));
        const watch = watchTurns();
        await router.chat({ ...request, messages });
        const turn = watch.stop();
        expect(provider.calls.at(-1)?.call.request.messages).not.toEqual(messages);
        return turn;
      });
      expect(least).toBeLessThanOrEqual(LONGEST_PLUGIN_TURN_MS);
    }
  });
});
