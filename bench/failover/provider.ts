/**
 * A provider over a real socket that misbehaves by the name of the model, as the sixteen faults of FailoverBench's
 * methodology 0.1 describe it. Written from that description.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Every whole answer: sixty words, so that a cut after forty leaves twenty. */
export const ANSWER =
  `A signal box is judged on the night when the line floods, not on a summer afternoon with every train on time. Then its levers must hold, its bells must ring, and no
driver may be shown a clear road that ends in the water. Trust is what remains when the telegraph
fails and trains still arrive, late but whole.`
    .split(/\s+/)
    .join(' ');

const WORDS = ANSWER.split(' ');

/** How long the faults last, in milliseconds. */
export interface FaultTimes {
  readonly betweenWords: number;
  readonly slowFirstToken: number;
  readonly stall: number;
  readonly silence: number;
  /** How long the flapping model is down after the provider was started. */
  readonly down: number;
}

/** One request that the provider got. */
export interface SeenCall {
  readonly model: string;
  /** Milliseconds after the provider was started. */
  readonly at: number;
  /** Whether it was answered as a healthy provider would, as far as its beginning shows. */
  served: boolean;
  /** True when it was refused because it ended in an assistant message. */
  prefillRefused: boolean;
}

/** A provider that is running. */
export interface FaultProvider extends AsyncDisposable {
  readonly baseURL: string;
  readonly calls: readonly SeenCall[];
}

/** What a fault does with the first and with later attempts. */
type Fault = (call: Exchange) => void | Promise<void>;

interface Exchange {
  readonly response: ServerResponse;
  readonly request: IncomingMessage;
  readonly times: FaultTimes;
  /** Number of the attempt at this model, from 1. */
  readonly attempt: number;
  /** Milliseconds after the provider was started. */
  readonly at: number;
  readonly refuse: (status: number, error: object, headers?: Record<string, string>) => void;
  readonly stream: (how?: StreamFault) => Promise<void>;
}

/** What goes wrong in the middle of a stream. */
interface StreamFault {
  readonly firstAfter?: number;
  readonly cutAfter?: number;
  readonly stallAfter?: number;
  readonly unreadableAt?: number;
  readonly withoutDone?: boolean;
}

const overloaded = { message: 'The model is overloaded', type: 'server_error', code: 'overloaded' };
const limited = { message: 'Too many requests', type: 'rate_limit_error', code: 'rate_limit_exceeded' };

const FAULTS: Readonly<Record<string, Fault>> = {
  good: ({ stream }) => stream(),
  s01: ({ attempt, refuse, stream }) => (attempt === 1 ? refuse(429, limited, { 'retry-after': '2' }) : stream()),
  s02: ({ refuse }) => refuse(429, limited),
  s03: ({ attempt, refuse, stream }) =>
    attempt === 1 ? refuse(500, { message: 'Something broke', type: 'server_error' }) : stream(),
  s04: ({ refuse }) => refuse(503, overloaded),
  s05: ({ attempt, request, stream }) => (attempt === 1 ? void request.socket.resetAndDestroy() : stream()),
  s06: async ({ request, times }) => {
    await pause(times.silence);
    request.socket.destroy();
  },
  s07: ({ stream, times }) => stream({ firstAfter: times.slowFirstToken }),
  s08: ({ stream }) => stream({ cutAfter: 40 }),
  s09: ({ stream }) => stream({ stallAfter: 20 }),
  s10: ({ stream }) => stream({ unreadableAt: 10 }),
  s11: ({ stream }) => stream({ withoutDone: true }),
  s12: ({ refuse }) =>
    refuse(400, {
      message: 'The prompt has more tokens than the context of 8192',
      type: 'invalid_request_error',
      code: 'context_length_exceeded',
    }),
  s13: ({ refuse }) =>
    refuse(400, {
      message: 'The safety system rejected the request',
      type: 'invalid_request_error',
      code: 'content_policy_violation',
    }),
  s14: ({ stream }) => stream({ cutAfter: 40 }),
  s15: ({ at, times, refuse, stream }) => (at < times.down ? refuse(503, overloaded) : stream()),
  s16: ({ refuse }) => refuse(503, overloaded),
};

