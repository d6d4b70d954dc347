import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startUpstream } from './upstream.ts';

/** How a storm over kept streams runs. */
export interface StreamStormOptions {
  readonly redis: string;
  /** Kills, pauses and reloads together. */
  readonly blows: number;
  readonly keepMs: number;
  readonly random: () => number;
  readonly instances?: number;
  /** True where other instances go on with the streams of those that are killed. */
  readonly isContinued?: boolean;
  /** Streams under way at a time, each with two readers. */
  readonly streams?: number;
}

/** What came of it. */
export interface StreamStormReport {
  readonly kills: number;
  readonly pauses: number;
  readonly reloads: number;
  readonly streams: number;
  /** Streams that all of their readers got whole. */
  readonly whole: number;
  /** Streams that another instance went on with, and all of their readers got whole. */
  readonly continued: number;
  /** Streams that ended with the one clear error, because their instance was killed, or paused for too long. */
  readonly lost: number;
  /** Streams that began while their instance had lost its store, and were not there for others. */
  readonly unkept: number;
  /** Bytes that readers got. */
  readonly bytes: number;
  /** Connections that readers made. */
  readonly connections: number;
  /** Requests that an instance metered. */
  readonly metered: number;
  /** What must not be, in sentences. */
  readonly faults: readonly string[];
}

const PROGRAM = fileURLToPath(new URL('stream-instance.ts', import.meta.url));
const PATHS = ['/chat/completions', '/messages', '/responses'] as const;
const WORDS = 150;
/** Milliseconds without a byte after which a reader connects elsewhere. Comments come more often. */
const STALL_MS = 8_000;
/** Milliseconds in which a reader must come to its end. */
const LONGEST_MS = 90_000;
/** What the readers of a stream that ended with an error must be told. */
const CLEAR = /The response ends here: the router instance that read it from its provider is gone/;

interface Instance {
  readonly child: ChildProcess;
  readonly address: string;
  isPaused: boolean;
}

/** Text of a story: each word names its place, so that one that is lost or doubled shows. Some are not ASCII. */
export function storyOf(name: string): readonly string[] {
  return Array.from({ length: WORDS }, (_, index) => `${name}:${index}${index % 7 === 0 ? ' – grün 👋' : ''} `);
}

/** Streams, readers and instances, and what befalls them. */
export async function runStreamStorm(options: StreamStormOptions): Promise<StreamStormReport> {
  await using upstream = await startUpstream((request, response) => void tell(request.body, response, options.random));
  const storm = new StreamStorm(options, upstream.baseURL);
  try {
    await storm.run();
    return storm.report();
  } finally {
    storm.end();
  }
}

/** Tells a story at the pace of a model. */
async function tell(body: object, response: ServerResponse, random: () => number): Promise<void> {
  const { messages } = body as { readonly messages: readonly { readonly role: string; readonly content: unknown }[] };
  const name = /story-\d+/.exec(JSON.stringify(messages))?.[0] ?? 'story';
  const last = messages.at(-1);
  let before = last?.role === 'assistant' ? String(last.content).length : 0;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const chunk = (delta: object, finish: string | null): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'story', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  for (const word of storyOf(name)) {
    if (response.destroyed) return;
    const said = word.slice(before);
    before = Math.max(0, before - word.length);
    if (said === '') continue;
    response.write(chunk({ content: said }, null));
    await sleep(5 + 20 * random());
  }
  const usage = { prompt_tokens: 3, completion_tokens: WORDS, total_tokens: WORDS + 3 };
  response.end(
    `${chunk({}, 'stop')}data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'story', choices: [], usage })}\n\ndata: [DONE]\n\n`,
  );
}

class StreamStorm {
  readonly #options: StreamStormOptions;
  readonly #upstream: string;
  readonly #instances: Instance[] = [];
  readonly #readers = new Set<Reader>();
  readonly #metered = new Map<string, number>();
  readonly #faults: string[] = [];
  #kills = 0;
  #pauses = 0;
  #reloads = 0;
  #told = 0;
  #whole = 0;
  #continued = 0;
  #lost = 0;
  #unkept = 0;
  #bytes = 0;
  #connections = 0;

  constructor(options: StreamStormOptions, upstream: string) {
    this.#options = options;
    this.#upstream = upstream;
  }

