import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import { unescapeText } from '../../core/stream/pieces.ts';
import { commentFrame, DONE_FRAME } from '../../core/stream/envelope.ts';
import type {
  ApiFormatContext,
  ApiFormatError,
  ApiFormatStreamWriter,
  ApiFormat,
  CompleteAnswer,
} from '../api-format.ts';
import { errorTypeOf, failureOf, isLengthError, RESPONSES_ERRORS } from '../errors.ts';
import { adoptResponse, type NativeFacts } from './native-request.ts';
import { OutputBuilder } from './output-builder.ts';
import { responseObject, type ResponseStatus, responseStatusOf } from './response-object.ts';
import { toChat } from './to-chat.ts';
import { customToolNames } from './tools.ts';
import type { FinishReason } from '../../protocol/chat-result.ts';
import type { ChatChunk } from '../../protocol/chunk.ts';
import * as read from '../../platform/json.ts';
import type { NativePiece } from '../../contracts/stream-piece.ts';

/** OpenAI's Responses, without anything stored (gaps 10). */
export const RESPONSES: ApiFormat = {
  ...RESPONSES_ERRORS,
  toChat,
  complete: completeResponse,
  streamWriter: (context) => new ResponsesStreamWriter(context),
  absorb,
};

function completeResponse({ result, native }: CompleteAnswer, context: ApiFormatContext): JsonObject {
  const { model, provider, usage, router_metadata: metadata, created } = result;
  if (native !== undefined) return adoptResponse(native, context, { model, provider, usage, metadata });
  const [choice] = result.choices;
  const builder = new OutputBuilder({
    generationId: context.generationId,
    customTools: customToolNames(context.body['tools']),
    emit: () => {},
  });
  if (choice !== undefined) builder.add(choice.message, choice.logprobs);
  const state = responseStatusOf(choice?.finish_reason ?? null);
  const output = builder.close(state.status === 'completed' ? 'completed' : 'incomplete');
  const { service_tier: serviceTier } = result;
  return responseObject(context, { state, model, provider, created, output, usage, serviceTier, metadata });
}

/** A prompt or an answer that is too long is no failure here, but an answer that could not begin. */
function absorb(error: ApiFormatError, context: ApiFormatContext): JsonObject | undefined {
  if (!isLengthError(error)) return undefined;
  const { body, created } = context;
  return responseObject(context, {
    state: { status: 'incomplete', reason: 'max_output_tokens', errorType: errorTypeOf(error) },
    model: read.text(body['model']) ?? '',
    created,
    output: [],
    metadata: error.metadata,
  });
}

/**
 * Writes the events of one answer, numbered from 0: what a provider of this API says passes through, and what others
 * say in the chat form is told in this shape's events.
 */
class ResponsesStreamWriter implements ApiFormatStreamWriter {
  readonly #context: ApiFormatContext;
  readonly #builder: OutputBuilder;
  readonly #native: NativeRelay;
  #sequence = 0;
  #frames = '';
  #begun = false;
  #created: number;
  #model: string;
  #finish: FinishReason | null = null;
  /** What every chunk of a stream says of itself. */
  #last: Pick<ChatChunk, 'provider' | 'usage' | 'service_tier' | 'router_metadata'> = {};

