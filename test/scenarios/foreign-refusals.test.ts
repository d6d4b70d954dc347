/** What a provider says to one account changes nothing in the requests of another. */
import { type Account, createRouter, openaiCompatible, type Router, type WarningEvent } from 'signalbox';
import { fakeEnvironment, type FakeEnvironment } from 'signalbox/testing';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type MemoryAnswer,
  type MemoryCall,
  memoryError,
  memoryReply,
  memoryTransport,
} from '../support/memory-upstream.ts';
import { stormOfRuns } from '../support/properties.ts';

type Body = Parameters<Router['chat']>[0];

const MODEL = 'acme/one';
const A: Account = { id: 'a' };
const B: Account = { id: 'b' };
const C: Account = { id: 'c' };

interface Bench extends AsyncDisposable {
  readonly router: Router;
  readonly sent: MemoryCall[];
  readonly warnings: WarningEvent[];
  readonly environment: FakeEnvironment;
  answer: (call: MemoryCall) => MemoryAnswer;
  /** Sends a request; gives its status. */
  readonly ask: (account: Account, body: Partial<Body>) => Promise<number>;
  /** The body that an account's request would have upstream now. */
  readonly bodyOf: (account: Account, body: Partial<Body>) => Promise<string>;
}

function startBench(): Bench {
  const sent: MemoryCall[] = [];
  const warnings: WarningEvent[] = [];
  const environment = fakeEnvironment();
  const transport = memoryTransport((call) => {
    sent.push(call);
    return bench.answer(call);
  });
  const router: Router = createRouter({
    providers: [openaiCompatible({ slug: 'up', baseURL: 'http://up.test/v1', transport, models: { [MODEL]: {} } })],
    fallback: { triesPerEndpoint: 1 },
    environment,
    on: { warning: (warning) => void warnings.push(warning) },
  });
  const whole = (body: Partial<Body>): Body => ({ model: MODEL, messages: [{ role: 'user', content: 'Hi' }], ...body });
  const bench: Bench = {
    router,
    sent,
    warnings,
    environment,
    answer: ({ body }) => memoryReply(body),
    async ask(account, body) {
      try {
        if (body.stream !== true) await router.chat(whole(body), { account });
        else for await (const _ of router.stream(whole(body), { account })) void _;
        return 200;
      } catch (error) {
        return (error as { status: number }).status;
      }
    },
    async bodyOf(account, body) {
      const { answer } = bench;
      bench.answer = (call) => memoryReply(call.body);
      await bench.ask(account, body);
      bench.answer = answer;
      return sent.at(-1)?.text ?? '';
    },
    [Symbol.asyncDispose]: () => router.close(),
  };
  return bench;
}

/** All that one of the tables of refusals may name, in a request. */
const FULL: Partial<Body> & Readonly<Record<string, unknown>> = {
  temperature: 0,
  top_p: 0.5,
  seed: 7,
  stop: ['END'],
  logprobs: true,
  top_logprobs: 2,
  max_tokens: 20,
  logit_bias: { '1': -100 },
  parallel_tool_calls: false,
  reasoning_effort: 'high',
  user: 'me',
  store: false,
  metadata: { a: 'b' },
  safe_prompt: true,
  safety_settings: [{ category: 'x', threshold: 'y' }],
  prompt_cache_retention: 'in_memory',
  tools: [
    {
      type: 'function',
      function: { name: 'f', parameters: { type: 'object', properties: { a: { type: 'string' } } } },
    },
  ],
  response_format: {
    type: 'json_schema',
    json_schema: {
      name: 'x',
      strict: true,
      schema: {
        type: 'object',
        properties: { a: { type: 'string', pattern: '^a', minLength: 2 } },
        required: ['a'],
        additionalProperties: false,
      },
    },
  },
};

const NAMES = [
  ...Object.keys(FULL),
  'max_completion_tokens',
  'service_tier',
  'safety_identifier',
  'stream_options',
  'n',
  'messages',
  'model',
  'stream',
];

/** Sentences of refusals, with the place of a name. */
const SENTENCES: readonly ((name: string) => string)[] = [
  (name) => `${name} is not supported`,
  (name) => `Unsupported parameter: '${name}' is not supported with this model.`,
  (name) => `unknown parameter: ${name}`,
  (name) => `Unsupported parameter: ${name}, use max_evil instead`,
  (name) => `Unsupported parameter: '${name}'. Use 'max_completion_tokens' instead.`,
  (name) => `${name}: Extra inputs are not permitted`,
  (name) => `${name} must be one of: none`,
  (name) => `The model does not support ${name}.`,
  (name) => `Unsupported value: '${name}' does not support 0 with this model. Only the default (1) value is supported.`,
  (name) => `Unrecognized request argument supplied: ${name}`,
  (name) => `keywords ${name}, pattern, minLength are not supported`,
  (name) => `Invalid schema for response_format 'x': In context=(), '${name}' is not permitted.`,
  (name) => `${name} and temperature cannot both be specified`,
];

