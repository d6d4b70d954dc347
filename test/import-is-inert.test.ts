/** Runs in a process of its own: it replaces globals while the package loads. */
import { Script } from 'node:vm';
import { afterAll, beforeAll, expect, it } from 'vitest';

/** What Cloudflare Workers refuse while modules are loaded, and what gives every instance the same answer there. */
const FORBIDDEN: readonly (readonly [owner: object, name: string])[] = [
  [globalThis, 'AbortController'],
  [globalThis, 'fetch'],
  [globalThis, 'setTimeout'],
  [globalThis, 'setInterval'],
  [globalThis, 'setImmediate'],
  [globalThis, 'WebSocket'],
  [AbortSignal, 'timeout'],
  [AbortSignal, 'abort'],
  [AbortSignal, 'any'],
  [crypto, 'getRandomValues'],
  [crypto, 'randomUUID'],
  [crypto.subtle, 'digest'],
  [crypto.subtle, 'importKey'],
  [Math, 'random'],
  [Date, 'now'],
  [performance, 'now'],
];

/** What runs the tests, and what Workers do not load: their transport is another. */
const NOT_OURS =
  /node_modules\/(?:\.vite|@?vitest|vite|@vitest|tinypool|tinyspy|undici|birpc|chai|why-is-node-running)\b/;

/** Names of what was called, with the places that called it. */
const calls: string[] = [];
const restore: (() => void)[] = [];

function watch(owner: object, name: string): void {
  const original: unknown = Reflect.get(owner, name);
  if (typeof original !== 'function') throw new TypeError(`${name} is no function`);
  const note = (): void => {
    const frames = (new Error(name).stack ?? '').split('\n').slice(2);
    const place = frames.find(
      (frame) => /\/(?:src|adapters|node_modules)\//.test(frame) && !frame.includes(import.meta.filename),
    );
    if (place !== undefined && !NOT_OURS.test(place)) calls.push(`${name} ${place.trim()}`);
  };
  const watched = new Proxy(original as () => unknown, {
    apply(target, self, given: []) {
      note();
      return Reflect.apply(target, self, given);
    },
    construct(target, given, self) {
      note();
      return Reflect.construct(target, given, self) as object;
    },
  });
  if (!Reflect.set(owner, name, watched)) throw new TypeError(`${name} cannot be watched`);
  restore.push(() => Reflect.set(owner, name, original));
}

beforeAll(() => {
  for (const [owner, name] of FORBIDDEN) watch(owner, name);
});

afterAll(() => {
  for (const one of restore) one();
});

/** Doors of the package that Workers may load. */
const DOORS: Readonly<Record<string, () => Promise<object>>> = {
  'signalbox/fetch': () => import('signalbox/fetch'),
  'signalbox/next': () => import('signalbox/next'),
  signalbox: () => import('signalbox'),
  'signalbox/provider': () => import('signalbox/provider'),
  'signalbox/catalog': () => import('signalbox/catalog'),
  'signalbox/opentelemetry': () => import('signalbox/opentelemetry'),
  'the transport of Workers': () => import('../src/net/fetch.ts'),
  'the reader of PDFs of Workers': () => import('../src/plugins/services/pdf/runner-inline.ts'),
  'the OpenAPI document': () => import('../src/http/openapi/text.ts'),
};

it.each(Object.entries(DOORS))(
  'nothing random, timed or with I/O runs when it is imported: %s',
  async (_name, load) => {
    calls.length = 0;
    expect(Object.keys(await load()).length).toBeGreaterThan(0);
    expect(calls).toEqual([]);
  },
);

it('would be seen', () => {
  calls.length = 0;
  // As a module of ours would call it.
  new Script('new AbortController(); Math.random();', { filename: '/src/somewhere.ts' }).runInThisContext();
  expect(calls).toEqual([
    expect.stringMatching(/^AbortController .*somewhere/),
    expect.stringMatching(/^random .*somewhere/),
  ]);
});
