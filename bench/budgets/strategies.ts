/** Ways in which an account may try to spend more than its budget, and what a provider that honours them bills. */
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRouter, openaiCompatible, type Router } from '../../src/index.ts';

/** US dollars per million tokens, and the budget of each strategy. */
const PRICE = { prompt: 2, completion: 10 };
const LIMIT_USD = 0.05;
/** Tokens that the fake generates in a second while it is read. */
const SPEED = 100;
/** Longest answer of the fake. */
const MOST_TOKENS = 8_000;

/** A way to leave a budget. */
export interface Strategy {
  readonly name: string;
  readonly body: object;
  /** Requests. Default 60. */
  readonly times?: number;
  /** True: one after the other. Default false: all at once. */
  readonly inTurn?: boolean;
  /** Milliseconds after which the client leaves. Default: it stays. */
  readonly leavesAfterMs?: number;
  /** US dollars of the budget. Default 0.05. */
  readonly limitUsd?: number;
  readonly apiFormat?: 'messages' | 'responses';
  readonly embeds?: boolean;
}

const text = (content: string, more: object = {}): object => ({
  model: 'acme/one',
  messages: [{ role: 'user', content }],
  max_tokens: 1,
  ...more,
});

const SECOND_LIMITS = [
  ...'num_predict n_predict max_new_tokens max_output_tokens max_length min_tokens min_length min_new_tokens'.split(
    ' ',
  ),
  ...'max_tokens_to_sample tokens_to_generate max_gen_len maxOutputTokens max_thinking_tokens thinking_budget'.split(
    ' ',
  ),
];
const MULTIPLIERS = ['best_of', 'num_beams', 'num_return_sequences', 'candidateCount', 'beam_width', 'num_samples'];
const NESTS = ['extra_body', 'options', 'generationConfig', 'parameters', 'sampling_params', 'generation_config'];

const PROMPTS: Readonly<Record<string, string>> = {
  'space and line breaks': ' \n'.repeat(6_000),
  'control characters': '\u0001\u0002'.repeat(4_000),
  'lone returns': '\r'.repeat(6_000),
  'mixed spaces': '\t \u2003\n'.repeat(3_000),
  emoji: '👩‍👩‍👧‍👦'.repeat(800),
  'rare signs': '𒀀𒁀𒂀'.repeat(1_000),
  prose: 'The quick brown fox jumps over the lazy dog. '.repeat(400),
  digits: '1234567890'.repeat(800),
  base64: 'aGVsbG8gd29ybGQhIQ9Zx7'.repeat(300),
};

const called = (calls: number): object =>
  text('Go on', {
    messages: [
      { role: 'user', content: 'Go' },
      {
        role: 'assistant',
        content: null,
        tool_calls: Array.from({ length: calls }, (_, index) => ({
          id: `call_${index}`,
          type: 'function',
          function: { name: 'look', arguments: JSON.stringify({ at: 'somewhere far away '.repeat(40) }) },
        })),
      },
      ...Array.from({ length: calls }, (_, index) => ({ role: 'tool', tool_call_id: `call_${index}`, content: 'ok' })),
    ],
  });

const tool = { type: 'function', function: { name: 'f', description: 'It does much. '.repeat(400), parameters: {} } };
/** A call that reserves $0.001, under a budget of twelve: what the fake thinks before it is left is worth more than that. */
const think = { stream: true, max_tokens: 100 };
const LEFT = { limitUsd: 0.012, times: 60, inTurn: true };

