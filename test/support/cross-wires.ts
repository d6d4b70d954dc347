import {
  type EndpointDeclaration,
  type Provider,
  type SpecVersion,
  type Transport,
  anthropic,
  deepseek,
  fromAiSdk,
  google,
  mistral,
  openai,
  openrouter,
} from 'signalbox';
import type { z } from 'zod';
import { callSchema } from './ai-sdk-call-schema.ts';
import { finishOf, usageOf } from './ai-sdk-models.ts';
import { problemsOfBody } from './anthropic-schema.ts';
import { chatBodySchema } from './chat-body-schema.ts';
import { geminiBodySchema } from './gemini-schema.ts';

/** A step of thinking, as models make them. */
export type Thought =
  | { readonly type: 'signed'; readonly text: string; readonly signature: string }
  | { readonly type: 'redacted'; readonly data: string };

/** What a model says in one turn, in the words of no wire. */
export interface Turn {
  readonly thoughts: readonly Thought[];
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly args: object }[];
}

/** A provider of one wire that says what it is told, and keeps what it was asked. */
export interface CrossWire {
  readonly provider: Provider;
  /** What the model says from now on. */
  says(turn: Turn): void;
  /** The last request that it got. */
  readonly asked: unknown;
  /** Everything that the wire would refuse about a request. */
  problemsOf(request: unknown): readonly string[];
  /** Ids of all tool calls in a request, in order, as this wire has them. */
  callIds(request: unknown): readonly string[];
}

/** The model that all of them serve. */
export const SHARED_MODEL = 'acme/one';

type WriteAnswer = (turn: Turn) => unknown;

/** Makes a provider over a connection that exists in memory only. */
function overWire(
  make: (options: {
    readonly apiKey: string;
    readonly transport: Transport;
    readonly models: { readonly [SHARED_MODEL]: EndpointDeclaration };
  }) => Provider,
  upstreamModel: string,
  write: WriteAnswer,
  rest: Pick<CrossWire, 'problemsOf' | 'callIds'>,
): CrossWire {
  let turn: Turn | undefined;
  let asked: unknown;
  const transport: Transport = {
    send({ body = '' }) {
      asked = JSON.parse(body);
      const bytes = new TextEncoder().encode(JSON.stringify(write(turn ?? NOTHING)));
      let left: readonly Uint8Array[] | undefined = [bytes];
      return Promise.resolve({
        status: 200,
        header: (name) => (name === 'content-type' ? 'application/json' : undefined),
        read() {
          const read = left;
          left = undefined;
          return Promise.resolve(read);
        },
        cancel() {},
      });
    },
    close: () => Promise.resolve(),
  };
  return {
    provider: make({ apiKey: 'key-of-the-wire', transport, models: { [SHARED_MODEL]: { upstreamModel } } }),
    says: (next) => void (turn = next),
    get asked() {
      return asked;
    },
    ...rest,
  };
}

const NOTHING: Turn = { thoughts: [], text: '', calls: [] };

function checkedBy(schema: z.ZodType): (request: unknown) => readonly string[] {
  return (request) => {
    const { error } = schema.safeParse(request);
    return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);
  };
}

function wordsOf({ thoughts }: Turn): string {
  return thoughts.map((thought) => (thought.type === 'signed' ? thought.text : '')).join('');
}

/** A chat completion; the reasoning stands where a vendor has it. */
function chatAnswer(reasoning: (turn: Turn) => object): WriteAnswer {
  return (turn) => ({
    id: 'chatcmpl-1',
    choices: [
      {
        index: 0,
        finish_reason: turn.calls.length > 0 ? 'tool_calls' : 'stop',
        message: {
          role: 'assistant',
          content: turn.text === '' ? null : turn.text,
          ...(turn.thoughts.length > 0 ? reasoning(turn) : {}),
          ...(turn.calls.length > 0
            ? {
                tool_calls: turn.calls.map(({ id, name, args }) => ({
                  id,
                  type: 'function',
                  function: { name, arguments: JSON.stringify(args) },
                })),
              }
            : {}),
        },
      },
    ],
  });
}

function detailsOf({ thoughts }: Turn): object {
  return {
    reasoning: wordsOf({ ...NOTHING, thoughts }),
    reasoning_details: thoughts.map((thought, index) =>
      thought.type === 'signed'
        ? {
            type: 'reasoning.text',
            text: thought.text,
            signature: thought.signature,
            format: 'anthropic-claude-v1',
            index,
          }
        : { type: 'reasoning.encrypted', data: thought.data, format: 'openai-responses-v1', id: `rs_${index}`, index },
    ),
  };
}

const messageAnswer: WriteAnswer = ({ thoughts, text, calls }) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'one',
  content: [
    ...thoughts.map((thought) =>
      thought.type === 'signed'
        ? { type: 'thinking', thinking: thought.text, signature: thought.signature }
        : { type: 'redacted_thinking', data: thought.data },
    ),
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args })),
  ],
  stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
  usage: { input_tokens: 1, output_tokens: 1 },
});

