import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Dialect, type Transport, openaiCompatible } from 'signalbox';
import type { ProviderHarness, ScriptedAnswer, ScriptedExchange } from 'signalbox/testing';

/** A provider of the chat completions wire, and a server on loopback that plays its upstream. */
export interface ChatHarness extends ProviderHarness, AsyncDisposable {
  /** Connections that are open at this moment. */
  readonly connections: number;
}

/** The provider's own key in checks. */
const API_KEY = 'sk-own-key-of-the-provider+/=9876';

/** Starts a {@link ChatHarness}. */
export async function chatHarness(transport?: Transport, dialect?: Dialect): Promise<ChatHarness> {
  let exchange: ScriptedExchange = { type: 'silence' };
  let calls: string[] = [];
  let sentBytes = 0;
  let underWay = 0;
  let connections = 0;
  const server = createServer((request, response) => {
    underWay += 1;
    response.on('close', () => (underWay -= 1));
    void readCall(request).then((call) => {
      calls.push(call);
      sentBytes += play(exchange, response);
    });
  });
  server.on('connection', (socket) => {
    connections += 1;
    socket.on('close', () => (connections -= 1));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const provider = openaiCompatible({
    slug: 'checked',
    baseURL: `http://127.0.0.1:${port}/v1`,
    apiKey: API_KEY,
    models: { 'acme/one': {} },
    transport,
    dialect,
  });
  return {
    provider,
    apiKey: API_KEY,
    abilities: new Set(['reasoning', 'tools', 'usage', 'bytes', 'cancellation']),
    play(next) {
      exchange = next;
      calls = [];
      sentBytes = 0;
    },
    get calls() {
      return calls;
    },
    get sentBytes() {
      return sentBytes;
    },
    get underWay() {
      return underWay;
    },
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      await provider.close?.();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readCall(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const bytes of request) chunks.push(bytes as Buffer);
  const head = `${request.method} ${request.url}\n${request.rawHeaders.join('\n')}`;
  return `${head}\n\n${Buffer.concat(chunks).toString()}`;
}

/** Does what was scripted; gives the number of bytes in the body. */
function play(exchange: ScriptedExchange, response: ServerResponse): number {
  switch (exchange.type) {
    case 'silence':
      return 0;
    case 'answer': {
      const { form, answer, cutAt } = exchange;
      const body = form === 'whole' ? wholeAnswer(answer) : `${events(answer)}${ending(answer)}data: [DONE]\n\n`;
      return send(response, 200, {}, form === 'whole' ? 'application/json' : 'text/event-stream', body, cutAt);
    }
    case 'error': {
      const { status, message, headers = {} } = exchange;
      const body = JSON.stringify({ error: { message, type: 'some_error', param: null, code: null } });
      return send(response, status, headers, 'application/json', body);
    }
    case 'body':
      return send(response, exchange.status, {}, exchange.contentType, exchange.body);
    case 'stream error': {
      const error = data({ error: { message: exchange.message, type: 'server_error', code: null } });
      return send(response, 200, {}, 'text/event-stream', events(exchange.answer) + error);
    }
    case 'unfinished': {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const body = events(exchange.answer);
      response.write(body, () => {
        if (exchange.ending === 'end') response.end();
        if (exchange.ending === 'cut') setTimeout(() => response.destroy(), 10);
      });
      return Buffer.byteLength(body);
    }
  }
}

function send(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  contentType: string,
  body: string,
  cutAt?: number,
): number {
  const bytes = Buffer.from(body);
  response.writeHead(status, { 'content-type': contentType, ...headers });
  if (cutAt === undefined) {
    response.end(bytes);
  } else {
    response.write(bytes.subarray(0, cutAt), () => setImmediate(() => response.end(bytes.subarray(cutAt))));
  }
  return bytes.length;
}

const HEAD = { id: 'chatcmpl-check', created: 1, model: 'one', system_fingerprint: 'fp' };

function data(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function delta(value: object): string {
  const choices = [{ index: 0, delta: value, logprobs: null, finish_reason: null }];
  return data({ ...HEAD, object: 'chat.completion.chunk', choices });
}

/** Everything of a stream but its end. */
function events({ reasoning = [], text = [], toolCalls = [] }: ScriptedAnswer): string {
  return [
    delta({ role: 'assistant', content: '' }),
    ...reasoning.map((piece) => delta({ reasoning_content: piece })),
    ...text.map((piece) => delta({ content: piece })),
    ...toolCalls.flatMap((call, index) => [
      delta({
        tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }],
      }),
      ...call.arguments.map((piece) => delta({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
  ].join('');
}

function ending(answer: ScriptedAnswer): string {
  const choices = [{ index: 0, delta: {}, finish_reason: finishOf(answer) }];
  const finish = data({ ...HEAD, object: 'chat.completion.chunk', choices });
  return answer.usage === undefined ? finish : finish + data({ ...HEAD, choices: [], usage: usageOf(answer.usage) });
}

function wholeAnswer(answer: ScriptedAnswer): string {
  const message = {
    role: 'assistant',
    content: answer.text?.join('') ?? null,
    ...(answer.reasoning === undefined ? {} : { reasoning_content: answer.reasoning.join('') }),
    ...(answer.toolCalls === undefined
      ? {}
      : {
          tool_calls: answer.toolCalls.map((call) => ({
            id: call.id,
            type: 'function',
            function: { name: call.name, arguments: call.arguments.join('') },
          })),
        }),
  };
  return JSON.stringify({
    ...HEAD,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(answer) }],
    ...(answer.usage === undefined ? {} : { usage: usageOf(answer.usage) }),
  });
}

function finishOf({ finish, toolCalls }: ScriptedAnswer): string {
  return finish ?? (toolCalls === undefined ? 'stop' : 'tool_calls');
}

function usageOf({ promptTokens, completionTokens, cachedTokens }: NonNullable<ScriptedAnswer['usage']>): object {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    ...(cachedTokens === undefined ? {} : { prompt_tokens_details: { cached_tokens: cachedTokens } }),
  };
}