/** Sixty ways. */
export const STRATEGIES: readonly Strategy[] = [
  ...SECOND_LIMITS.map((name) => ({ name: `a second limit: ${name}`, body: text('Hi', { [name]: 8_000 }) })),
  ...MULTIPLIERS.map((name) => ({ name: `a multiplier: ${name}`, body: text('Hi', { max_tokens: 40, [name]: 20 }) })),
  ...NESTS.map((nest) => ({ name: `nested in ${nest}`, body: text('Hi', { [nest]: { max_tokens: 8_000 } }) })),
  { name: 'in capitals and dashes', body: text('Hi', { 'MAX-NEW-TOKENS': 8_000 }) },
  { name: 'n as a text', body: text('Hi', { max_tokens: 40, n: '20' }) },
  { name: 'n', body: text('Hi', { max_tokens: 40, n: 20 }) },
  { name: 'nested n', body: text('Hi', { max_tokens: 40, extra_body: { n: 20 } }) },
  { name: 'in a list', body: text('Hi', { options: [{ num_predict: 8_000 }] }) },
  { name: 'ignore_eos', body: text('Hi', { ignore_eos: true, min_tokens: 8_000 }) },
  ...Object.entries(PROMPTS).map(([name, prompt]) => ({ name: `a prompt of ${name}`, body: text(prompt) })),
  ...[50, 300, 800].map((ms) => ({
    name: `leaves a thinking model after ${ms} ms`,
    body: text('Think', think),
    ...LEFT,
    leavesAfterMs: ms,
  })),
  { name: 'leaves at once, all together', body: text('Think', think), leavesAfterMs: 5 },
  { name: 'leaves a response after 300 ms', body: text('Think', { max_tokens: 100 }), ...LEFT, leavesAfterMs: 800 },
  { name: 'no limit at all', body: text('Hi', { max_tokens: undefined }) },
  { name: 'both limits', body: text('Hi', { max_completion_tokens: 900 }) },
  { name: 'the highest limit', body: text('Hi', { max_tokens: 8_000 }) },
  { name: 'reasoning beside a short answer', body: text('Hi', { reasoning: { max_tokens: 2_000 } }) },
  { name: 'reasoning effort', body: text('Hi', { reasoning: { effort: 'high' }, max_tokens: 900 }) },
  { name: 'tools', body: text('Hi', { tools: [tool] }) },
  { name: 'calls of the history', body: called(20) },
  {
    name: 'many short messages',
    body: text('', { messages: Array.from({ length: 900 }, () => ({ role: 'user', content: 'a' })) }),
  },
  {
    name: 'many parts',
    body: text('', {
      messages: [{ role: 'user', content: Array.from({ length: 900 }, () => ({ type: 'text', text: ' ' })) }],
    }),
  },
  { name: 'fallbacks', body: text('Hi', { models: ['acme/one', 'acme/two'], max_tokens: 300 }) },
  { name: 'a priority tier', body: text('Hi', { service_tier: 'priority', max_tokens: 300 }) },
  { name: 'streams', body: text('Hi', { stream: true, max_tokens: 300 }) },
  { name: 'one after the other', body: text('Hi', { max_tokens: 300 }), inTurn: true },
  { name: 'Messages', body: text('Hi', { max_tokens: 300, num_predict: 8_000 }), apiFormat: 'messages' },
  { name: 'Responses', body: { model: 'acme/one', input: 'Hi', max_output_tokens: 300 }, apiFormat: 'responses' },
  { name: 'embeddings', body: { model: 'acme/vectors', input: 'word '.repeat(4_000) }, embeds: true },
  { name: 'embeddings of white space', body: { model: 'acme/vectors', input: ' \n'.repeat(6_000) }, embeds: true },
];

/** What became of a strategy. */
export interface StrategyResult {
  readonly name: string;
  /** Requests that were answered, or left. */
  readonly admitted: number;
  /** What the provider bills, in relation to the budget. */
  readonly ratio: number;
}

/** Tries a strategy; the provider bills whatever it was sent. */
export async function tryStrategy(strategy: Strategy): Promise<StrategyResult> {
  const fake = await startFake();
  const { inTurn = false, times = 60, limitUsd = LIMIT_USD } = strategy;
  const declared = { price: PRICE, maxOutputTokens: MOST_TOKENS };
  const router = createRouter({
    providers: [
      openaiCompatible({
        slug: 'fake',
        baseURL: fake.baseURL,
        apiKey: 'x',
        models: {
          'acme/one': declared,
          'acme/two': declared,
          'acme/vectors': { price: PRICE, outputModalities: ['embeddings'] },
        },
      }),
    ],
    hedge: false,
    fallback: { maxAttempts: 2 },
  });
  let admitted = 0;
  const ask = async (): Promise<void> => {
    if (await isAdmitted(router, strategy)) admitted += 1;
  };
  if (inTurn) for (let each = 0; each < times; each += 1) await ask();
  else await Promise.all(Array.from({ length: times }, ask));
  await router.close();
  return { name: strategy.name, admitted, ratio: (await fake.close()) / limitUsd };
}