/** How a provider repeats a text in an error. */
const ECHOES: readonly ((text: string, name: string) => MemoryAnswer)[] = [
  (text) => memoryError(400, text),
  (text) => memoryError(400, `[{'type': 'value_error', 'input_value': '${text}'}]`),
  (text) => memoryError(400, `1 validation error: ${text} [type=value_error, input_value='${text}']`),
  (text) => memoryError(422, `"${text.slice(0, 40)}`),
  (text) => memoryError(400, `BadRequestError: ${text}`),
  (text, name) => memoryError(400, 'Unsupported value', { param: name, code: 'unsupported_value', input: text }),
  (text, name) => ({ status: 422, body: { detail: [{ loc: ['body', 'messages', name], msg: text, input: text }] } }),
  (text, name) => ({
    status: 422,
    body: { detail: [{ loc: ['body', name], msg: 'Extra inputs are not permitted', input: text }] },
  }),
  (text) => ({ status: 400, body: text }),
];

describe('what an account makes a provider say', () => {
  it('changes nothing that is sent for another', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            name: fc.constantFrom(...NAMES),
            sentence: fc.nat(SENTENCES.length - 1),
            echo: fc.nat(ECHOES.length - 1),
            stream: fc.boolean(),
            isFull: fc.boolean(),
            // Accounts come cheap.
            account: fc.constantFrom(A, C),
            // Whether the second try is answered, and the account comes back later.
            isAnswered: fc.boolean(),
            pauseMs: fc.constantFrom(0, 1_000, 400_000),
          }),
          { minLength: 1, maxLength: 4 },
        ),
        async (attacks) => {
          await using bench = startBench();
          const before = await bench.bodyOf(B, FULL);
          for (const { name, sentence, echo, stream, isFull, account, isAnswered, pauseMs } of attacks) {
            const text = SENTENCES[sentence]?.(name) ?? '';
            let calls = 0;
            bench.answer = (call) => {
              calls += 1;
              return calls > 1 && isAnswered
                ? memoryReply(call.body)
                : (ECHOES[echo]?.(text, name) ?? memoryError(400, ''));
            };
            await bench.ask(account, {
              ...(isFull ? FULL : { [name]: FULL[name] ?? 5 }),
              ...(name === 'messages' || name === 'model' ? { [name]: undefined } : {}),
              ...(isFull ? {} : { model: MODEL }),
              messages: [{ role: 'user', content: text }],
              stream,
            });
            if (pauseMs > 0) await bench.environment.advance(pauseMs);
          }
          expect(await bench.bodyOf(B, FULL)).toBe(before);
          expect(bench.warnings.filter(({ code }) => code === 'word_refused')).toEqual([]);
        },
      ),
      stormOfRuns(600),
    );
  }, 120_000);

  it.each([
    'store',
    'safe_prompt',
    'safety_settings',
    'metadata',
    'prompt_cache_retention',
    'tools',
    'response_format',
  ])('never takes %s out of a request, not even of its own', async (name) => {
    await using bench = startBench();
    bench.answer = () =>
      memoryError(400, `Unsupported parameter: '${name}'`, { param: name, code: 'unsupported_parameter' });
    expect(await bench.ask(A, FULL)).toBe(400);
    expect(bench.sent).toHaveLength(1);
  });

  it('leads to no name of a limit that is not in the table', async () => {
    await using bench = startBench();
    bench.answer = () => memoryError(400, 'Unsupported parameter: max_tokens, use max_evil instead');
    expect(await bench.ask(A, { max_tokens: 20 })).toBe(400);
    expect(bench.sent).toHaveLength(1);
  });
});

const refusing =
  (name: string, message = `Unsupported parameter: '${name}' is not supported with this model.`) =>
  ({ body }: MemoryCall): MemoryAnswer =>
    name in body ? memoryError(400, message) : memoryReply(body);

