/** Streams the answer of an execution to the client. */
import { namedTier } from '../../catalog/price-at.ts';
import { judgeToolCalls } from '../../core/selection/tool-validity.ts';
import { withoutReasoning } from '../../core/stream/pieces.ts';
import { ChunkEnvelope } from '../../core/stream/envelope.ts';
import { ResultCollector, ToolCallCollector } from '../../core/stream/collect.ts';
import type { ChatChunk } from '../../protocol/chunk.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { RouterMetadata } from '../../protocol/metadata.ts';
import { PENDING, Pollable, pollable, type Polled, soon } from '../../platform/wait.ts';
import { announceAnswer, announceRequest } from '../events/announce.ts';
import { CALLER_GONE, errorOfBrokenStream, errorOfUnknown, shownTo, withContext } from './router-errors.ts';
import type { RuntimeServices } from './services.ts';
import { settleError, settleResult } from './settle.ts';
import { type AttemptFailure, failure as failureOf } from '../../contracts/failure.ts';
import type { FailedAttempt } from '../../core/fallback/attempt.ts';
import type { DeltaPiece, NativePiece, StreamPiece } from '../../contracts/stream-piece.ts';
import type { Answer, Execution } from './answer.ts';

/**
 * One thing that goes to the caller: a chunk, or the text of a plain content chunk, still escaped as it was in JSON.
 * The latter saves the HTTP side a parse and a stringify for the commonest chunk. Native pieces come only to callers
 * with requests in an API format, beside the chunks that say the same.
 */
export type StreamItem = string | ChatChunk | NativePiece;

/**
 * The answer to a streamed request. Nothing happens until the first {@link ChatStreamSource.next}; that one tries
 * endpoints until one commits, so before its first item a stream can still fail like a non-streaming response.
 */
export class ChatStreamSource extends Pollable<readonly StreamItem[] | undefined> {
  readonly #services: RuntimeServices;
  readonly #execution: Execution;
  /** Only made where the model calls tools. */
  #tools: ToolCallCollector | undefined;
  /** What was said so far. Only made where somebody listens to it. */
  #said: ResultCollector | undefined;
  #answer: Answer | undefined;
  /** Who has gone on with the answer after it broke; the chunks say so. */
  #servedBy: Answer['endpoint'] | undefined;
  #pieces: Pollable<readonly StreamPiece[] | undefined> | undefined;
  /** What goes out with the next read that brings something. */
  #items: StreamItem[] = [];
  #envelope: ChunkEnvelope | undefined;
  /** The attempts, until one of them commits or all have failed. */
  #beginning: 'ahead' | 'under way' | 'over' = 'ahead';
  /** True once the caller knows how the beginning came out. */
  #opened = false;
  #debug: ChatChunk[] = [];
  /** Whoever waits for something of the beginning. */
  #wake: () => void = ignore;
  #state: 'waiting' | 'streaming' | 'broken' | 'over' = 'waiting';
  /** Thrown by the next call, after the items that came before it were handed out. */
  #error: unknown;
  readonly #abort: () => void;

  readonly #release: () => void;