/** The first call carries the signature; calls have no ids where those are empty. */
const geminiAnswer: WriteAnswer = ({ thoughts, text, calls }) => {
  const signature = thoughts.map((thought) => (thought.type === 'signed' ? thought.signature : thought.data)).join('');
  const parts = [
    ...thoughts.flatMap((thought) => (thought.type === 'signed' ? [{ text: thought.text, thought: true }] : [])),
    ...(text === '' ? [] : [{ text }]),
    ...calls.map(({ id, name, args }, index) => ({
      functionCall: { ...(id === '' ? {} : { id }), name, args },
      ...(index === 0 && signature !== '' ? { thoughtSignature: signature } : {}),
    })),
  ];
  return { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }], modelVersion: 'one' };
};

const chatCallIds = (request: unknown): readonly string[] =>
  (request as { messages: { tool_calls?: { id: string }[] }[] }).messages.flatMap(({ tool_calls: calls = [] }) =>
    calls.map(({ id }) => id),
  );
const messageCallIds = (request: unknown): readonly string[] =>
  (request as { messages: { content: { type: string; id?: string }[] }[] }).messages.flatMap(({ content }) =>
    content.flatMap(({ type, id = '' }) => (type === 'tool_use' ? [id] : [])),
  );
const geminiCallIds = (request: unknown): readonly string[] =>
  (request as { contents: { parts: { functionCall?: { id?: string } }[] }[] }).contents.flatMap(({ parts }) =>
    parts.flatMap(({ functionCall: call }) => (call === undefined ? [] : [call.id ?? ''])),
  );
const sdkCallIds = (request: unknown): readonly string[] =>
  (request as { prompt: { content: string | { type: string; toolCallId?: string }[] }[] }).prompt.flatMap(
    ({ content }) =>
      typeof content === 'string'
        ? []
        : content.flatMap(({ type, toolCallId = '' }) => (type === 'tool-call' ? [toolCallId] : [])),
  );

/** A model of the AI SDK that signs its reasoning as a provider of the SDK does. */
function overSdk(slug: string, version: SpecVersion, provider: string, sign: (thought: Thought) => object): CrossWire {
  let turn = NOTHING;
  let asked: unknown;
  const schema = callSchema(version);
  const doGenerate = (options: never): Promise<unknown> => {
    asked = options;
    const { thoughts, text, calls } = turn;
    return Promise.resolve({
      content: [
        ...thoughts.map((thought) => ({
          type: 'reasoning',
          text: thought.type === 'signed' ? thought.text : '',
          providerMetadata: sign(thought),
        })),
        ...(text === '' ? [] : [{ type: 'text', text }]),
        ...calls.map(({ id, name, args }) => ({
          type: 'tool-call',
          toolCallId: id,
          toolName: name,
          input: JSON.stringify(args),
        })),
      ],
      finishReason: finishOf(version, calls.length > 0 ? 'tool-calls' : 'stop'),
      usage: usageOf(version),
      warnings: [],
    });
  };
  const model = {
    specificationVersion: version,
    provider,
    modelId: slug,
    supportedUrls: {},
    doGenerate,
    doStream: doGenerate,
  };
  return {
    provider: fromAiSdk({ slug, models: { [SHARED_MODEL]: model } }),
    says: (next) => void (turn = next),
    get asked() {
      return asked;
    },
    problemsOf: checkedBy(schema),
    callIds: sdkCallIds,
  };
}

/** All wires between which a conversation may change, each with a provider of its own. */
export function crossWires(): readonly CrossWire[] {
  const chat = { callIds: chatCallIds };
  return [
    overWire(
      openai,
      'gpt-5',
      chatAnswer(() => ({})),
      { ...chat, problemsOf: checkedBy(chatBodySchema()) },
    ),
    overWire(
      deepseek,
      'deepseek-chat',
      chatAnswer((turn) => ({ reasoning_content: wordsOf(turn) })),
      {
        ...chat,
        problemsOf: checkedBy(chatBodySchema({ reasoning: 'reasoning_content' })),
      },
    ),
    overWire(openrouter, 'any', chatAnswer(detailsOf), {
      ...chat,
      problemsOf: checkedBy(chatBodySchema({ reasoning: 'reasoning_details' })),
    }),
    overWire(
      mistral,
      'mistral-large',
      chatAnswer(() => ({})),
      {
        ...chat,
        problemsOf: checkedBy(chatBodySchema({ toolId: /^[a-zA-Z0-9]{9}$/ })),
      },
    ),
    overWire(anthropic, 'claude-sonnet-5', messageAnswer, { problemsOf: problemsOfBody, callIds: messageCallIds }),
    overWire(google, 'gemini-3-flash', geminiAnswer, {
      problemsOf: checkedBy(geminiBodySchema),
      callIds: geminiCallIds,
    }),
    overSdk('sdk-anthropic', 'v4', 'anthropic.messages', (thought) => ({
      anthropic: thought.type === 'signed' ? { signature: thought.signature } : { redactedData: thought.data },
    })),
    overSdk('sdk-google', 'v3', 'google.generative-ai', (thought) => ({
      google: { thoughtSignature: thought.type === 'signed' ? thought.signature : thought.data },
    })),
    overSdk('sdk-openai', 'v2', 'openai.responses', (thought) => ({
      openai: { itemId: 'rs_1', reasoningEncryptedContent: thought.type === 'signed' ? null : thought.data },
    })),
    overSdk('sdk-mistral', 'v4', 'mistral.chat', () => ({})),
    overSdk('sdk-other', 'v3', 'own-server.chat', () => ({})),
  ];
}