describe('a word that an endpoint refuses', () => {
  it('is left out for its account, then for all once two have met it, and put back once it is taken', async () => {
    await using bench = startBench();
    const request = { seed: 1 };
    bench.answer = refusing('seed');
    const triesOf = async (account: Account): Promise<number> => {
      const before = bench.sent.length;
      expect(await bench.ask(account, request)).toBe(200);
      return bench.sent.length - before;
    };
    expect([await triesOf(A), await triesOf(A), await triesOf(B), await triesOf(C)]).toEqual([2, 1, 2, 1]);
    expect(bench.warnings.filter(({ code }) => code === 'word_refused').map(({ message }) => message)).toEqual([
      expect.stringContaining('up refused seed for acme/one'),
      expect.stringContaining('requests of all'),
    ]);
    // It is refused no longer: each account finds that out for itself.
    bench.answer = ({ body }) => memoryReply(body);
    expect('seed' in (JSON.parse(await bench.bodyOf(A, request)) as object)).toBe(false);
    await bench.environment.advance(300_000);
    for (const account of [A, C]) {
      expect('seed' in (JSON.parse(await bench.bodyOf(account, request)) as object)).toBe(true);
      expect('seed' in (JSON.parse(await bench.bodyOf(account, request)) as object)).toBe(true);
    }
  });

  it('is left out by a probe that meets it again, in the same request', async () => {
    await using bench = startBench();
    bench.answer = refusing('seed');
    await bench.ask(A, { seed: 1 });
    await bench.environment.advance(300_000);
    expect(await bench.ask(A, { seed: 1 })).toBe(200);
    expect(bench.sent.map(({ body }) => 'seed' in body)).toEqual([true, false, true, false]);
    expect(await bench.ask(A, { seed: 1 })).toBe(200);
    expect(bench.sent).toHaveLength(5);
    expect(bench.warnings.filter(({ code }) => code === 'word_refused')).toHaveLength(1);
  });

  it('is forgotten by forgetRefusals', async () => {
    await using bench = startBench();
    bench.answer = refusing('seed');
    await bench.ask(A, { seed: 1 });
    expect(
      (await bench.router.explain({ model: MODEL, messages: [{ role: 'user', content: 'Hi' }] }, { account: A }))
        .steps[0],
    ).toMatchObject({
      refuses: ['seed'],
    });
    expect(bench.router.forgetRefusals({ account: 'a' })).toBe(1);
    expect(JSON.parse(await bench.bodyOf(A, { seed: 1 }))).toMatchObject({ seed: 1 });
  });

  it('takes the words with it that have no meaning without it', async () => {
    await using bench = startBench();
    bench.answer = ({ body }) => {
      if ('logprobs' in body) return memoryError(400, '`logprobs` is not supported');
      return 'top_logprobs' in body ? memoryError(400, 'top_logprobs requires logprobs') : memoryReply(body);
    };
    expect(await bench.ask(A, { logprobs: true, top_logprobs: 2 })).toBe(200);
  });

  it.each([
    'logprobs is not supported with tools + stream',
    "'logprobs' is not supported with tools",
    'logprobs is not allowed together with response_format',
    'logprobs is not supported when streaming',
    'logprobs is not supported for this model while streaming',
    'logprobs is not supported if tools are given',
    'logprobs is not supported in combination with tools',
    'logprobs is not supported alongside tools',
    'logprobs is not supported unless stream is false',
    'logprobs is not supported in streaming mode',
    'logprobs is not supported (tools present)',
    'logprobs is not supported by this model given tools',
    'logprobs is not supported: remove tools',
    'logprobs is not supported with this model and tools',
    'Unsupported parameter: logprobs. It cannot be used with tools.',
    'The model does not support logprobs with tools.',
    "Unsupported parameter: 'logprobs' is not supported with this model under tool use.",
    "Unsupported value: 'logprobs' does not support true with this model.",
  ])('is left out of the one request that meets a condition: %s', async (message) => {
    await using bench = startBench();
    bench.answer = ({ body }) =>
      'tools' in body && 'logprobs' in body ? memoryError(400, message, { param: 'logprobs' }) : memoryReply(body);
    const { tools } = FULL;
    expect(await bench.ask(A, { logprobs: true, top_logprobs: 2, tools })).toBe(200);
    expect(bench.sent.at(-1)?.body).not.toHaveProperty('top_logprobs');
    for (const account of [A, B]) {
      expect(JSON.parse(await bench.bodyOf(account, { logprobs: true, top_logprobs: 2 }))).toMatchObject({
        logprobs: true,
        top_logprobs: 2,
      });
    }
    expect(bench.warnings.filter(({ code }) => code === 'word_refused')).toEqual([]);
  });
});
