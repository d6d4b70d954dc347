import type { EndpointDeclaration, FinishReason, NormalizedRequest, Provider, StreamPiece } from 'signalbox';
import {
  type Codec,
  type DecodedResult,
  EncodeError,
  type ErrorContext,
  type SseEvent,
  type StreamDecoder,
  collectAnswer,
  escapeText,
  failureInBand,
  httpProvider,
  isJsonObject,
  parseJson,
  readEnvironment,
  readJsonAnswer,
  piecesOf,
} from 'signalbox/provider';

type Json = Readonly<Record<string, unknown>>;
type Message = NormalizedRequest['messages'][number];

/** Options of {@link semaphore}. */
export interface SemaphoreOptions<Model extends string> {
  readonly models: Readonly<Record<Model, EndpointDeclaration>>;
  /** Default: `SEMAPHORE_API_KEY`. */
  readonly apiKey?: string;
  readonly baseURL?: string;
}

/** Semaphore, a vendor with a wire of its own. */
export function semaphore<const Model extends string>(options: SemaphoreOptions<Model>): Provider<Model> {
  return httpProvider({
    slug: 'semaphore',
    name: 'Semaphore',
    models: options.models,
    codec,
    baseURL: options.baseURL ?? 'https://api.semaphore.example/v1',
    apiKey: options.apiKey ?? readEnvironment('SEMAPHORE_API_KEY'),
    authorization: (key) => ['x-semaphore-key', key],
  });
}

const codec: Codec = {
  path: () => '/talk',
  encode: ({ messages, tools, parameters, stream, extra }, { upstreamModel }) => ({
    ...extra,
    model: upstreamModel,
    turns: messages.map(encodeTurn),
    live: stream,
    ...(tools.length === 0 ? {} : { tools: tools.map((tool) => tool.function) }),
    ...(parameters.max_completion_tokens === undefined ? {} : { most: parameters.max_completion_tokens }),
    ...(parameters.temperature === undefined ? {} : { warmth: parameters.temperature / 2 }),
  }),
  decodeResult: decodeWhole,
  streamDecoder: (context) => new Reader(context),
  // No common form of an error. What a code and a status mean is found out by the router.
  errorShape(body) {
    const { text, code } = (isJsonObject(body) && isJsonObject(body['problem']) && body['problem']) || {};
    return typeof text === 'string' && typeof code === 'string' ? { message: text, code } : undefined;
  },
};

/** A turn in Semaphore's words. What the wire cannot say is refused with its path, and another provider is called. */
function encodeTurn(message: Message, index: number): Json {
  const say = encodeContent(message.content, `messages[${index}].content`);
  switch (message.role) {
    case 'user':
      return { by: 'human', say };
    case 'assistant': {
      const uses = (message.tool_calls ?? []).map(({ id, function: { name, arguments: json } }) => ({
        id,
        name,
        with: parseJson(json) ?? {},
      }));
      return { by: 'machine', say, ...(uses.length === 0 ? {} : { uses }) };
    }
    case 'tool':
      return { by: 'tool', use: message.tool_call_id, say };
    case 'system':
    case 'developer':
      return { by: 'rules', say };
  }
}

function encodeContent(content: Message['content'], path: string): string {
  if (content == null || typeof content === 'string') return content ?? '';
  const texts = content.map((part, index) => {
    if (part.type === 'text') return part.text;
    throw new EncodeError(`${path}[${index}] is a part of type ${part.type}, but Semaphore takes text only`);
  });
  return texts.join('\n');
}

/** A non-streaming response says at once what a stream says in events, so both are read by the same code. */
function decodeWhole(body: string, context: ErrorContext): DecodedResult {
  const answer = readJsonAnswer(body, 'words');
  if (!answer.ok) return answer;
  const { uses, ...rest } = answer.value;
  const pieces: StreamPiece[] = [];
  const reader = new Reader(context);
  for (const event of ['problem', 'think', 'say']) reader.read(event, rest, pieces);
  for (const use of Array.isArray(uses) ? uses.filter(isJsonObject) : []) reader.read('use', use, pieces);
  reader.read('end', rest, pieces);
  return collectAnswer(pieces);
}

const FINISHES: Readonly<Record<string, FinishReason>> = { done: 'stop', most: 'length', refused: 'content_filter' };

/** Turns what the model says into pieces, the one form for all wires. Holds the state of one answer. */
class Reader implements StreamDecoder {
  readonly #context: ErrorContext;
  #calls = 0;

  constructor(context: ErrorContext) {
    this.#context = context;
  }

  event({ event = '', data }: SseEvent, pieces: StreamPiece[]): void {
    const value = parseJson(data);
    if (isJsonObject(value)) this.read(event, value, pieces);
  }

  /** The server sent a non-streaming response although a stream was requested. */
  body(text: string, pieces: StreamPiece[]): void {
    const decoded = decodeWhole(text, this.#context);
    if (decoded.ok) pieces.push(...piecesOf(decoded.result));
    else pieces.push({ type: 'failure', failure: decoded.failure });
  }

  /** Nothing is held back. A stream without its `end` has no finish; by that the router sees that it ended early. */
  end(): void {}

  read(event: string, { problem, think, say, ended, counted, ...use }: Json, pieces: StreamPiece[]): void {
    if (event === 'problem' && isJsonObject(problem)) {
      pieces.push({ type: 'failure', failure: failureInBand({ problem }, this.#context) });
    } else if (event === 'think' && typeof think === 'string') {
      pieces.push({ type: 'delta', index: 0, delta: { reasoning: think } });
    } else if (event === 'say' && typeof say === 'string') {
      pieces.push(escapeText(say));
    } else if (event === 'use' && typeof use['id'] === 'string' && typeof use['name'] === 'string') {
      const called = { name: use['name'], arguments: JSON.stringify(use['with'] ?? {}) };
      const call = { index: this.#calls++, id: use['id'], type: 'function', function: called } as const;
      pieces.push({ type: 'delta', index: 0, delta: { tool_calls: [call] } });
    } else if (event === 'end' && typeof ended === 'string') {
      const reason = this.#calls > 0 ? 'tool_calls' : (FINISHES[ended] ?? 'stop');
      pieces.push(...usageOf(counted), { type: 'finish', index: 0, reason, native: ended }, { type: 'end' });
    }
  }
}

/** Tokens, each counted once: cached ones are a part of the prompt. */
function usageOf(counted: unknown): readonly StreamPiece[] {
  if (!isJsonObject(counted)) return [];
  const { heard, said, known } = counted;
  if (typeof heard !== 'number' || typeof said !== 'number') return [];
  const cached = typeof known === 'number' ? { prompt_tokens_details: { cached_tokens: known } } : {};
  const usage = { prompt_tokens: heard, completion_tokens: said, total_tokens: heard + said, ...cached };
  return [{ type: 'usage', usage }];
}
