import type { FinishReason } from '../../../protocol/chat-result.ts';
import type { ChatChunk } from '../../../protocol/chunk.ts';
import type { NativePiece } from '../../stream/pieces.ts';
import type { DialectContext, DialectError, DialectStreamWriter } from '../dialect.ts';
import { BlockSequence } from './block-sequence.ts';
import { DeltaBlocks } from './delta-blocks.ts';
import { messagesError } from './errors.ts';
import { eventFrame } from './frames.ts';
import { NativeEvents, type RouterFacts } from './native-events.ts';
import { stopReason } from './stop-reason.ts';
import { messagesUsage } from './usage.ts';
import { blockOptions, stopDetails } from './whole.ts';

/** Writes a stream as the events of a Message (upstreams 2.13): start, blocks one after the other, delta, stop. */
export class MessagesStreamWriter implements DialectStreamWriter {
  readonly #id: string;
  readonly #metadataField: string;
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

  constructor({ generationId, spelling, body }: DialectContext) {
    this.#id = generationId;
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
    const reason = stopReason(this.#finish?.reason ?? null, this.#finish?.native ?? null, refusal !== null);
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

  fail(error: DialectError): string {
    const { router_metadata: metadata, ...body } = messagesError(error);
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
        // Counts are known at the end; `message_delta` has them all.
        usage: messagesUsage(undefined, null),
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
