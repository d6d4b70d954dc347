import type { ApiFormat, ApiFormatContext, ApiFormatError, ApiFormatStreamWriter } from '../api-format.ts';
import { MESSAGES_ERRORS } from '../errors.ts';
import { estimatedPromptTokens } from '../../core/tokens/prompt-parts.ts';
import { messagesToChat } from './to-chat.ts';
import {
  blockOptions,
  type BlockOptions,
  messageCitation,
  messageCost,
  imageBlock,
  isReadable,
  messagesUsage,
  stopDetails,
  stopReason,
  messageObject,
  nativeStop,
} from './message-object.ts';
import type { FinishReason } from '../../protocol/chat-result.ts';
import type { ChatChunk, Delta, ToolCallDelta } from '../../protocol/chunk.ts';
import { blockOfDetail, BlockSequence, type OpeningBlock, signatureOf } from './thinking-blocks.ts';
import type { BlockDelta } from './protocol/messages-result.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { RouterMetadata } from '../../protocol/metadata.ts';
import * as read from '../../platform/json.ts';
import type { NativePiece } from '../../contracts/stream-piece.ts';
import type { Usage } from '../../protocol/usage.ts';

/** Anthropic's Messages: `POST /messages` (gaps 10; upstreams 2). */
export const MESSAGES: ApiFormat = {
  ...MESSAGES_ERRORS,
  toChat: messagesToChat,
  complete: messageObject,
  streamWriter: (context) => new MessagesStreamWriter(context),
  estimate: estimatedPromptTokens,
};

/** Writes a stream as the events of a Message (upstreams 2.13): start, blocks one after the other, delta, stop. */
export class MessagesStreamWriter implements ApiFormatStreamWriter {
  readonly #id: string;
  readonly #metadataField: string;
  readonly #promptTokens: ApiFormatContext['promptTokens'];
  readonly #blocks: BlockSequence;
  readonly #deltas: DeltaBlocks;
  #native: NativeEvents | undefined;
  #facts: RouterFacts = { model: '' };
  #tier: string | null | undefined;
  #finish: { readonly reason: FinishReason; readonly native: string | null } | undefined;
  readonly #refusal: string[] = [];
  #started = false;
  /** Frames of the call that is under way. */
  #frames = '';

