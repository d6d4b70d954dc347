/** One upstream call, from the connection to the last byte. */
import { sealOf } from '../../core/normalize/reasoning-origin.ts';
import { ResultCollector } from '../../core/stream/collect.ts';
import { withCountedUsage } from '../../core/stream/usage.ts';
import { commits, endReason, piecesOf, isRefusal, type RefusalRole, refusalRole } from '../../core/stream/pieces.ts';
import type { Choice, FinishReason } from '../../protocol/chat-result.ts';
import { StreamTracker } from '../../core/stream/stream-tracker.ts';
import type { CallProgress } from '../../contracts/provider.ts';
import { endedInError, endless, misbehaviour, NO_PIECES, NO_REPLY, unreadable } from './adapter-faults.ts';
import { CallWatch, INTERRUPTED } from './call-watch.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { type MaybePromise, PENDING, Pollable, pollable, type Polled, whenThere } from '../../platform/wait.ts';
import type { CallResult, Dialing } from './attempt-call.ts';
import type { Reported } from '../../core/stream/billing.ts';
import type { PieceStream, ProviderReply } from '../../contracts/provider-reply.ts';
import { type AttemptFailure, failure, FAILURE_RULES, type FailureKind } from '../../contracts/failure.ts';
import type { StreamPiece, UpstreamResult, ModelRefusal } from '../../contracts/stream-piece.ts';

/** The tracker of calls whose stream has not begun: nobody lets it see anything. */
const NOTHING_TRACKED = new StreamTracker();

/** Ways of failing that mean nothing after the end of an answer. */
const BROKEN: ReadonlySet<FailureKind> = new Set(['connection']);
const QUIET: ReadonlySet<FailureKind> = new Set(['connection', 'timeout']);

/** Ways of refusing a request for what is in it. */
const REFUSED: ReadonlySet<FailureKind> = new Set(['invalid_request', 'unsupported_parameter', 'unprocessable']);

/** How long usage and the end mark are waited for once every choice has ended. */
const LAST_WORDS_MS = 5_000;

/** Pieces that say nothing to the caller may come this often before the first that does. */
const MAX_SILENT_PIECES = 100_000;
/** So may reads that bring nothing. A stream that never waits would otherwise keep everybody else from running. */
const MAX_SILENT_READS = 100_000;

/**
 * One call of one endpoint, from the connection to the last byte. Ends by itself when its time is up or its client
 * disconnects, also if the provider's adapter ignores the signal; then nothing of it stays behind.
 */
export class UpstreamCall extends Pollable<readonly StreamPiece[] | undefined> {
  /** Watches the pieces of a stream. Of a response that came whole there is nothing to watch. */
  tracker = NOTHING_TRACKED;
  address: (() => string) | undefined;
  readonly #options: Dialing<NormalizedRequest>;
  readonly #watch: CallWatch;
  #stream: PieceStream | undefined;
  #pieces: Pollable<readonly StreamPiece[] | undefined> | undefined;
  #held: readonly StreamPiece[] = [];
  /** Native pieces, and those of what may be a refusal, before the commit: the caller gets them with the first content. */
  #before: StreamPiece[] | undefined;
  /** True once what was said is why there is no answer. */
  #isRefusing = false;
  /** What was said of the refusal that an answer is which came whole. */
  #refusal: ModelRefusal | undefined;
  #silentReads = 0;
  /** What was encrypted in an answer that came whole. */
  #seals: readonly string[] | undefined;
  #adjustments: string[] | undefined;
  /** Pieces that said nothing, before the commit. */
  #silentPieces = 0;
  /** True while the provider is waited for in the middle of its answer. */
  #isIdle = false;

  constructor(options: Dialing<NormalizedRequest>) {
    super();
    this.#options = options;
    this.#watch = new CallWatch(options, () => this.#cancelStream());
  }

