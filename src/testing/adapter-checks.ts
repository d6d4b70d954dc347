/** The checks for authors of mounts. */
import { ADAPTER_BODY_LIMIT, type AdapterControl, AWKWARD_TEXT } from './adapter-control.ts';
import { expectHolds } from './provider-checks/harness.ts';

/** A check that every mount of a router must pass. */
export interface AdapterCheck {
  /** What must hold, as a sentence. */
  readonly name: string;
  /**
   * Calls the mounted router over HTTP.
   *
   * @param baseURL - Address of the mount, for example `http://127.0.0.1:3000/v1`; its path must not be empty.
   * @param fetch - What calls it. Default: the global `fetch`, which uses HTTP/1.1. A host that also serves HTTP/2 is
   * checked once more with one that supports it.
   * @throws Error that says what did not hold.
   */
  readonly run: (baseURL: string, control: AdapterControl, fetch?: CheckFetch) => Promise<void>;
}

/** The part of `fetch` that the checks need. */
export type CheckFetch = (url: string, init: RequestInit) => Promise<Response>;

/** Header that a host under check must put on each of its answers, as a CORS plugin would. */
export const HOST_HEADER = { name: 'x-host', value: 'yes' } as const;

/** Milliseconds within which a caller's leaving must reach the provider. */
const ABORT_MS = 2_000;

function check(name: string, body: (caller: Caller, control: AdapterControl) => Promise<void>): AdapterCheck {
  return { name, run: (baseURL, control, fetch) => body(callerOf(baseURL, control.apiKey, fetch), control) };
}

/** Begins a stream that the check itself feeds. */
async function holdStream(caller: Caller, control: AdapterControl): Promise<[StreamReader, Held]> {
  const answer = caller.chat('hold', { stream: true });
  const held = await control.held();
  held.say('one ');
  const response = await answer;
  expectHolds(response.status === 200, `a stream has the status 200, not ${response.status}`);
  return [readStream(response), held];
}

type Held = Awaited<ReturnType<AdapterControl['held']>>;

/**
 * The checks for authors of mounts. They need no test runner: each is a name and a function.
 *
 * The host under check mounts `control.router` under some path and, beside it, does three things of its own: it answers
 * `GET /host` with the text `host`, it answers `POST /host` with the JSON that it was sent, and it puts
 * {@link HOST_HEADER} on every answer.
 *
 * @example
 * ```ts
 * const control = adapterControl();
 * const { baseURL } = await startMyHost(control.router);
 * for (const { name, run } of adapterChecks) it(name, () => run(baseURL, control));
 * ```
 */