  constructor(context: ApiFormatContext) {
    const { body, generationId } = context;
    this.#context = context;
    this.#created = context.created;
    this.#model = read.text(body['model']) ?? '';
    this.#native = new NativeRelay(context);
    this.#builder = new OutputBuilder({
      generationId,
      customTools: customToolNames(body['tools']),
      emit: (type, members) => this.#emit(type, members),
    });
  }

  write(item: ChatChunk | NativePiece): string {
    if ('type' in item) return this.#native.write(item, this.#facts());
    this.#note(item);
    if (this.#native.begun) return '';
    if (item.debug !== undefined) this.#emitDebug(item.debug.echo_upstream_body);
    const choice = item.choices.find(({ index }) => index === 0);
    // A chunk that only says who speaks may come before a provider's own events.
    if (choice !== undefined && says(choice.delta)) {
      this.#begin();
      this.#builder.add(choice.delta, choice.logprobs);
    }
    return this.#take();
  }

  text(escaped: string): string {
    if (this.#native.begun) return '';
    this.#begin();
    const members = this.#builder.addQuietly(unescapeText(escaped));
    const before = this.#take();
    const sequence = this.#sequence;
    this.#sequence += 1;
    const type = 'response.output_text.delta';
    return `${before}event: ${type}\ndata: {"type":"${type}","sequence_number":${sequence},${members},"delta":"${escaped}","logprobs":[]}\n\n`;
  }

  keepAlive(): string {
    return commentFrame(this.#context.spelling.processing);
  }

  end(): string {
    if (this.#native.begun) return this.#native.end(this.#facts()) + DONE_FRAME;
    this.#begin();
    const state = responseStatusOf(this.#finish);
    const output = this.#builder.close(state.status === 'completed' ? 'completed' : 'incomplete');
    this.#emit(`response.${state.status}`, { response: this.#response(state, output) });
    return this.#take() + DONE_FRAME;
  }

  fail(error: ApiFormatError): string {
    if (this.#native.begun) {
      const { sequence, response } = this.#native;
      this.#sequence = sequence;
      return this.#failure(error, (state) => ({ ...response, ...this.#response(state, this.#native.items()) }));
    }
    this.#begin();
    return this.#failure(error, (state) => this.#response(state, this.#builder.items('incomplete')));
  }

  /** The error itself, for clients that stop at it, and then the answer as far as it came. */
  #failure(error: ApiFormatError, respond: (state: ResponseStatus) => JsonObject): string {
    const errorType = errorTypeOf(error);
    this.#last = { ...this.#last, ...(error.metadata === undefined ? {} : { router_metadata: error.metadata }) };
    if (isLengthError(error)) {
      const state = { status: 'incomplete', reason: 'max_output_tokens', errorType } as const;
      this.#emit('response.incomplete', { response: respond(state) });
      return this.#take() + DONE_FRAME;
    }
    const failure = failureOf(error);
    const { metadata } = error.detail;
    this.#emit('error', { ...failure, param: null, error_type: errorType, ...(metadata && { metadata }) });
    this.#emit('response.failed', { response: respond({ status: 'failed', error: failure, errorType }) });
    return this.#take() + DONE_FRAME;
  }

  #note(chunk: ChatChunk): void {
    this.#model = chunk.model;
    this.#created = chunk.created;
    const { provider, usage, service_tier: tier, router_metadata: metadata } = chunk;
    this.#finish = chunk.choices.find(({ index }) => index === 0)?.finish_reason ?? this.#finish;
    this.#last = {
      ...this.#last,
      ...(provider ? { provider } : {}),
      ...(usage === undefined ? {} : { usage }),
      ...(tier === undefined ? {} : { service_tier: tier }),
      ...(metadata === undefined ? {} : { router_metadata: metadata }),
    };
  }

  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    const response = this.#response({ status: 'in_progress' }, []);
    this.#emit('response.created', { response });
    this.#emit('response.in_progress', { response });
  }

  /** No event of OpenAI's: only clients that request it get it. */
  #emitDebug(body: JsonValue): void {
    this.#begin();
    this.#emit('response.debug', { debug: { echo_upstream_body: body } });
  }

  #facts() {
    const { provider, usage, router_metadata: metadata } = this.#last;
    return { model: this.#model, provider, usage, metadata };
  }

  #response(state: ResponseStatus, output: readonly JsonObject[]): JsonObject {
    const { service_tier: serviceTier } = this.#last;
    return responseObject(this.#context, { ...this.#facts(), state, output, serviceTier, created: this.#created });
  }

  #emit(type: string, members: Readonly<Record<string, JsonValue | undefined>>): void {
    const data = JSON.stringify({ type, sequence_number: this.#sequence, ...members });
    this.#sequence += 1;
    this.#frames += `event: ${type}\ndata: ${data}\n\n`;
  }

  #take(): string {
    const frames = this.#frames;
    this.#frames = '';
    return frames;
  }
}

/** True for a delta with something in it besides its role. */
function says({ role: _, content, ...delta }: ChatChunk['choices'][number]['delta']): boolean {
  return Boolean(content) || Object.keys(delta).length > 0;
}

/** Events that carry the whole response and end the stream. */
const TERMINAL = new Set(['response.completed', 'response.incomplete']);
/** Events that carry the whole response. */
const CARRYING = new Set(['response.created', 'response.queued', 'response.in_progress']);

/**
 * Passes a provider's own events on. Those that carry the whole response get this router's id, model and price; the
 * last one waits for the end, because what the answer cost is only known then.
 */
class NativeRelay {
  readonly #context: ApiFormatContext;
  readonly #items: JsonObject[] = [];
  #last: NativePiece | undefined;
  #terminal: NativePiece | undefined;
  #response: JsonObject = {};

  constructor(context: ApiFormatContext) {
    this.#context = context;
  }

  /** True once a provider has said something in its own words. */
  get begun(): boolean {
    return this.#last !== undefined;
  }

  /** Number of the next event. */
  get sequence(): number {
    const { sequence_number: last } = parse(this.#last);
    return typeof last === 'number' ? last + 1 : 0;
  }

  /** The answer as it was last seen. */
  get response(): JsonObject {
    return this.#response;
  }

  /** Items that were finished. */
  items(): readonly JsonObject[] {
    return this.#items;
  }

  /** The frame of one event, if it goes out now. */
  write(piece: NativePiece, facts: NativeFacts): string {
    this.#last = piece;
    if (TERMINAL.has(piece.event)) {
      this.#terminal = piece;
      return '';
    }
    if (CARRYING.has(piece.event)) return this.#adopted(piece, facts);
    if (piece.event === 'response.output_item.done') this.#note(piece);
    return frame(piece.event, piece.data);
  }

  /** The frame of the last event. */
  end(facts: NativeFacts): string {
    return this.#terminal === undefined ? '' : this.#adopted(this.#terminal, facts);
  }

  #adopted(piece: NativePiece, facts: NativeFacts): string {
    const event = parse(piece);
    const response = read.object(event['response']);
    this.#response = adoptResponse(response, this.#context, facts);
    return frame(piece.event, JSON.stringify({ ...event, response: this.#response }));
  }

  #note(piece: NativePiece): void {
    const { item } = parse(piece);
    if (isJsonObject(item)) this.#items.push(item);
  }
}

/** Line ends between the members of an event would end its data. */
function frame(event: string, data: string): string {
  const line = /[\r\n]/.test(data) ? data.replace(/[\r\n]+/g, ' ') : data;
  return `event: ${event}\ndata: ${line}\n\n`;
}

function parse(piece: NativePiece | undefined): JsonObject {
  const value: unknown = piece === undefined ? undefined : JSON.parse(piece.data);
  return read.object(value);
}