  /** What the provider said so far of what it will charge for. */
  get reported(): Reported {
    const { usage, facts, images, likelyTokens, finishing: isComplete } = this.tracker;
    const { serviceTier, refusal = this.#refusal } = facts;
    return { usage, serviceTier, outputImages: images, likelyTokens, isComplete, refusal };
  }

  get adjustments(): readonly string[] | undefined {
    return this.#adjustments;
  }

  get seals(): readonly string[] | undefined {
    return this.#options.request.stream ? this.tracker.seals : this.#seals;
  }

  /** Makes the call and reports, once, when it either failed, is complete, or has committed. Never throws. */
  open(onResult: (result: CallResult) => void): void {
    const fail = (thrown: unknown): void => onResult(this.#failed(misbehaviour(thrown)));
    const receive = (reply: unknown): void => {
      let result: MaybePromise<CallResult>;
      try {
        result = this.#resultOf(reply);
      } catch (thrown) {
        // Adapters come from anybody: what they gave may break when it is looked at.
        result = this.#failed(misbehaviour(thrown));
      }
      if (result instanceof Promise) void result.then(onResult, fail);
      else onResult(result);
    };
    // Nobody waits for an answer that comes after the interruption, but its connection must not stay open.
    this.#watch.whenThere(() => this.#ask(), receive, fail, cancelLate);
  }

  /** The next pieces after the commit; undefined at the end. A failure comes as a piece. */
  poll(wake: () => void): Polled<readonly StreamPiece[] | undefined> {
    if (this.#held.length > 0) {
      const held = this.#held;
      this.#held = [];
      return held;
    }
    const pieces = this.#pollPieces(wake);
    if (pieces === PENDING) {
      if (!this.#isIdle) this.#awaitMore();
      return PENDING;
    }
    this.#isIdle = false;
    this.#watch.pause();
    return this.#wasWhole(pieces, QUIET) ? undefined : pieces;
  }

  #awaitMore(): void {
    this.#isIdle = true;
    const { idleMs } = this.#options.timeouts;
    this.#watch.enter('idle', this.tracker.settled ? Math.min(idleMs, LAST_WORDS_MS) : idleMs);
  }

  giveUp(reason: AttemptFailure): void {
    this.#watch.interrupt(reason);
  }

  /** Frees everything; the provider is cancelled if it is still at work. */
  close(): void {
    this.#watch.end();
    if (this.#stream !== undefined) this.#cancelStream();
  }

  #resultOf(reply: unknown): MaybePromise<CallResult> {
    if (reply === INTERRUPTED) return this.#failed(this.#watch.reason);
    if (!isReply(reply)) return this.#failed(misbehaviour(new TypeError(NO_REPLY)));
    if (reply.type === 'failed') return this.#failed(reply.failure);
    const wantsStream = this.#options.request.stream;
    if (reply.type === 'stream') {
      this.#readFrom(reply.stream);
      return wantsStream ? this.#commit() : this.#untilEnd();
    }
    const flaw = flawOf(reply.result);
    if (flaw !== undefined) return this.#failed(flaw);
    const result = withTrueEnds(withCountedUsage(reply.result));
    if (!wantsStream) return this.#whole(result);
    this.#readFrom(streamOf(piecesOf(result)));
    return this.#commit();
  }

  #readFrom(stream: PieceStream): void {
    this.#stream = stream;
    this.#pieces = pollable(stream);
    this.tracker = new StreamTracker();
  }

  /** Asks the provider. Adapters come from anybody, so what comes back may be anything. */
  #ask(): unknown {
    const { provider, request, endpoint, apiKey, traceContext, onSending, onLimits, timeouts } = this.#options;
    let notified = false;
    const progress: CallProgress = {
      connecting: () => {
        notified = true;
        this.#watch.enter('connect', timeouts.connectMs);
      },
      connected: () => {
        notified = true;
        this.#awaitAnswer();
      },
      sending: onSending,
      limits: onLimits,
      adjusted: (change) => {
        (this.#adjustments ??= []).push(change);
      },
      calling: (address) => {
        this.address = address;
      },
    };
    const reply = provider.chat({ request, endpoint, apiKey, traceContext, signal: this.#watch.signal, progress });
    // Setting the clock only once: most providers have told by now where they are.
    if (!notified) this.#awaitAnswer();
    return reply;
  }

  #cancelStream(): void {
    try {
      this.#stream?.cancel();
    } catch {
      // The call is over in any case.
    }
  }

  #awaitAnswer(): void {
    const { timeouts, request } = this.#options;
    if (request.stream) this.#watch.enter('first_token', timeouts.firstTokenMs);
    else this.#watch.enter('answer', timeouts.answerMs);
  }

  /** Reads until something commits the call to this endpoint. */
  #commit(): MaybePromise<CallResult> {
    return whenThere((wake) => this.#pollCommit(wake));
  }

  #pollCommit(wake: () => void): Polled<CallResult> {
    while (this.#silentPieces < MAX_SILENT_PIECES) {
      const pieces = this.#pollPieces(wake);
      if (pieces === PENDING) return PENDING;
      const result = this.#beforeCommit(pieces);
      if (result !== undefined) return result;
    }
    return this.#failed(endless());
  }

