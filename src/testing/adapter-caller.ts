/** Milliseconds that one answer may take. */
const TIMEOUT_MS = 15_000;

/** Calls a mounted router. */
export interface Caller {
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
export function callerOf(baseURL: string, apiKey: string): Caller {
  const authorization = `Bearer ${apiKey}`;

  async function call(path: string, init: RequestInit): Promise<Response> {
    const url = path.startsWith('http') ? path : `${baseURL}${path}`;
    const { signal = AbortSignal.timeout(TIMEOUT_MS) } = init;
    return fetch(url, { redirect: 'manual', ...init, signal });
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
export interface StreamReader {
  /** Reads until this text has come; false when the stream ends before. What came before it is dropped. */
  until(text: string): Promise<boolean>;
  /** Everything that is left. */
  rest(): Promise<string>;
  /** Goes away in the middle. */
  leave(): void;
}

/** Makes a {@link StreamReader}. */
export function readStream(response: Response): StreamReader {
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
    leave: () => void reader?.cancel().catch(ignore),
  };
}

/** @throws Error with what was expected, when it is not so. */
export function expectThat(holds: boolean, expectation: string): asserts holds {
  if (!holds) throw new Error(`It does not hold that ${expectation}.`);
}

/** @throws Error when an answer is not an error of the router's own making. */
export async function expectJsonError(response: Response, status: number): Promise<void> {
  const text = await response.text();
  const type = response.headers.get('content-type') ?? '';
  expectThat(response.status === status, `the status is ${status}, not ${response.status}: ${text.slice(0, 200)}`);
  expectThat(type.startsWith('application/json'), `an error is JSON, not ${type}: ${text.slice(0, 200)}`);
  const { error } = JSON.parse(text) as { error?: { code?: unknown; message?: unknown } };
  expectThat(error?.code === status, `the error has the code ${status}: ${text.slice(0, 200)}`);
  expectThat(typeof error.message === 'string' && error.message !== '', 'the error has a message');
}

function ignore(): void {}