export const adapterChecks: readonly AdapterCheck[] = [
  check('answers a whole request', async (caller) => {
    const response = await caller.chat('Grüße 👋');
    expectHolds(response.status === 200, `the status is 200, not ${response.status}`);
    expectHolds(response.headers.get('content-type') === 'application/json', 'the content type is application/json');
    const { id, choices } = (await response.json()) as { id: string; choices: [{ message: { content: string } }] };
    expectHolds(response.headers.get('x-generation-id') === id, 'X-Generation-Id names the answer');
    expectHolds(response.headers.has('x-request-id'), 'x-request-id is there');
    expectHolds(choices[0].message.content === 'Grüße 👋', 'the prompt and the answer keep their characters');
  }),

  check('hands on credentials, and answers strangers with a 401', async (caller) => {
    const stranger = await caller.post('/chat/completions', '{}', { authorization: '' });
    await expectJsonError(stranger, 401);
    const known = await caller.post('/chat/completions', caller.body('Hi'), {
      authorization: '',
      'x-api-key': caller.apiKey,
    });
    expectHolds(known.status === 200, `x-api-key is handed on, but gave ${known.status}`);
    await known.text();
  }),

  check('hands on query and escaped path', async (caller) => {
    const page = await caller.get('/models?limit=1&offset=900');
    expectHolds(((await page.json()) as { data?: unknown[] }).data?.length === 0, 'the query reaches the router');
    for (const path of ['/models/check/one', '/models/check%2Fone', '/models/check/one/endpoints/']) {
      const response = await caller.get(path);
      expectHolds(response.status === 200, `${path} is found, but gave ${response.status}`);
      await response.text();
    }
  }),

  check('sends the events of a stream one by one', async (caller, control) => {
    const [reader, held] = await holdStream(caller, control);
    for (const word of ['one ', 'two ', 'three ']) {
      if (word !== 'one ') held.say(word);
      expectHolds(await reader.until(`"content":"${word}"`), `"${word}" arrives before anything follows it`);
    }
    held.finish();
    expectHolds(await reader.until('data: [DONE]\n\n'), 'the stream ends with [DONE]');
    expectHolds((await reader.rest()) === '', 'nothing comes after [DONE]');
  }),

  check('sends comments while a stream is quiet', async (caller, control) => {
    const [reader, held] = await holdStream(caller, control);
    expectHolds(await reader.until(': ROUTER PROCESSING\n\n'), 'a comment comes while nothing else does');
    held.finish();
    expectHolds(await reader.until('data: [DONE]\n\n'), 'the stream goes on after the comment');
  }),

  check('tells caches and proxies to leave a stream alone', async (caller) => {
    const { headers, ...response } = await headersOf(caller.chat('Hi', { stream: true }));
    expectHolds(
      headers.get('content-type') === 'text/event-stream; charset=utf-8',
      'the content type is that of events',
    );
    expectHolds(headers.get('cache-control') === 'no-store, no-transform', 'cache-control is kept');
    expectHolds(headers.get('x-accel-buffering') === 'no', 'x-accel-buffering is kept');
    expectHolds(response.text.endsWith('data: [DONE]\n\n'), 'the stream is whole');
  }),

  check('sends a long stream with every character in its place', async (caller) => {
    const { text: frames } = await headersOf(caller.chat('long', { stream: true }));
    expectHolds(contentOf(frames) === AWKWARD_TEXT, 'the content is what was said');
  }),

  check('tells in the stream when a provider ends it early', async (caller, control) => {
    const [reader, held] = await holdStream(caller, control);
    held.breakOff();
    expectHolds(await reader.until('"finish_reason":"error"'), 'an error chunk comes');
    expectHolds(await reader.until('data: [DONE]\n\n'), 'and then the end');
  }),

  check('stops the provider when the client leaves a stream', async (caller, control) => {
    const [reader, held] = await holdStream(caller, control);
    await reader.until('"content":"one "');
    reader.leave();
    await expectStop(held);
  }),

  check('stops the provider when the client leaves before anything came', async (caller, control) => {
    for (const stream of [true, false]) {
      const controller = new AbortController();
      const answer = caller.chat('hold', { stream }, controller.signal).then(
        (response) => response.text(),
        () => 'left',
      );
      const held = await control.held();
      controller.abort();
      await answer.catch(() => 'left');
      await expectStop(held);
    }
  }),

  check('answers a wrong body with the router’s own error', async (caller) => {
    const wrong: readonly (readonly [status: number, body: string, type?: string])[] = [
      [400, '{"model": '],
      [400, ''],
      [400, '[]'],
      [400, 'null'],
      [400, JSON.stringify({ model: 'check/one', messages: [] })],
      [400, caller.body('Hi', { temperature: 3 })],
      [415, caller.body('Hi'), 'text/plain'],
      [415, caller.body('Hi'), 'application/x-www-form-urlencoded'],
    ];
    for (const [status, body, type = 'application/json'] of wrong) {
      await expectJsonError(await caller.post('/chat/completions', body, { 'content-type': type }), status);
    }
  }),

  check('takes a large body, or refuses it with the router’s own error', async (caller) => {
    const large = await caller.chat('x'.repeat(ADAPTER_BODY_LIMIT / 2));
    if (large.status === 200) await large.text();
    else await expectJsonError(large, 413);
    const tooLarge = await caller.chat('x'.repeat(ADAPTER_BODY_LIMIT));
    await expectJsonError(tooLarge, 413);
  }),

  check('takes a compressed body', async (caller) => {
    const compressed = new Response(caller.body('Hi')).body?.pipeThrough(new CompressionStream('gzip'));
    const bytes = new Uint8Array(await new Response(compressed).arrayBuffer());
    const response = await caller.post('/chat/completions', bytes, { 'content-encoding': 'gzip' });
    expectHolds(response.status === 200, `the status is 200, not ${response.status}`);
    await response.text();
  }),

  check('tells which method a path takes', async (caller) => {
    const chat = await caller.get('/chat/completions');
    expectHolds(chat.headers.get('allow') === 'POST', 'GET of the chat path names POST');
    await expectJsonError(chat, 405);
    const models = await caller.post('/models', '{}');
    expectHolds(models.headers.get('allow') === 'GET, HEAD', 'POST of the models path names GET');
    await expectJsonError(models, 405);
  }),

  check('answers HEAD without a body', async (caller) => {
    const response = await caller.request('HEAD', '/models');
    expectHolds(response.status === 200, `the status is 200, not ${response.status}`);
    expectHolds((await response.text()) === '', 'there is no body');
    const again = await caller.get('/models');
    expectHolds(again.status === 200, 'the connection is still good');
    await again.text();
  }),

  check('leaves paths that are not the router’s to the host', async (caller) => {
    const unknownKeys = ['/nothing', '/chat', '/chat/completions/more', 'x/chat/completions', '/../chat/completions'];
    for (const path of unknownKeys) {
      const response = await caller.post(path, caller.body('Hi'));
      await response.text();
      expectHolds(response.status === 404, `${path} is not found, but gave ${response.status}`);
    }
  }),

  check('leaves the host’s own routes alone', async (caller) => {
    const page = await caller.get(new URL('/host', caller.baseURL).href);
    expectHolds((await page.text()) === 'host', 'GET /host is answered by the host');
    const echo = await caller.post(new URL('/host', caller.baseURL).href, '{"from":"caller"}');
    expectHolds((await echo.text()) === '{"from":"caller"}', 'the host still parses its own bodies');
  }),

  check('keeps headers that the host has set', async (caller) => {
    const answers: readonly (readonly [string, Promise<Response>])[] = [
      ['a non-streaming response', caller.chat('Hi')],
      ['a stream', caller.chat('Hi', { stream: true })],
      ['an error', caller.post('/chat/completions', '{"model":')],
      ['a list', caller.get('/models')],
    ];
    for (const [what, answer] of answers) {
      const { headers } = await headersOf(answer);
      expectHolds(headers.get(HOST_HEADER.name) === HOST_HEADER.value, `${what} keeps ${HOST_HEADER.name}`);
    }
  }),

  check('keeps its connections usable after errors', async (caller) => {
    for (let round = 0; round < 10; round += 1) {
      await expectJsonError(await caller.post('/chat/completions', '{"model":'), 400);
      await expectJsonError(await caller.post('/chat/completions', caller.body('Hi'), { authorization: 'x' }), 401);
      const good = await caller.chat(`round ${round}`);
      expectHolds((await good.text()).includes(`round ${round}`), 'the answer is that to the last question');
    }
  }),

  check('keeps answers apart that are made at the same time', async (caller) => {
    const rounds = Array.from({ length: 25 }, (_, round) => `round <${round}>`);
    const texts = await Promise.all(
      rounds.map(async (prompt, at) => (await caller.chat(prompt, { stream: at % 2 === 0 })).text()),
    );
    expectHolds(
      texts.every((text, at) => text.includes(rounds[at] ?? '?')),
      'everybody gets the own answer',
    );
  }),
];