  /**
   * @param abort - Ends all attempts of the execution.
   * @param release - Called once when the stream is over, however it ended.
   */
  constructor(services: RuntimeServices, execution: Execution, abort: () => void, release: () => void) {
    super();
    this.#services = services;
    this.#execution = execution;
    this.#abort = abort;
    this.#release = release;
    if (!execution.request.echoUpstreamBody) return;
    const notify: Execution['onSending'] = (endpoint, body) => {
      this.#debug.push(this.#envelopeFor(endpoint).debug(body));
      // Not from within the call that sends it.
      soon(() => this.#wakeReader());
    };
    execution.onSending = notify;
  }

  get execution(): Execution {
    return this.#execution;
  }

  /** Generation id. */
  get id(): string {
    return this.#execution.request.id;
  }

  /** True once content was handed out: from then on a failure can only be sent inside the stream. */
  get committed(): boolean {
    return this.#answer !== undefined;
  }

  /** True once the last item was handed out and the stream was whole. */
  get ended(): boolean {
    return this.#state === 'over';
  }

  /**
   * Monotonic time at which the last endpoint of the plan failed. What follows, a repetition after a wait or an error,
   * comes soon. Undefined while there is another endpoint to try, or an answer.
   */
  get exhaustedAt(): number | undefined {
    const { attempts, plan } = this.#execution;
    const last = attempts.at(-1);
    return last?.outcome.ok === false && attempts.length >= plan.steps.length ? last.endedAt : undefined;
  }

  /** Builds the chunks of this stream. Known from the first item on. */
  get envelope(): ChunkEnvelope {
    return this.#envelope ?? this.#envelopeFor(this.#execution.plan.steps[0]?.endpoint);
  }

  /**
   * The items that are there; undefined at the end.
   *
   * @throws {@link RouterError} when no endpoint answers, or when the one that did ends early; the signal's reason
   * when the client disconnected.
   */
  poll(wake: () => void): Polled<readonly StreamItem[] | undefined> {
    if (!this.#opened) {
      if (this.#isCancelled() && this.#beginning === 'ahead') return undefined;
      const debug = this.#pollBeginning(wake);
      if (debug !== undefined) return debug;
      this.#opened = true;
      if (this.#answer && !this.#answer.call.endpoint)
        this.#items.push(this.envelope.delta(0, { role: 'assistant', content: '' }));
    }
    for (;;) {
      if (this.#state === 'broken') {
        this.#state = 'over';
        throw this.#error;
      }
      const answer = this.#answer;
      if (this.#isCancelled() || answer === undefined) return undefined;
      const pieces = this.#pollPieces(answer, wake);
      if (pieces === PENDING) return PENDING;
      if (this.#isCancelled()) return undefined;
      // Bodies that went upstream after the beginning: a loop of server tools makes several calls.
      if (this.#debug.length > 0) this.#items.push(...this.#debug.splice(0));
      if (answer.call.endpoint !== this.#servedBy) this.#goOnFrom(answer);
      if (pieces === undefined) this.#finish(answer, this.#items);
      else this.#tryForward(answer, pieces, this.#items);
      if (this.#items.length === 0) continue;
      const items = this.#items;
      this.#items = [];
      return items;
    }
  }

  /** The same for a reader who waits. */
  next(): Promise<readonly StreamItem[] | undefined> {
    return Promise.resolve(this.read());
  }

  /** Debug chunks that come before an endpoint has committed, or undefined once one has. */
  #pollBeginning(wake: () => void): Polled<readonly StreamItem[] | undefined> {
    if (this.#beginning === 'ahead') {
      this.#beginning = 'under way';
      void this.#begin();
    }
    if (this.#debug.length > 0) return this.#debug.splice(0);
    if (this.#beginning === 'over') return undefined;
    this.#wake = wake;
    return PENDING;
  }

  #pollPieces(answer: Answer, wake: () => void): Polled<readonly StreamPiece[] | undefined> {
    try {
      return this.#pieces?.poll(wake);
    } catch (error) {
      return this.#isCancelled() ? undefined : this.#unreadable(answer, error);
    }
  }

  /** The caller wants no more. */
  cancel(): void {
    this.#release();
    if (this.#state === 'over' || this.#state === 'broken') return;
    this.#abort();
    if (this.#state === 'streaming' && this.#answer !== undefined) {
      this.#break(this.#answer, failureOf('aborted', 'The client disconnected'));
    }
    this.#state = 'over';
  }

  /** Tries endpoints until one commits. Never rejects: how it came out is told by the next poll. */
  async #begin(): Promise<void> {
    try {
      if (this.#services.events.isHeard) announceRequest(this.#services, this.#execution);
      const answer = await this.#execution.run();
      if (this.#isCancelled()) {
        answer.abandon();
        this.#execution.signal.throwIfAborted();
      }
      this.#answer = answer;
      if (this.#services.events.heard('content')) this.#said = new ResultCollector();
      this.#pieces = pollable(answer.call);
      const { systemFingerprint } = answer.call.tracker.facts;
      this.#envelope = this.#envelopeFor(answer.endpoint, systemFingerprint);
      this.#state = 'streaming';
    } catch (error) {
      this.#state = 'broken';
      this.#error = error;
      this.#release();
      const gone = this.#execution.signal.aborted;
      settleError(this.#services, this.#execution, gone ? CALLER_GONE : errorOfUnknown(error), 'nothing');
    }
    this.#beginning = 'over';
    this.#wakeReader();
  }

  #wakeReader(): void {
    const wake = this.#wake;
    this.#wake = ignore;
    wake();
  }

  /** Called after every wait, during which {@link ChatStreamSource.cancel} may have been called. */
  #isCancelled(): boolean {
    return this.#state === 'over';
  }

  /** What is thrown by reading is no provider's failure, and its attempts have been settled. */
  #unreadable(answer: Answer, error: unknown): readonly StreamPiece[] {
    this.#state = 'broken';
    this.#release();
    answer.call.close();
    const { signal } = this.#execution;
    this.#error = signal.aborted ? signal.reason : withContext(errorOfUnknown(error), this.#errorContext());
    this.#emitAnswer();
    settleError(this.#services, this.#execution, signal.aborted ? CALLER_GONE : errorOfUnknown(error), 'content');
    return [];
  }

  #errorContext(): ErrorContext {
    const { errorMetadata: metadata } = this.#execution;
    return { generationId: this.id, routerMetadata: this.#execution.metadata('failed'), metadata };
  }

  /** Adapters come from anybody: a piece that is none breaks the stream and nothing else. */
  #tryForward(answer: Answer, pieces: readonly StreamPiece[], items: StreamItem[]): void {
    try {
      this.#forward(answer, pieces, items);
    } catch (error) {
      if (this.#state !== 'streaming') throw error;
      this.#break(
        answer,
        failureOf('adapter', 'The provider sent something that is no part of an answer', { thrown: error }),
      );
    }
  }

  #forward(answer: Answer, pieces: readonly StreamPiece[], items: StreamItem[]): void {
    const { tracker } = answer.call;
    for (const piece of pieces) {
      this.#said?.add(piece);
      if (typeof piece === 'string') {
        tracker.countText(piece);
        items.push(piece);
      } else if (piece.type === 'failure') {
        return this.#break(answer, piece.failure);
      } else {
        tracker.observe(piece);
        if (piece.type === 'delta') this.#delta(piece, items);
        else if (piece.type === 'native') items.push(piece);
        else if (piece.type === 'end') return this.#finish(answer, items);
      }
    }
  }

  #delta(piece: DeltaPiece, items: StreamItem[]): void {
    const { request } = this.#execution;
    if (piece.delta.tool_calls !== undefined && piece.index === 0) {
      this.#tools ??= new ToolCallCollector();
      this.#tools.add(piece.delta.tool_calls);
    }
    // The role was said in the first chunk.
    const { role: _, ...said } = piece.delta;
    const delta = request.reasoning?.exclude === true ? withoutReasoning(said) : said;
    if (Object.keys(delta).length === 0 && piece.logprobs === undefined) return;
    items.push(this.envelope.delta(piece.index, delta, piece.logprobs ?? null));
  }

  #finish(answer: Answer, items: StreamItem[]): void {
    const { tracker } = answer.call;
    const end = tracker.end();
    if (!end.ok) return this.#break(answer, end.failure);
    for (const piece of end.owed) this.#delta(piece, items);
    this.#state = 'over';
    this.#release();
    answer.call.close();
    const { request } = this.#execution;
    const { attempt, facts } = answer.settle({
      finishReason: end.finishes[0]?.reason ?? null,
      nativeFinishReason: end.finishes[0]?.native ?? undefined,
      toolCalls: request.tools.length === 0 ? undefined : judgeToolCalls(this.#tools?.finish() ?? [], request.tools),
    });
    this.#emitAnswer();
    const cache = settleResult(this.#services, this.#execution, answer, facts);
    const metadata = request.wantsMetadata
      ? { ...this.#execution.metadata('answered', attempt.endedAt - attempt.startedAt), ...(cache && { cache }) }
      : undefined;
    for (const { index, reason, native } of end.finishes) items.push(this.envelope.finish(index, reason, native));
    items.push(this.envelope.usage(facts.usage, namedTier(tracker.facts.serviceTier), metadata));
  }

  /** The stream broke: what came before is handed out first, then the error is thrown. */
  #break(answer: Answer, failure: AttemptFailure): void {
    this.#state = 'broken';
    this.#release();
    answer.call.close();
    const attempt = answer.fail(failure);
    this.#emitAnswer();
    if (failure.kind === 'aborted') {
      this.#error = this.#execution.signal.reason;
      return settleError(this.#services, this.#execution, CALLER_GONE, 'content');
    }
    const context = this.#errorContext();
    const error = withContext(
      errorOfBrokenStream(shownTo(this.#execution.request.account, attempt as FailedAttempt), context),
      context,
    );
    this.#error = error;
    settleError(this.#services, this.#execution, error, 'content');
  }

  #emitAnswer(): void {
    const said = this.#said;
    if (said !== undefined) announceAnswer(this.#services, this.#execution.request, () => said.result().choices);
  }

  #goOnFrom({ call }: Answer): void {
    const { endpoint } = call;
    if (endpoint === undefined) return;
    this.#servedBy = endpoint;
    this.#envelope = this.#envelopeFor(endpoint, call.tracker.facts.systemFingerprint);
  }

  #envelopeFor(endpoint: Answer['endpoint'] | undefined, systemFingerprint?: string): ChunkEnvelope {
    const { id, created, requested } = this.#execution.request;
    return new ChunkEnvelope({
      id,
      created,
      model: endpoint?.model ?? requested,
      provider: endpoint?.providerName ?? '',
      systemFingerprint,
    });
  }
}

/** Facts about a request for the error that ends its stream. */
interface ErrorContext {
  readonly generationId: string;
  readonly routerMetadata: RouterMetadata;
  readonly metadata: JsonObject | undefined;
}

function ignore(): void {}

/** The chunks of a stream that is opened when the first is requested. Leaving early ends the call upstream. */
export async function* chunksOf(open: () => Promise<ChatStreamSource>): AsyncGenerator<ChatChunk, void, undefined> {
  const source = await open();
  try {
    for (;;) {
      const read = source.read();
      const items = read instanceof Promise ? await read : read;
      if (items === undefined) return;
      for (const item of items) {
        if (typeof item === 'string') yield source.envelope.text(item);
        // Only callers in an API format get native pieces.
        else if (!('type' in item)) yield item;
      }
    }
  } finally {
    source.cancel();
  }
}