  /** What the pieces of one read decide, if anything. */
  #beforeCommit(pieces: readonly StreamPiece[] | undefined): CallResult | undefined {
    if (pieces === undefined) return this.#withoutContent();
    for (const [position, piece] of pieces.entries()) {
      if (commits(piece)) {
        const part = refusalRole(piece, this.#isRefusing ? 'refusal' : 'nothing');
        if (part !== 'refusal' || !this.#options.holdsRefusals) {
          return this.#committed(pieces.slice(position), part);
        }
        this.#isRefusing = true;
        (this.#before ??= []).push(piece);
        continue;
      }
      const problem = this.#observe(piece);
      if (problem !== undefined) return this.#failed(problem);
      if (typeof piece !== 'string' && piece.type === 'native') (this.#before ??= []).push(piece);
      if (this.tracker.ended) {
        return this.#isRefusing ? this.#committed(pieces.slice(position), 'refused') : this.#withoutContent();
      }
      this.#silentPieces += 1;
    }
    return undefined;
  }

  #committed(held: readonly StreamPiece[], part: RefusalRole): CallResult {
    this.#held = this.#before === undefined ? held : [...this.#before, ...held];
    this.#before = undefined;
    this.#watch.liftTotal();
    this.#watch.pause();
    const firstTokenAt = this.#options.environment.now();
    return part === 'refused'
      ? { type: 'committed', firstTokenAt, withheld: true }
      : { type: 'committed', firstTokenAt };
  }

  async #untilEnd(): Promise<CallResult> {
    const collector = new ResultCollector();
    const poll = (wake: () => void): Polled<readonly StreamPiece[] | undefined> => this.#pollPieces(wake);
    while (!this.tracker.ended) {
      const pieces = await whenThere(poll);
      if (pieces === undefined || this.#wasWhole(pieces, BROKEN)) break;
      for (const piece of pieces) {
        const problem = this.#observe(piece);
        if (problem !== undefined) return this.#failed(problem);
        if (typeof piece === 'string' || piece.type !== 'finish') collector.add(piece);
      }
    }
    const end = this.tracker.end();
    if (!end.ok) return this.#failed(end.failure);
    for (const finish of end.finishes) collector.add(finish);
    return this.#whole({ ...collector.result(), usage: this.tracker.usage });
  }

  #whole(result: UpstreamResult): CallResult {
    this.close();
    this.#seals = sealsOfResult(result);
    this.#refusal = result.refusal;
    return isRefusal(result) ? { type: 'whole', result, withheld: true } : { type: 'whole', result };
  }

