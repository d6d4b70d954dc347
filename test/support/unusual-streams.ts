import { type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { type Router, anthropic, createRouter, fromAiSdk, google, openaiCompatible } from 'signalbox';
import { fetchRouter } from 'signalbox/fetch';
import { eventsIn, messageIn } from './messages-stream.ts';
import { readStream } from './sse-client.ts';

/** A wire that an unusual stream comes over: `sdk` is chat completions through the AI SDK. */
export type UnusualWire = 'chat' | 'messages' | 'responses' | 'gemini' | 'sdk';

/** An API format of ours. */
export type ApiFormat = 'chat' | 'messages' | 'responses';

export const API_FORMATS: readonly ApiFormat[] = ['chat', 'messages', 'responses'];

/** What an upstream sends: the pieces of its body, and how the connection ends. */
export interface UnusualBody {
  readonly pieces: readonly (string | Uint8Array)[];
  readonly type?: 'text/event-stream' | 'application/json';
  /** Default `close`. `reset` breaks the connection behind the last piece. */
  readonly ending?: 'close' | 'reset';
}

/** What a client of any format has of an answer in the end. */
export interface SeenAnswer {
  readonly status: number;
  /** True where the stream ended with an error. */
  readonly broken: boolean;
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly (readonly [name: string, args: string])[];
  /** In the words of chat completions; null where the answer is no success. */
  readonly finish: string | null;
  readonly prompt: number;
  readonly completion: number;
  readonly cached: number;
  readonly costUsd: number | undefined;
  /** Addresses that are cited, with their titles. */
  readonly sources: readonly string[];
  /** What the upstream is sent back with its calls. */
  readonly extras: readonly unknown[];
}

/** A router in front of an upstream that sends what it is told, over each wire. */
export interface UnusualUpstream extends AsyncDisposable {
  readonly router: Router;
  /** Bodies of the requests that came, the last one last. */
  readonly requests: readonly Record<string, unknown>[];
  /** Asks over a wire, in a format, for a stream or not; the upstream sends `body`. */
  ask(wire: UnusualWire, format: ApiFormat, stream: boolean, body: UnusualBody, fields?: object): Promise<SeenAnswer>;
}

/** Prices of every model: US dollars for a million tokens. */
const PRICE = { prompt: 1, completion: 2, cacheRead: 0.1 };

const TOOLS = ['now', 'look'].map((name) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: {} } },
}));