  async run(): Promise<void> {
    const { instances = 3, streams = 12 } = this.#options;
    for (let index = 0; index < instances; index += 1) this.#instances.push(await this.#start());
    const left = (): number => this.#options.blows - this.#kills - this.#pauses - this.#reloads;
    const stories = Array.from({ length: streams }, async () => {
      while (left() > 0) await this.#story();
    });
    while (left() > 0) {
      await sleep(40 + 80 * this.#options.random());
      await this.#strike();
    }
    await Promise.all(stories);
  }

  report(): StreamStormReport {
    for (const [id, times] of this.#metered) if (times > 1) this.#faults.push(`${id} was metered ${times} times`);
    return {
      kills: this.#kills,
      pauses: this.#pauses,
      reloads: this.#reloads,
      streams: this.#told,
      whole: this.#whole,
      continued: this.#continued,
      lost: this.#lost,
      unkept: this.#unkept,
      bytes: this.#bytes,
      connections: this.#connections,
      metered: this.#metered.size,
      faults: this.#faults,
    };
  }

  end(): void {
    for (const { child } of this.#instances) child.kill('SIGKILL');
  }

  async #start(): Promise<Instance> {
    const { redis, keepMs, isContinued = false } = this.#options;
    const child = fork(PROGRAM, [redis, this.#upstream, String(keepMs), isContinued ? 'continue' : 'error'], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const [{ address }] = (await once(child, 'message')) as [{ readonly address: string }];
    child.on('message', ({ metered }: { readonly metered: string }) => {
      this.#metered.set(metered, (this.#metered.get(metered) ?? 0) + 1);
    });
    return { child, address, isPaused: false };
  }

  async #strike(): Promise<void> {
    const { random } = this.#options;
    const dice = random();
    const at = Math.floor(random() * this.#instances.length);
    const instance = this.#instances[at];
    if (dice > 0.3 || instance === undefined || instance.isPaused) {
      const readers = [...this.#readers].filter(({ isBegun }) => isBegun);
      const reader = readers[Math.floor(random() * readers.length)];
      if (reader === undefined) return;
      this.#reloads += 1;
      reader.reload();
      return;
    }
    if (dice > 0.12) {
      this.#pauses += 1;
      instance.isPaused = true;
      instance.child.kill('SIGSTOP');
      // Some outlast the time after which an instance counts as gone.
      const ms = random() < 0.2 ? 10_000 : 100 + 2_000 * random();
      setTimeout(() => {
        instance.isPaused = false;
        instance.child.kill('SIGCONT');
      }, ms);
      return;
    }
    this.#kills += 1;
    instance.child.kill('SIGKILL');
    this.#instances[at] = await this.#start();
  }

  /** One stream, read by the client that began it and by another one. */
  async #story(): Promise<void> {
    const { random } = this.#options;
    const number = this.#told;
    this.#told += 1;
    const name = `story-${number}`;
    const path = PATHS[number % PATHS.length] ?? PATHS[0];
    const reader = new Reader(this.#elsewhere, random);
    this.#readers.add(reader);
    const reading = reader.begin(path, name);
    const id = await reader.id;
    if (id === undefined) {
      // Its instance was struck before it answered.
      this.#readers.delete(reader);
      await reading;
      return;
    }
    const other = new Reader(this.#elsewhere, random);
    await sleep(1_000 * random());
    this.#readers.add(other);
    await Promise.all([reading, other.follow(id)]);
    this.#readers.delete(reader);
    this.#readers.delete(other);
    this.#judge(name, path, [reader, other]);
  }

  readonly #elsewhere = (): string => {
    this.#connections += 1;
    const { random } = this.#options;
    return this.#instances[Math.floor(random() * this.#instances.length)]?.address ?? '';
  };

  #judge(name: string, path: string, readers: readonly Reader[]): void {
    const story = storyOf(name).join('');
    const isUnkept = readers.some((reader) => reader.isUnkept);
    const ends = readers.map(({ text, faults }) => {
      this.#bytes += Buffer.byteLength(text);
      this.#faults.push(...faults.map((fault) => `${name}: ${fault}`));
      // An error may close a frame that its reader has a part of.
      const broken = /(?:^|\n{2,4})(?:event: error\n)?data: [^\n]*(?:"finish_reason":"error"|"type":"error")/.exec(
        text,
      );
      return {
        kept: broken === null ? text : text.slice(0, broken.index),
        error: broken === null ? '' : text.slice(broken.index),
      };
    });
    const longest = ends.map(({ kept }) => kept).toSorted((one, two) => two.length - one.length)[0] ?? '';
    for (const { kept, error } of ends) {
      if (!longest.startsWith(kept))
        this.#faults.push(`${name}: two readers got different bytes: ${difference(longest, kept)}`);
      const said = contentOf(kept, path);
      if (!story.startsWith(said)) this.#faults.push(`${name}: words were lost or doubled in ${said.slice(-80)}`);
      if (error === '' && said !== story && !isUnkept)
        this.#faults.push(`${name}: ended after ${said.length} of ${story.length} characters`);
      if (error !== '' && !CLEAR.test(error)) this.#faults.push(`${name}: ended with ${error.slice(0, 300)}`);
    }
    if (isUnkept) this.#unkept += 1;
    else if (ends.every(({ error }) => error === '')) {
      this.#whole += 1;
      if (longest.includes('\n: continued by ')) this.#continued += 1;
    } else this.#lost += 1;
  }
}

/** The words of a stream. */
function contentOf(text: string, path: string): string {
  let said = '';
  for (const [, json = ''] of text.matchAll(/^data: (\{.*\})$/gm)) {
    const event = JSON.parse(json) as {
      readonly type?: string;
      readonly delta?: string | { readonly text?: string };
      readonly choices?: readonly { readonly delta?: { readonly content?: string } }[];
    };
    if (path === '/chat/completions') said += event.choices?.[0]?.delta?.content ?? '';
    else if (path === '/messages') said += typeof event.delta === 'object' ? (event.delta.text ?? '') : '';
    else if (event.type === 'response.output_text.delta') said += typeof event.delta === 'string' ? event.delta : '';
  }
  return said;
}

/** Every second story goes on from a text that it is given; the others are told from their beginning. */
const modelOf = (name: string): string => (Number(name.slice(6)) % 2 === 0 ? 'acme/story' : 'acme/tale');

const REQUESTS: Readonly<Record<(typeof PATHS)[number], (prompt: string) => object>> = {
  '/chat/completions': (content) => ({ model: modelOf(content), stream: true, messages: [{ role: 'user', content }] }),
  '/messages': (content) => ({
    model: modelOf(content),
    stream: true,
    max_tokens: 9_999,
    messages: [{ role: 'user', content }],
  }),
  '/responses': (input) => ({ model: modelOf(input), stream: true, input }),
};

/** A client that reads one stream to its end, whatever happens to its connections. */
class Reader {
  readonly #elsewhere: () => string;
  readonly #random: () => number;
  readonly faults: string[] = [];
  readonly id: Promise<string | undefined>;
  #tellId: (id: string | undefined) => void = () => {};
  #name: string | undefined;
  /** Times that the stream was not there. */
  misses = 0;
  /** True where it ended so. */
  isUnkept = false;
  /** What this reader has. */
  text = '';
  #connection: AbortController | undefined;

  constructor(elsewhere: () => string, random: () => number) {
    this.#elsewhere = elsewhere;
    this.#random = random;
    this.id = new Promise((resolve) => (this.#tellId = resolve));
  }

  get isBegun(): boolean {
    return this.#name !== undefined && this.#connection !== undefined;
  }

  /** Cuts the connection. */
  reload(): void {
    this.#connection?.abort();
  }

  async begin(path: (typeof PATHS)[number], prompt: string): Promise<void> {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(REQUESTS[path](prompt)),
    };
    const ended = await this.#read(this.#elsewhere() + path, init, '');
    if (this.#name === undefined) return this.#tellId(undefined);
    if (!ended) await this.follow(this.#name);
  }

  async follow(id: string): Promise<void> {
    this.#name = id;
    const until = Date.now() + LONGEST_MS;
    while (Date.now() < until) {
      // A page that is loaded anew begins at the first byte; a client that was cut off goes on.
      const isAnew = this.#random() < 0.3;
      const kept = isAnew ? '' : this.text.slice(0, wholeFrames(this.text));
      if (await this.#read(`${this.#elsewhere()}/streams/${id}?from=${Buffer.byteLength(kept)}`, {}, kept)) return;
    }
    this.faults.push('did not come to an end');
  }

  /** True where the stream ended with it. */
  async #read(url: string, init: RequestInit, kept: string): Promise<boolean> {
    const before = this.text;
    let text = kept;
    const connection = new AbortController();
    this.#connection = connection;
    let stalled = setTimeout(() => connection.abort(), STALL_MS);
    try {
      const response = await fetch(url, { ...init, signal: connection.signal });
      this.#name ??= response.headers.get('x-generation-id') ?? undefined;
      this.#tellId(this.#name);
      if (response.status === 204) return true;
      if (response.status !== 200) {
        const body = await response.text();
        // A stream that began while its instance had lost its store, as after a pause, is not kept: that is an end.
        if (response.status === 404) {
          this.misses += 1;
          await sleep(500);
          return this.misses > 6 && (this.isUnkept = true);
        }
        this.faults.push(`answered ${response.status} ${body.slice(0, 200)}`);
        await sleep(200);
        return false;
      }
      const decoder = new TextDecoder();
      for await (const bytes of response.body ?? []) {
        text += decoder.decode(bytes as Uint8Array, { stream: true });
        clearTimeout(stalled);
        stalled = setTimeout(() => connection.abort(), STALL_MS);
      }
      return true;
    } catch {
      // Cut off: by the storm, by us, or by the end of an instance. An error is the end, though, and none of the bytes.
      if (CLEAR.test(text)) return true;
      await sleep(20);
      return false;
    } finally {
      clearTimeout(stalled);
      const shorter = text.length < before.length ? text : before;
      const longer = shorter === text ? before : text;
      if (!isError(longer, shorter) && !longer.startsWith(shorter)) this.faults.push('got other bytes than before');
      // Who begins anew has what came now.
      this.text = text.length >= before.length || kept === '' ? text : before;
      this.#connection = undefined;
    }
  }
}

/** True where two texts differ only in that one ends with the error in the middle of the other. */
function isError(longer: string, shorter: string): boolean {
  return CLEAR.test(longer) || CLEAR.test(shorter);
}

/** Where two texts begin to differ. */
function difference(one: string, other: string): string {
  let at = 0;
  while (one[at] === other[at]) at += 1;
  return `${at} of ${one.length} and ${other.length}: ${JSON.stringify([one, other].map((text) => text.slice(at - 80, at + 80)))}`;
}

/** Characters up to the end of the last whole frame. */
function wholeFrames(text: string): number {
  const end = text.lastIndexOf('\n\n');
  return end < 0 ? 0 : end + 2;
}