  #withoutContent(): CallResult {
    const end = this.tracker.end();
    return this.#failed(end.ok ? failure('bad_response', 'The provider sent an empty answer') : end.failure);
  }

  #failed(reason: AttemptFailure): CallResult {
    this.close();
    this.#watch.abort();
    return { type: 'failed', failure: this.#options.addition === undefined ? reason : this.#refused(reason) };
  }

  /** A refusal of a request that the router had added to, where it may be for that: what the caller sent may be taken. */
  #refused(reason: AttemptFailure, { addition } = this.#options): AttemptFailure {
    const isOther = addition === 'diagnostics' && !/diagnostics|cache_opt/.test(reason.message);
    return isOther || !REFUSED.has(reason.kind) ? reason : { ...reason, kind: 'unsupported_parameter', addition };
  }

  /** Lets the tracker see a piece; gives the failure if it is one. */
  #observe(piece: StreamPiece): AttemptFailure | undefined {
    if (typeof piece === 'string') this.tracker.countText(piece);
    else if (piece.type === 'failure') return piece.failure;
    else if (piece.type === 'finish' && piece.reason === 'error') return endedInError();
    else this.tracker.observe(piece);
    return undefined;
  }

  /**
   * Whether a stream that fails in one of these ways had nothing to say any more: an answer that has ended is whole, and
   * several wires have no end mark.
   */
  #wasWhole(pieces: readonly StreamPiece[] | undefined, ways: ReadonlySet<FailureKind>): boolean {
    if (pieces?.length !== 1 || !this.tracker.settled) return false;
    const [only] = pieces;
    return typeof only === 'object' && only.type === 'failure' && ways.has(only.failure.kind);
  }

  /** Pieces from the provider; an interruption comes as a failure piece. */
  #pollPieces(wake: () => void): Polled<readonly StreamPiece[] | undefined> {
    const source = this.#pieces;
    if (source === undefined) return undefined;
    if (this.#watch.isInterrupted) return this.#take(INTERRUPTED);
    try {
      const read: unknown = source.poll(wake);
      if (read !== PENDING) return this.#take(read);
      // An adapter may end the call from within.
      if (this.#watch.isInterrupted) return this.#take(INTERRUPTED);
      this.#watch.wakes(wake);
      return PENDING;
    } catch (thrown) {
      return unreadable(thrown);
    }
  }

  /** What was read, as pieces. */
  #take(read: unknown): readonly StreamPiece[] | undefined {
    if (read === INTERRUPTED) return [{ type: 'failure', failure: this.#watch.reason }];
    if (read !== undefined && !Array.isArray(read)) return unreadable(new TypeError(NO_PIECES));
    const pieces = read as readonly StreamPiece[] | undefined;
    this.#silentReads = pieces?.length === 0 ? this.#silentReads + 1 : 0;
    return this.#silentReads < MAX_SILENT_READS ? pieces : [{ type: 'failure', failure: endless() }];
  }
}

/** What is wrong with a non-streaming response, if anything: one without content to it is none. */
function flawOf({ choices }: UpstreamResult): AttemptFailure | undefined {
  if (choices.length === 0) return failure('bad_response', 'The provider sent an answer without choices');
  for (const { finish_reason: reason } of choices) if (reason === 'error') return endedInError();
  return undefined;
}

/** How an answer ended follows from its calls, whatever its adapter says. */
function withTrueEnds(result: UpstreamResult): UpstreamResult {
  for (const choice of result.choices) {
    if (endOf(choice) === choice.finish_reason) continue;
    return { ...result, choices: result.choices.map((one) => ({ ...one, finish_reason: endOf(one) })) };
  }
  return result;
}

function endOf({ finish_reason: reason, message }: Choice): FinishReason | null {
  return reason === null ? null : endReason(reason, message.tool_calls?.length ?? 0);
}

function sealsOfResult({ choices }: UpstreamResult): readonly string[] | undefined {
  let seals: string[] | undefined;
  for (const { message } of choices) {
    for (const detail of message.reasoning_details ?? NO_DETAILS) {
      seals ??= [];
      const seal = sealOf(detail);
      if (seal !== undefined) seals.push(seal);
    }
  }
  return seals;
}

const NO_DETAILS: readonly never[] = [];

function cancelLate(reply: unknown): void {
  if (isReply(reply) && reply.type === 'stream') reply.stream.cancel();
}

function isReply(value: unknown): value is ProviderReply {
  const reply = value as { type?: unknown; failure?: { kind?: unknown } } | null | undefined;
  if (reply?.type === 'failed') return Object.hasOwn(FAILURE_RULES, String(reply.failure?.kind));
  return reply?.type === 'whole' || reply?.type === 'stream';
}

function streamOf(pieces: readonly StreamPiece[]): PieceStream {
  let left: readonly StreamPiece[] | undefined = pieces;
  return {
    read() {
      const next = left;
      left = undefined;
      return Promise.resolve(next);
    },
    cancel() {
      left = undefined;
    },
  };
}