  constructor({ generationId, spelling, body, promptTokens }: ApiFormatContext) {
    this.#id = generationId;
    this.#promptTokens = promptTokens;
    this.#metadataField = spelling.metadataField;
    this.#blocks = new BlockSequence({
      start: (index, block) => this.#emit({ type: 'content_block_start', index, content_block: block }),
      delta: (index, delta) => this.#emit({ type: 'content_block_delta', index, delta }),
      stop: (index) => this.#emit({ type: 'content_block_stop', index }),
    });
    this.#deltas = new DeltaBlocks(this.#blocks, blockOptions(body));
  }

  write(item: ChatChunk | NativePiece): string {
    if ('type' in item) {
      this.#native ??= new NativeEvents(this.#metadataField);
      return this.#native.write(item, this.#facts);
    }
    // An event of our own, which clients of this wire pass over. It may be about an attempt that fails.
    if (item.debug !== undefined) return eventFrame({ type: 'debug', debug: item.debug });
    this.#learn(item);
    if (this.#native === undefined) this.#add(item);
    else this.#native.finished(item.choices[0]?.finish_reason ?? null);
    return this.#taken();
  }

  keepAlive(): string {
    return eventFrame({ type: 'ping' });
  }

  end(): string {
    if (this.#native !== undefined) return this.#native.end(this.#facts);
    this.#start();
    this.#blocks.end();
    const { usage, metadata } = this.#facts;
    const refusal = this.#refusal.length === 0 ? null : this.#refusal.join('');
    const reason = stopReason(this.#finish?.reason ?? null, this.#finish?.native ?? null, {
      refused: refusal !== null,
    });
    this.#emit({
      type: 'message_delta',
      delta: {
        stop_reason: reason,
        stop_sequence: null,
        stop_details: reason === 'refusal' ? stopDetails(refusal) : null,
        container: null,
      },
      usage: messagesUsage(usage, this.#tier),
      ...(metadata === undefined ? {} : { [this.#metadataField]: metadata }),
    });
    this.#emit({ type: 'message_stop' });
    return this.#taken();
  }

  fail(error: ApiFormatError): string {
    const { router_metadata: metadata, ...body } = MESSAGES_ERRORS.error(error);
    return eventFrame({
      ...body,
      type: 'error',
      ...(metadata === undefined ? {} : { [this.#metadataField]: metadata }),
    });
  }

  /** What chunks say about the answer as a whole. */
  #learn({ model, provider, usage, service_tier: tier, router_metadata: metadata }: ChatChunk): void {
    if (this.#facts.model === '') this.#facts = { model, provider };
    if (usage === undefined) return;
    this.#facts = { ...this.#facts, usage, metadata };
    this.#tier = tier;
  }

  #add({ choices }: ChatChunk): void {
    for (const { index, delta, finish_reason: reason, native_finish_reason: native } of choices) {
      // A message is one answer.
      if (index !== 0) continue;
      if (delta.refusal) this.#refusal.push(delta.refusal);
      if (Object.keys(delta).some((name) => name !== 'role' && delta[name as keyof typeof delta] !== '')) {
        this.#start();
        this.#deltas.add(delta);
      }
      if (reason !== null) this.#finish = { reason, native };
    }
  }

  /** The first event. It waits for content, because a provider that speaks this wire has a first event of its own. */
  #start(): void {
    if (this.#started) return;
    this.#started = true;
    const { model, provider } = this.#facts;
    this.#emit({
      type: 'message_start',
      message: {
        id: this.#id,
        type: 'message',
        role: 'assistant',
        model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        stop_details: null,
        container: null,
        // Counts are known at the end; `message_delta` has them all. Clients show this one until then.
        usage: { ...messagesUsage(undefined, null), input_tokens: this.#promptTokens?.() ?? 0 },
        ...(provider === undefined ? {} : { provider }),
      },
    });
  }

  #emit(event: { readonly type: string; readonly [member: string]: unknown }): void {
    this.#frames += eventFrame(event);
  }

  #taken(): string {
    const frames = this.#frames;
    this.#frames = '';
    return frames;
  }
}

/** Hands what the deltas of a stream say to the blocks that it belongs to. */
class DeltaBlocks {
  readonly #blocks: BlockSequence;
  readonly #options: BlockOptions;
  /** What is known of the thinking that may still be signed, by the key of its block. */
  readonly #thoughts = new Map<string, ReasoningDetail>();
  /** Blocks that come whole have keys of their own. */
  #single = 0;

  constructor(blocks: BlockSequence, options: BlockOptions) {
    this.#blocks = blocks;
    this.#options = options;
  }

  /** Adds what one delta says. */
  add(delta: Delta): void {
    const { reasoning, reasoning_details: details = [], images = [], annotations = [], tool_calls: calls = [] } = delta;
    // Where details have the text, `reasoning` only says it a second time.
    if (reasoning && !details.some(isReadable)) this.#detail({ type: 'reasoning.text', text: reasoning });
    for (const detail of details) this.#detail(detail);
    if (delta.content) this.#text({ type: 'text_delta', text: delta.content });
    if (delta.refusal) this.#text({ type: 'text_delta', text: delta.refusal });
    for (const citation of annotations.flatMap(messageCitation)) this.#text({ type: 'citations_delta', citation });
    for (const image of images) this.#complete({ start: imageBlock(image) });
    for (const call of calls) this.#call(call);
  }

  #text(delta: BlockDelta): void {
    this.#blocks.add('text', () => ({ start: { type: 'text', text: '' } }), [delta]);
  }

  #complete(block: OpeningBlock): void {
    this.#single += 1;
    this.#blocks.add(`single:${this.#single}`, () => block, []);
  }

  #call({ index, id = '', function: called }: ToolCallDelta): void {
    const make = (): OpeningBlock => {
      const name = this.#options.toolName(called?.name ?? '');
      return { start: { type: 'tool_use', id, name, input: {} } };
    };
    const text = called?.arguments ?? '';
    this.#blocks.add(`call:${index}`, make, text === '' ? [] : [{ type: 'input_json_delta', partial_json: text }]);
  }

  /** Fragments of the same type and index are one block. Its signature is said once, at its end. */
  #detail(detail: ReasoningDetail): void {
    if (detail.type !== 'reasoning.text' && detail.type !== 'reasoning.summary') {
      return this.#complete({ start: blockOfDetail(detail) });
    }
    const key = `${detail.type}:${detail.index ?? ''}`;
    const said = (detail.type === 'reasoning.text' ? detail.text : detail.summary) ?? '';
    const earlier = this.#thoughts.get(key);
    const known = earlier === undefined ? detail : merged(earlier, detail);
    this.#thoughts.set(key, known);
    const { omitThinking } = this.#options;
    // Thinking whose text is kept out is only there for its signature.
    if (omitThinking && signatureOf(known) === '') return;
    const make = (): OpeningBlock => ({
      start: { type: 'thinking', thinking: '', signature: '' },
      closing: () => this.#sign(key),
    });
    this.#blocks.add(key, make, said === '' || omitThinking ? [] : [{ type: 'thinking_delta', thinking: said }]);
  }

  #sign(key: string): readonly BlockDelta[] {
    const detail = this.#thoughts.get(key);
    this.#thoughts.delete(key);
    const signature = detail === undefined ? '' : signatureOf(detail);
    return signature === '' ? [] : [{ type: 'signature_delta', signature }];
  }
}