async function isAdmitted(
  router: Router,
  { body, apiFormat, embeds, leavesAfterMs, limitUsd = LIMIT_USD }: Strategy,
): Promise<boolean> {
  const client = new AbortController();
  const timer =
    leavesAfterMs === undefined ? undefined : setTimeout(() => client.abort(new Error('left')), leavesAfterMs);
  const options = { account: { id: 'a', budget: { limitUsd } }, signal: client.signal };
  try {
    if (embeds === true) await router.embed(body as Parameters<Router['embed']>[0], options);
    else {
      const opened = await router.open(body, { ...options, ...(apiFormat && { apiFormat }) });
      if (opened.type === 'whole') await opened.answer;
      else for (let read: unknown = ''; read !== undefined;) read = await opened.stream.read();
    }
    return true;
  } catch (error) {
    return !(error instanceof Error && 'status' in error);
  } finally {
    clearTimeout(timer);
  }
}

/** Starts a provider that honours every field that it knows from any server, wherever it is; closing gives the bill. */
async function startFake(): Promise<{ readonly baseURL: string; close(): Promise<number> }> {
  let usd = 0;
  const server = createServer((request, response) => {
    let sent = '';
    request.on('data', (chunk: Buffer) => (sent += chunk.toString()));
    request.on('end', () => {
      const body = JSON.parse(sent) as Record<string, unknown>;
      const prompt = promptOf(body);
      usd += (prompt * PRICE.prompt) / 1e6;
      if (request.url?.endsWith('/embeddings') === true) return embed(response, prompt);
      answer(response, body, prompt, (tokens) => (usd += (tokens * PRICE.completion) / 1e6));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async close() {
      // What the fake still generates ends, and is billed, when it notices that nobody reads.
      await new Promise((resolve) => setTimeout(resolve, 50));
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      return usd;
    },
  };
}

function embed(response: ServerResponse, prompt: number): void {
  const usage = { prompt_tokens: prompt, total_tokens: prompt };
  write(response, { object: 'list', data: [{ index: 0, embedding: [0.5] }], usage });
}

function answer(
  response: ServerResponse,
  body: Readonly<Record<string, unknown>>,
  prompt: number,
  bill: (tokens: number) => void,
): void {
  const tokens = answerOf(body);
  const usage = { prompt_tokens: prompt, completion_tokens: tokens, total_tokens: prompt + tokens };
  const [{ content = '' } = {}] = (body['messages'] ?? []) as { content?: unknown }[];
  if (content === 'Think') {
    const began = performance.now();
    response.on('close', () => bill(Math.min(tokens, ((performance.now() - began) / 1_000) * SPEED)));
    if (body['stream'] === true) response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    return;
  }
  bill(tokens);
  const choice = { index: 0, finish_reason: 'stop' };
  if (body['stream'] !== true)
    return write(response, { choices: [{ ...choice, message: { role: 'assistant', content: 'Hi' } }], usage });
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(
    `data: ${JSON.stringify({ choices: [{ ...choice, delta: { content: 'Hi' } }], usage })}\n\ndata: [DONE]\n\n`,
  );
}

function write(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** Tokens of everything that the model reads. */
function promptOf({ messages, input, tools }: Readonly<Record<string, unknown>>): number {
  const texts: string[] = [];
  const collect = (value: unknown): void => {
    if (typeof value === 'string') texts.push(value);
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(collect);
  };
  for (const part of [messages, input, tools]) collect(part);
  return texts.reduce((sum, one) => sum + encode(one).length, 0);
}

const LIMIT = /predict|max.*(?:token|length|len)|min.*(?:token|length)|tokens_to|budget/i;
const MULTIPLIER = /^n$|best_of|beam|sequences|candidatecount|samples/i;

/** Tokens that the fake generates: the highest limit that is anywhere in the body, times every multiplier. */
function answerOf(body: Readonly<Record<string, unknown>>): number {
  let most = 0;
  let times = 1;
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, member] of Object.entries(value)) {
      if (name === 'messages' || name === 'tools') continue;
      const number = Number(member);
      const plain = name.replaceAll('-', '_');
      if (typeof member === 'object') visit(member);
      else if (MULTIPLIER.test(plain) && number > 0) times *= number;
      else if (LIMIT.test(plain) && number > 0) most = Math.max(most, number);
    }
  };
  visit(body);
  return Math.min(most === 0 ? MOST_TOKENS : most, MOST_TOKENS) * times;
}