/** Starts the provider on a free port of loopback. */
export async function startFaultProvider(times: FaultTimes): Promise<FaultProvider> {
  const startedAt = performance.now();
  const calls: SeenCall[] = [];
  const server = createServer((request, response) => {
    response.on('error', ignore);
    void readBody(request).then((body) => {
      const model = String(body['model']);
      const call: SeenCall = { model, at: performance.now() - startedAt, served: false, prefillRefused: false };
      calls.push(call);
      const attempt = calls.filter((other) => other.model === model).length;
      return answer(call, body, { request, response, times, attempt });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    calls,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(
  call: SeenCall,
  body: Readonly<Record<string, unknown>>,
  made: Pick<Exchange, 'request' | 'response' | 'times' | 'attempt'>,
): Promise<void> {
  const { response, times } = made;
  const messages = (body['messages'] ?? []) as readonly { readonly role: string; readonly content: unknown }[];
  const last = messages.at(-1);
  const refuse: Exchange['refuse'] = (status, error, headers = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ error }));
  };
  const prefill = last?.role === 'assistant' ? String(last.content).trim() : undefined;
  if (prefill !== undefined && call.model === 'good-without-prefill') {
    call.prefillRefused = true;
    return refuse(400, { message: 'This model does not take an assistant prefill', type: 'invalid_request_error' });
  }
  const goesOn = prefill !== undefined && ANSWER.startsWith(prefill);
  const words = goesOn ? ANSWER.slice(prefill.length).trim().split(' ') : WORDS;
  const usage = usageOf(messages.length, words.length);
  const stream: Exchange['stream'] = async (how = {}) => {
    call.served = true;
    if (body['stream'] === true) return streamWords(made, { words, usage, goesOn, how, model: call.model });
    const text = `${goesOn ? ' ' : ''}${words.join(' ')}`;
    const message = { role: 'assistant', content: text };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        id: 'answer',
        model: call.model,
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage,
      }),
    );
  };
  const fault = FAULTS[call.model] ?? FAULTS['good'];
  await fault?.({ ...made, times, at: call.at, refuse, stream });
}

function usageOf(messages: number, words: number): object {
  const prompt = 20 + 4 * messages;
  return { prompt_tokens: prompt, completion_tokens: words, total_tokens: prompt + words };
}

interface Said {
  readonly words: readonly string[];
  readonly usage: object;
  /** True when the words come behind those of a prefill. */
  readonly goesOn: boolean;
  readonly how: StreamFault;
  readonly model: string;
}

async function streamWords(
  { response, request, times }: Pick<Exchange, 'request' | 'response' | 'times'>,
  { words, usage, goesOn, how, model }: Said,
): Promise<void> {
  const head = { id: 'answer', object: 'chat.completion.chunk', created: 1_700_000_000, model };
  const send = (data: object): void => void response.write(`data: ${JSON.stringify({ ...head, ...data })}\n\n`);
  const say = (delta: object, finish: string | null = null): void =>
    send({ choices: [{ index: 0, delta, finish_reason: finish }] });
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  if (how.firstAfter !== undefined) await pause(how.firstAfter);
  say({ role: 'assistant', content: '' });
  for (const [index, word] of words.entries()) {
    if (index === how.cutAfter) return void request.socket.destroy();
    if (index === how.stallAfter) {
      await pause(times.stall);
      return void request.socket.destroy();
    }
    if (index === how.unreadableAt) response.write('data: {"id": "answer", "choices": [{"delta": {"content": \n\n');
    say({ content: index > 0 || goesOn ? ` ${word}` : word });
    await pause(times.betweenWords);
  }
  say({}, 'stop');
  send({ choices: [], usage });
  response.end(how.withoutDone === true ? undefined : 'data: [DONE]\n\n');
}

async function readBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  let text = '';
  for await (const part of request) text += String(part);
  return JSON.parse(text === '' ? '{}' : text) as Readonly<Record<string, unknown>>;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref());
}

function ignore(): void {}
