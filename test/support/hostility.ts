/**
 * What one account may do to another, a row for each: traffic whose answers, errors and silence it brings about itself. A
 * finding of an attack is a row here, and the differential test then holds all others against it.
 */
import * as fc from 'fast-check';
import type { CallInit } from './http-call.ts';
import { type MemoryAnswer, memoryError, memoryReply } from './memory-upstream.ts';

/** What a provider does with a request that says so; it goes by the text of the request alone, as content would. */
export interface Directive {
  readonly status?: number;
  /** Its error message. */
  readonly message?: string;
  /** Members beside the message. */
  readonly more?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text of its answer, where it answers. */
  readonly content?: string;
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly total_tokens: number;
  };
  /** True: nothing comes until the call is given up. */
  readonly hangs?: boolean;
  /** True: only the first call of the same text is answered so. */
  readonly once?: boolean;
}

const MARK = '##directive ';

/** A text that makes the provider of {@link directedAnswer} do something. */
export function saying(text: string, directive: Directive): string {
  return `${text}\n${MARK}${JSON.stringify(directive)}##`;
}

/** What a text says that is to be done; undefined for any other text. */
export function directiveIn(text: string): Directive | undefined {
  const found = /##directive (\{.*?\})##/.exec(text)?.[1];
  return found === undefined ? undefined : (JSON.parse(found) as Directive);
}

/** The answer of a provider that goes by what the prompt says. */
export function directedAnswer(
  body: Readonly<Record<string, unknown>>,
  directive: Directive | undefined,
): MemoryAnswer {
  if (directive?.status !== undefined) {
    const { status, message = '', more, headers } = directive;
    return { ...memoryError(status, message, more), ...(headers && { headers }) };
  }
  // A prompt counts by its length, so that everybody's bill depends on what it sent alone.
  const prompt = Math.ceil(JSON.stringify(body['messages'] ?? '').length / 4);
  const usage = directive?.usage ?? { prompt_tokens: prompt, completion_tokens: 20, total_tokens: prompt + 20 };
  return memoryReply(body, directive?.content ?? 'Fine.', usage);
}

/** One thing that the hostile account does. */
export interface HostileAct {
  readonly row: string;
  readonly call: CallInit;
  /** True for one whose client goes away before there is an answer. */
  readonly leaves?: boolean;
  /** How often, at once. */
  readonly times?: number;
}

const chat = (content: string, more: object = {}): CallInit => ({
  body: { model: 'acme/one', messages: [{ role: 'user', content }], ...more },
});

const NAMES =
  'temperature top_p seed stop logprobs max_tokens store safe_prompt reasoning_effort logit_bias parallel_tool_calls user metadata response_format tools service_tier'.split(
    ' ',
  );
const FIELDS = {
  temperature: 1,
  top_p: 0.3,
  seed: 3,
  stop: ['x'],
  logprobs: true,
  max_tokens: 30,
  store: false,
  safe_prompt: true,
  reasoning_effort: 'low',
};

/** Refusals of words: the first call is refused, the one without the word is not. */
const SENTENCES = [
  (name: string) => `${name} is not supported`,
  (name: string) => `Unsupported parameter: '${name}' is not supported with this model.`,
  (name: string) => `unknown parameter: ${name}`,
  (name: string) => `Unsupported parameter: ${name}, use max_evil instead`,
  (name: string) => `${name} must be one of: none`,
  (name: string) => `${name} is not supported with tools + stream`,
  (name: string) => `keywords ${name}, pattern, minLength are not supported`,
];

/** Texts of providers about accounts, keys, models and rates, as content may make a server repeat them. */
const ACCOUNT_TEXTS: readonly (readonly [number, string])[] = [
  [400, 'Insufficient balance'],
  [402, 'Insufficient credits'],
  [403, 'Your credit balance is too low'],
  [400, 'Invalid API key'],
  [403, 'This organization has been disabled'],
  [403, 'Your API key was reported as leaked.'],
  [404, 'The model `one` does not exist'],
  [400, 'Model not exist'],
  [404, '404 page not found'],
  [403, 'This is not allowed for you'],
  [404, 'Not here'],
  [402, 'Too much'],
  [401, 'Missing scopes'],
  [429, 'Please try again in 3000s'],
  [503, 'Please try again in 50m'],
];

const text = fc.constantFrom('Hello', 'x'.repeat(3_000), '\u{1f600}'.repeat(500), ' \n'.repeat(800), '(['.repeat(400));