async function headersOf(answer: Promise<Response>): Promise<{ readonly headers: Headers; readonly text: string }> {
  const response = await answer;
  return { headers: response.headers, text: await response.text() };
}

async function expectStop(held: Held): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<'late'>((resolve) => (timer = setTimeout(resolve, ABORT_MS, 'late')));
  const outcome = await Promise.race([held.stopped, late]);
  clearTimeout(timer);
  expectHolds(outcome !== 'late', `the provider is told within ${ABORT_MS} ms that the client has left`);
}

/** All text of a stream, put together. */
function contentOf(frames: string): string {
  const chunks = frames.split('\n\n').filter((frame) => frame.startsWith('data: {'));
  return chunks
    .map((frame) => JSON.parse(frame.slice('data: '.length)) as { choices: { delta: { content?: string } }[] })
    .map(({ choices }) => choices[0]?.delta.content ?? '')
    .join('');
}

/** Milliseconds that one answer may take. */
const TIMEOUT_MS = 15_000;

/** Calls a mounted router. */
interface Caller {
  readonly baseURL: string;
  readonly apiKey: string;
  /** A chat body as JSON. */
  body(prompt: string, fields?: object): string;
  chat(prompt: string, fields?: object, signal?: AbortSignal): Promise<Response>;
  get(path: string): Promise<Response>;
  /** Headers replace those that every call has; an empty one leaves it out. */
  post(
    path: string,
    body: string | Uint8Array<ArrayBuffer>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Response>;
  request(method: string, path: string): Promise<Response>;
}

/** Makes a {@link Caller}. Paths are those below the mount, or whole addresses. */
function callerOf(baseURL: string, apiKey: string, send: CheckFetch = fetch): Caller {
  const authorization = `Bearer ${apiKey}`;

  async function call(path: string, init: RequestInit): Promise<Response> {
    const url = path.startsWith('http') ? path : `${baseURL}${path}`;
    const { signal = AbortSignal.timeout(TIMEOUT_MS) } = init;
    return send(url, { redirect: 'manual', ...init, signal });
  }

  const body = (prompt: string, fields: object = {}): string =>
    JSON.stringify({ model: 'check/one', messages: [{ role: 'user', content: prompt }], ...fields });

  return {
    baseURL,
    apiKey,
    body,
    chat(prompt, fields, signal) {
      const headers = { authorization, 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: body(prompt, fields) };
      return call('/chat/completions', signal === undefined ? init : { ...init, signal });
    },
    get: (path) => call(path, { headers: { authorization } }),
    post(path, content, headers = {}) {
      const all = { authorization, 'content-type': 'application/json', ...headers };
      const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
      return call(path, { method: 'POST', headers: given, body: content });
    },
    request: (method, path) => call(path, { method, headers: { authorization } }),
  };
}

/** Reads a stream as it comes. */
interface StreamReader {
  /** Reads until this text has come; false when the stream ends before. What came before it is dropped. */
  until(text: string): Promise<boolean>;
  /** Everything that is left. */
  rest(): Promise<string>;
  /** Disconnects in the middle. */
  leave(): void;
}

/** Makes a {@link StreamReader}. */
function readStream(response: Response): StreamReader {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';

  async function more(): Promise<boolean> {
    const chunk = await reader?.read();
    if (chunk === undefined || chunk.done) return false;
    text += decoder.decode(chunk.value, { stream: true });
    return true;
  }

  return {
    async until(wanted) {
      while (!text.includes(wanted)) if (!(await more())) return false;
      text = text.slice(text.indexOf(wanted) + wanted.length);
      return true;
    },
    async rest() {
      while (await more());
      return text;
    },
    leave: () => void reader?.cancel().catch(() => undefined),
  };
}

/** @throws Error when an answer is not an error of the router's own making. */
async function expectJsonError(response: Response, status: number): Promise<void> {
  const text = await response.text();
  const type = response.headers.get('content-type') ?? '';
  expectHolds(response.status === status, `the status is ${status}, not ${response.status}: ${text.slice(0, 200)}`);
  expectHolds(type.startsWith('application/json'), `an error is JSON, not ${type}: ${text.slice(0, 200)}`);
  const { error } = JSON.parse(text) as { error?: { code?: unknown; message?: unknown } };
  expectHolds(error?.code === status, `the error has the code ${status}: ${text.slice(0, 200)}`);
  expectHolds(typeof error.message === 'string' && error.message !== '', 'the error has a message');
}