export async function startUnusualUpstream(): Promise<UnusualUpstream> {
  let next: UnusualBody = { pieces: [] };
  const requests: Record<string, unknown>[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (bytes: Buffer) => chunks.push(bytes));
    request.on('end', () => {
      requests.push(JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>);
      void send(response, next);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const apiKey = 'key-of-the-upstream';
  const options = (wire: UnusualWire) => ({
    slug: wire,
    baseURL,
    apiKey,
    models: { [`acme/${wire}`]: { upstreamModel: 'one', price: PRICE } },
  });
  const sdkModel = createOpenAICompatible({ name: 'own', baseURL, apiKey, includeUsage: true })('one');
  const router = createRouter({
    providers: [
      openaiCompatible(options('chat')),
      anthropic(options('messages')),
      openaiCompatible({ ...options('responses'), nativeApiFormats: ['responses'] }),
      google(options('gemini')),
      fromAiSdk({ slug: 'sdk', models: { 'acme/sdk': { model: sdkModel, price: PRICE } } }),
    ],
    allowAnonymous: true,
    fallback: { triesPerEndpoint: 1 },
    breaker: false,
    hangDetection: false,
    on: { warning: () => {} },
  });
  const serve = fetchRouter(router, { basePath: '/v1' });
  return {
    router,
    requests,
    async ask(wire, format, stream, body, fields = {}) {
      next = body;
      const response = await serve(
        new Request(`http://localhost/v1${PATHS[format]}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ ...BODIES[format], model: `acme/${wire}`, stream, ...fields }),
        }),
      );
      const text = await response.text();
      return seen(format, response.status, text, stream && response.status === 200);
    },
    async [Symbol.asyncDispose]() {
      await router.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const PATHS = { chat: '/chat/completions', messages: '/messages', responses: '/responses' };

const BODIES: Readonly<Record<ApiFormat, object>> = {
  chat: { messages: [{ role: 'user', content: 'Go' }], tools: TOOLS },
  messages: {
    max_tokens: 100,
    messages: [{ role: 'user', content: 'Go' }],
    tools: TOOLS.map(({ function: { name, parameters } }) => ({ name, input_schema: parameters })),
  },
  responses: { input: 'Go', tools: TOOLS.map(({ function: called }) => ({ type: 'function', ...called })) },
};

async function send(response: ServerResponse, { pieces, type = 'text/event-stream', ending }: UnusualBody) {
  response.writeHead(200, { 'content-type': type });
  for (const piece of pieces) {
    await new Promise((resolve) => response.write(piece, resolve));
    if (pieces.length > 1) await new Promise((resolve) => setImmediate(resolve));
  }
  if (ending === 'reset') response.destroy();
  else response.end();
}

type Json = Record<string, unknown>;

const object = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});
const objects = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.map(object) : []);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const count = (value: unknown): number => (typeof value === 'number' ? value : 0);

function seen(format: ApiFormat, status: number, body: string, streamed: boolean): SeenAnswer {
  if (status !== 200) return { ...NOTHING, status };
  if (format === 'chat') return streamed ? chatStream(body) : chatAnswer(JSON.parse(body) as Json);
  if (format === 'messages') return streamed ? messagesStream(body) : messagesAnswer(JSON.parse(body) as Json);
  return streamed ? responsesStream(body) : responsesAnswer(JSON.parse(body) as Json);
}

const NOTHING: SeenAnswer = {
  status: 200,
  broken: false,
  text: '',
  reasoning: '',
  calls: [],
  finish: null,
  prompt: 0,
  completion: 0,
  cached: 0,
  costUsd: undefined,
  sources: [],
  extras: [],
};

function chatUsage(value: unknown): Pick<SeenAnswer, 'prompt' | 'completion' | 'cached' | 'costUsd'> {
  const usage = object(value);
  return {
    prompt: count(usage['prompt_tokens']),
    completion: count(usage['completion_tokens']),
    cached: count(object(usage['prompt_tokens_details'])['cached_tokens']),
    costUsd: usage['cost'] as number | undefined,
  };
}

function sourcesOf(annotations: unknown): readonly string[] {
  return objects(annotations).map((one) => {
    const { url, title } = object(one['url_citation'] ?? one);
    return `${text(url)} ${text(title)}`.trim();
  });
}

function chatAnswer(body: Json): SeenAnswer {
  const [choice = {}] = objects(body['choices']);
  const message = object(choice['message']);
  const calls = objects(message['tool_calls']);
  return {
    ...NOTHING,
    ...chatUsage(body['usage']),
    text: text(message['content']),
    reasoning: text(message['reasoning']),
    calls: calls.map(({ function: called }) => [text(object(called)['name']), text(object(called)['arguments'])]),
    finish: text(choice['finish_reason']),
    sources: sourcesOf(message['annotations']),
    extras: calls.flatMap(({ extra_content: extra }) => extra ?? []),
  };
}

/** As strictly as a client may: ids and names come once, finish and usage once and last. */
function chatStream(body: string): SeenAnswer {
  const { chunks, done, finishReasons } = readStream(body);
  if (!done) throw new Error('ends without [DONE]');
  const calls: { id: string; name: string; args: string }[] = [];
  const extras: unknown[] = [];
  let said = '';
  let reasoning = '';
  let annotations: readonly unknown[] = [];
  for (const { delta } of chunks.flatMap(({ choices }) => choices)) {
    said += delta.content ?? '';
    reasoning += delta.reasoning ?? '';
    annotations = [...annotations, ...(delta.annotations ?? [])];
    for (const { index, id, function: called, extra_content: extra } of delta.tool_calls ?? []) {
      if (index > calls.length) throw new Error('a call leaves a gap');
      const call = (calls[index] ??= { id: '', name: '', args: '' });
      call.id += id ?? '';
      call.name += called?.name ?? '';
      call.args += called?.arguments ?? '';
      if (extra !== undefined) extras.push(extra);
    }
  }
  if (new Set(calls.map(({ id }) => id)).size !== calls.length) throw new Error('two calls have one id');
  if (finishReasons.length !== 1) throw new Error(`finishes ${finishReasons.length} times`);
  const broken = finishReasons[0] === 'error';
  const usages = chunks.filter(({ usage }) => usage !== undefined);
  if (usages.length !== (broken ? 0 : 1)) throw new Error(`${usages.length} reports of usage`);
  return {
    ...NOTHING,
    ...chatUsage(usages[0]?.usage),
    broken,
    text: said,
    reasoning,
    calls: calls.map(({ name, args }) => [name, args]),
    finish: broken ? null : (finishReasons[0] ?? null),
    sources: sourcesOf(annotations),
    extras,
  };
}

const STOP_REASONS: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  max_tokens: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

function messagesAnswer(message: Json): SeenAnswer {
  const blocks = objects(message['content']);
  const usage = object(message['usage']);
  const ofType = (type: string): readonly Json[] => blocks.filter((block) => block['type'] === type);
  const cached = count(usage['cache_read_input_tokens']);
  return {
    ...NOTHING,
    text: ofType('text')
      .map((block) => text(block['text']))
      .join(''),
    reasoning: ofType('thinking')
      .map((block) => text(block['thinking']))
      .join(''),
    calls: ofType('tool_use').map(({ name, input }) => [text(name), JSON.stringify(input)]),
    finish: STOP_REASONS[text(message['stop_reason'])] ?? text(message['stop_reason']),
    prompt: count(usage['input_tokens']) + cached + count(usage['cache_creation_input_tokens']),
    completion: count(usage['output_tokens']),
    cached,
    costUsd: usage['cost'] as number | undefined,
    sources: ofType('text').flatMap((block) => sourcesOf(block['citations'])),
  };
}

function messagesStream(body: string): SeenAnswer {
  const events = eventsIn(body.replace(/^:.*\n\n/gm, ''));
  if (events.at(-1)?.type !== 'error') {
    const message = messageIn(events);
    // Counts are cumulative: what the last event leaves out, the first has said.
    const first = object(object(events.find(({ type }) => type === 'message_start')?.['message'])['usage']);
    return messagesAnswer({ ...message, usage: { ...first, ...object(message['usage']) } });
  }
  const said = events.flatMap(({ delta }) => text(object(delta)['text']));
  return { ...NOTHING, broken: true, text: said.join('') };
}

function responsesAnswer(response: Json): SeenAnswer {
  const items = objects(response['output']);
  const usage = object(response['usage']);
  const parts = items.filter(({ type }) => type === 'message').flatMap(({ content }) => objects(content));
  const calls = items.filter(({ type }) => type === 'function_call');
  const reason = object(response['incomplete_details'])['reason'];
  const thoughts = items.filter(({ type }) => type === 'reasoning');
  return {
    ...NOTHING,
    broken: response['status'] === 'failed',
    text: parts.map((part) => text(part['text'])).join(''),
    reasoning: thoughts
      .flatMap(({ summary, content }) => [...objects(summary), ...objects(content)])
      .map((part) => text(part['text']))
      .join(''),
    calls: calls.map(({ name, arguments: args }) => [text(name), text(args)]),
    finish:
      response['status'] === 'completed'
        ? calls.length > 0
          ? 'tool_calls'
          : 'stop'
        : reason === 'content_filter'
          ? 'content_filter'
          : response['status'] === 'incomplete'
            ? 'length'
            : null,
    prompt: count(usage['input_tokens']),
    completion: count(usage['output_tokens']),
    cached: count(object(usage['input_tokens_details'])['cached_tokens']),
    costUsd: usage['cost'] as number | undefined,
    sources: parts.flatMap((part) => sourcesOf(part['annotations'])),
  };
}

function responsesStream(body: string): SeenAnswer {
  const events = body
    .split('\n\n')
    .filter((frame) => frame !== '' && !frame.startsWith(':') && frame !== 'data: [DONE]')
    .map((frame) => JSON.parse(frame.slice(frame.indexOf('data: ') + 'data: '.length)) as Json);
  const ends = events.filter(({ type }) => /^response\.(?:completed|incomplete|failed|done)$/.test(text(type)));
  if (ends.length !== 1) throw new Error(`ends ${ends.length} times`);
  const answer = responsesAnswer(object(ends[0]?.['response']));
  const deltas = events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => text(delta));
  if (!answer.broken && deltas.length > 0 && deltas.join('') !== answer.text)
    throw new Error('the deltas are another text than the response');
  return answer;
}