/** Facts of the later fragment win; a signature comes in pieces or at once, and an id comes once. */
function merged(known: ReasoningDetail, more: ReasoningDetail): ReasoningDetail {
  const id = more.id ?? known.id;
  const format = more.format ?? known.format;
  const facts = { ...(id == null ? {} : { id }), ...(format == null ? {} : { format }) };
  if (more.type !== 'reasoning.text' || known.type !== 'reasoning.text') return { ...known, ...facts };
  const signature = more.signature ?? known.signature;
  return { ...known, ...facts, ...(signature == null ? {} : { signature }) };
}

/** What the router adds to the events of a provider. */
interface RouterFacts {
  /** The model's name in this router. */
  readonly model: string;
  readonly provider?: string | undefined;
  readonly usage?: Usage | undefined;
  readonly metadata?: RouterMetadata | undefined;
}

/**
 * Passes the events of a provider on that speaks this wire itself. Only three are touched: the first gets the model's
 * name in this router, and the last two wait for the cost, which is known when everything else has been said. Then it is
 * also known whether tools were called, and how many tokens were counted before: some servers say otherwise there.
 */
class NativeEvents {
  readonly #metadataField: string;
  #begun: JsonObject = {};
  #delta: JsonObject | undefined;
  #reason: FinishReason | null = null;

  constructor(metadataField: string) {
    this.#metadataField = metadataField;
  }

  /** Writes one event. */
  write({ event, data }: NativePiece, { model, provider }: RouterFacts): string {
    if (event === 'message_stop') return '';
    if (event !== 'message_start' && event !== 'message_delta') return rawFrame(event, data);
    const said = read.parseObject(data);
    if (said === undefined) return rawFrame(event, data);
    if (event === 'message_start') {
      this.#begun = read.object(said['message']);
      return eventFrame({ ...said, type: event, message: { ...this.#begun, model, provider } });
    }
    const before = this.#delta;
    this.#delta = said;
    return before === undefined ? '' : eventFrame({ ...before, type: event });
  }

  /** How the answer ended, as far as a chunk says so. */
  finished(reason: FinishReason | null): void {
    this.#reason = reason ?? this.#reason;
  }

  /** Writes the last events. */
  end({ usage, metadata }: RouterFacts): string {
    const field = this.#metadataField;
    const { stop_reason: stop, stop_sequence: sequence = null, usage: first } = this.#begun;
    const last: JsonObject = this.#delta ?? { delta: { stop_reason: stop ?? null, stop_sequence: sequence } };
    const said = read.object(last['delta']);
    const delta = {
      ...last,
      type: 'message_delta',
      delta: { ...said, stop_reason: nativeStop(said['stop_reason'] ?? null, this.#reason) },
      usage: { ...countedPrompt(read.object(first), read.object(last['usage'])), ...messageCost(usage) },
      ...(metadata === undefined ? {} : { [field]: metadata }),
    };
    return eventFrame(delta) + eventFrame({ type: 'message_stop' });
  }
}

/** What a prompt has, beside each other: what is in the cache does not count as input. */
const PROMPT_COUNTS = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'] as const;

/** The last counts of a stream; those of the prompt from its beginning, where the last are less. */
function countedPrompt(first: JsonObject, last: JsonObject): JsonObject {
  const sum = (counts: JsonObject): number =>
    PROMPT_COUNTS.reduce((tokens, name) => tokens + (read.count(counts[name]) ?? 0), 0);
  if (PROMPT_COUNTS.every((name) => last[name] == null) || sum(last) >= sum(first)) return last;
  return { ...last, ...Object.fromEntries(PROMPT_COUNTS.map((name) => [name, first[name] ?? last[name]])) };
}

/** One server-sent event of this wire: its name comes before its data as well as in it. */
function eventFrame(event: { readonly type: string; readonly [member: string]: unknown }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** One event from JSON text. Line breaks in JSON mean nothing, and would end the event's data. */
function rawFrame(name: string, json: string): string {
  const line = /[\r\n]/.test(json) ? json.replaceAll(/[\r\n]+/g, ' ') : json;
  return `event: ${name.replaceAll(/[\r\n]/g, '')}\ndata: ${line}\n\n`;
}