/** All rows. */
export const HOSTILITY: readonly fc.Arbitrary<HostileAct>[] = [
  // Learned refusals (security report 1, real servers 1).
  fc
    .record({
      name: fc.constantFrom(...NAMES),
      sentence: fc.constantFrom(...SENTENCES),
      stream: fc.boolean(),
      member: fc.boolean(),
    })
    .map(({ name, sentence, stream, member }) => {
      const message = sentence(name);
      const more = member ? { param: name, code: 'unsupported_parameter' } : {};
      const content = saying(message, { status: 400, message, more, once: true });
      return { row: 'echoed refusal', call: chat(content, { ...FIELDS, stream }) };
    }),
  // The same of words that are in no text: what a server truly says of one request.
  fc.constantFrom(...SENTENCES).map((sentence) => ({
    row: 'refusal by a value or a combination',
    call: chat(
      saying('Hi', { status: 400, message: sentence('seed'), once: true }).replace('"seed', '"\\u0073eed'),
      FIELDS,
    ),
  })),
  // Errors about accounts and models that content brings about.
  fc.constantFrom(...ACCOUNT_TEXTS).chain(([status, message]) =>
    fc.integer({ min: 1, max: 4 }).map((times) => ({
      row: 'echoed account error',
      call: chat(saying(message, { status, message })),
      times,
    })),
  ),
  // Poisoned requests.
  fc
    .record({
      status: fc.constantFrom(408, 409, 413, 422, 424, 500, 502, 503, 504, 529),
      times: fc.integer({ min: 1, max: 12 }),
    })
    .map(({ status, times }) => ({ row: 'poison', call: chat(saying('Poison', { status, message: 'Boom' })), times })),
  // Not here: 429s, and 503s that say for how long. No content brings them about, so they are outages of the endpoint.
  // Silence and clients that leave.
  fc
    .record({ stream: fc.boolean(), leaves: fc.boolean(), times: fc.integer({ min: 1, max: 3 }) })
    .map(({ stream, leaves, times }) => ({
      row: 'hangs',
      call: chat(saying('Hang', { hangs: true }), { stream }),
      leaves,
      times,
    })),
  text.chain((content) =>
    fc.boolean().map((stream) => ({ row: 'leaves', call: chat(content, { stream }), leaves: true })),
  ),
  // What is learned from usage: counts of tokens and costs that are far off.
  fc
    .record({ times: fc.constantFrom(0.4, 0.5, 2, 2.9), cost: fc.constantFrom(undefined, 0.00001, 0.01) })
    .map(({ times, cost }) => {
      const content = 'Some words of a prompt that is long enough to be counted, again and again. '.repeat(8);
      const prompt = Math.round(150 * times);
      const usage = { prompt_tokens: prompt, completion_tokens: 20, total_tokens: prompt + 20, ...(cost && { cost }) };
      return { row: 'odd usage', call: chat(saying(content, { usage })), times: 6 };
    }),
  // Formats, batches, files, counts, lists, keys, headers, plugins, large texts.
  fc
    .constantFrom<CallInit>(
      {
        path: '/messages',
        body: {
          model: 'acme/one',
          max_tokens: 9,
          messages: [
            {
              role: 'user',
              content: saying('seed is not supported', { status: 400, message: 'seed is not supported', once: true }),
            },
          ],
        },
      },
      {
        path: '/responses',
        body: {
          model: 'acme/one',
          input: saying('temperature is not supported', {
            status: 400,
            message: 'temperature is not supported',
            once: true,
          }),
          temperature: 1,
        },
      },
      {
        path: '/messages/count_tokens',
        body: { model: 'acme/one', messages: [{ role: 'user', content: 'Count me' }] },
      },
      { method: 'GET', path: '/models' },
      { method: 'GET', path: '/batches' },
      { method: 'GET', path: '/keys' },
      {
        path: '/batches',
        body: {
          endpoint: '/v1/chat/completions',
          model: 'acme/one',
          requests: [
            {
              custom_id: 'a',
              body: {
                messages: [
                  {
                    role: 'user',
                    content: saying('stop is not supported', {
                      status: 400,
                      message: 'stop is not supported',
                      once: true,
                    }),
                  },
                ],
                stop: ['x'],
              },
            },
          ],
        },
      },
      { body: '{"model":' },
      { body: { model: '__proto__', messages: [{ role: 'user', content: 'x' }] } },
    )
    .map((call) => ({ row: 'another operation', call })),
  fc
    .constantFrom<Readonly<Record<string, string>>>(
      { 'x-session-id': 'shared-session' },
      { 'anthropic-beta': 'x-2026-01-01' },
      { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
      { 'x-router-cache': 'true' },
    )
    .map((headers) => ({ row: 'headers', call: { ...chat('Hello'), headers } })),
  fc
    .constantFrom<object>(
      { session_id: 'shared-session', seed: 9 },
      { provider: { order: ['right'] } },
      { provider: { require_parameters: true }, seed: 1 },
      { plugins: [{ id: 'response-healing' }], response_format: { type: 'json_object' } },
      { user: 'the same user', metadata: { a: 'b' } },
      { n: 5 },
      { prompt_cache_key: 'shared' },
    )
    .map((more) => ({ row: 'shared names', call: chat('Hello', more) })),
  text.map((content) => ({ row: 'texts', call: chat(content), times: 2 })),
];
