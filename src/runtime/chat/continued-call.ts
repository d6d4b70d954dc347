/** Reads the streams of several endpoints as one, each of which goes on where the one before broke. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import { type ContinuedRequest, goesOnAfter } from '../../core/fallback/continuation.ts';
import { escapeText } from '../../core/stream/pieces.ts';
import { SentText } from '../../core/stream/sent-text.ts';
import { Splice } from '../../core/stream/splice.ts';
import { StreamTracker } from '../../core/stream/stream-tracker.ts';
import { addUsage } from '../../core/stream/sum-usage.ts';
import type { Settlement } from '../../core/stream/billing.ts';
import { PENDING, Pollable, type Polled } from '../../platform/wait.ts';
import type { UpstreamCall } from './upstream-call.ts';
import { type AttemptFailure, failure, type Continuation } from '../../contracts/failure.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import type { StreamPiece } from '../../contracts/stream-piece.ts';
import type { AnswerCall, ChatAnswer } from './answer.ts';

/** Where the answers come from that go on with others. */
interface ContinuationSource {
  /** True once the client has disconnected. */
  readonly isAborted: boolean;
  /** The answer that goes on with a text. */
  goOn(text: string): Promise<ChatAnswer>;
  /** How a call goes on with what was sent. */
  wayOf(call: UpstreamCall): ContinuedRequest | undefined;
  /** Called before the answer ends; where it gives false, nothing more is read. */
  readonly beforeEnd: (() => Promise<boolean>) | undefined;
}

/** A text that was sent by an instance which is gone. */
export interface BilledText {
  readonly text: string;
  /** What it likely used and cost; undefined where that is unknown. */
  readonly bill: Settlement | undefined;
}

/** Why nothing more is read where the client is gone. */
export const GONE = failure('aborted', 'The client disconnected');
const DIFFERENT = failure('superseded', 'The answer is another one than what had been sent');

/** Reads the streams of several endpoints as one. */
export class ContinuedCall extends Pollable<readonly StreamPiece[] | undefined> implements AnswerCall {
  readonly tracker = new StreamTracker();
  readonly #source: ContinuationSource;
  readonly #sent = new SentText();
  /** What those that broke used and cost, as far as they were shown. */
  readonly #bills: Pick<Settlement, 'usage' | 'costParts'>[] = [];
  #answer: ChatAnswer;
  /** Present where the stream that is read goes on with another. */
  #splice: Splice | undefined;
  #continued: Continuation | undefined;
  /** The attempt whose failure is told when nothing goes on. */
  #broken: Attempt | undefined;
  /** True while the answer that is read has not been settled. */
  #isOpen = true;
  #isClosed = false;
  /** The end of what is read, once what came before it has been handed out. */
  #next: AttemptFailure | 'end' | undefined;
  /** True once no other endpoint may go on. */
  #isOver = false;
  /** True while the next answer is awaited, or that this one may end. */
  #isAwaiting = false;
  /** What ends the answer, where it must be sure first that it may. */
  #ending: { readonly pieces: readonly StreamPiece[] | undefined } | undefined;
  #wake: () => void = ignore;

  constructor(source: ContinuationSource, first: ChatAnswer, before?: BilledText) {
    super();
    this.#source = source;
    this.#answer = first;
    if (before === undefined) this.tracker.observe(first.call.tracker.facts);
    else {
      this.#sent.note(escapeText(before.text));
      if (before.bill !== undefined) this.#bills.push(withoutGivenUp(before.bill));
      this.#goOnWith(first, before.text);
    }
  }

  /** The answer that is read, or was last. */
  get answer(): ChatAnswer {
    return this.#answer;
  }

  get endpoint(): Endpoint | undefined {
    return this.#continued === undefined ? undefined : this.#answer.endpoint;
  }

  /** How the answer goes on with the one before. */
  get continued(): Continuation | undefined {
    return this.#continued;
  }

  poll(wake: () => void): Polled<readonly StreamPiece[] | undefined> {
    while (!this.#isClosed) {
      if (this.#ending !== undefined && !this.#isAwaiting) return this.#ending.pieces;
      const next = this.#next;
      if (next === 'end') return this.#last(undefined, wake);
      if (next !== undefined) {
        this.#next = undefined;
        if (!this.#goesOn(next)) return this.#last([{ type: 'failure', failure: next }], wake);
      }
      if (this.#isAwaiting) {
        this.#wake = wake;
        return PENDING;
      }
      const pieces = this.#answer.call.poll(wake);
      if (pieces === PENDING) return PENDING;
      const shown = this.#shown(pieces);
      const isLast = shown.some((piece) => typeof piece !== 'string' && piece.type === 'end');
      if (shown.length > 0) return isLast ? this.#last(shown, wake) : shown;
    }
    return undefined;
  }

  /** The pieces that end the answer, once it is sure that nobody else goes on with it. */
  #last(pieces: readonly StreamPiece[] | undefined, wake: () => void): Polled<readonly StreamPiece[] | undefined> {
    const claim = this.#source.beforeEnd;
    if (claim === undefined || this.#ending !== undefined) return pieces;
    this.#ending = { pieces };
    this.#wake = wake;
    this.#isAwaiting = true;
    this.#next = undefined;
    void claim().then((isOurs) => {
      // What another instance goes on with ends there.
      if (!isOurs) return;
      this.#isAwaiting = false;
      this.#wake();
    });
    return PENDING;
  }

  close(): void {
    this.#isClosed = true;
    this.#answer.call.close();
  }

  /** Settles as failed what is under way, and gives the attempt whose failure it is to the caller: the first. */
  fail(reason: AttemptFailure): Attempt {
    if (this.#isOpen) {
      this.#isOpen = false;
      const isShown = this.#splice?.isOver !== false;
      const attempt = this.#answer.fail(reason, { continued: isShown ? this.#continued : undefined });
      this.#broken ??= attempt;
    }
    if (this.#broken === undefined) throw new RangeError('an answer belongs to an attempt');
    return this.#broken;
  }

  /** What all of them used and cost together. */
  total(last: Pick<Settlement, 'usage' | 'costParts'>): Settlement {
    return [...this.#bills, last].reduce((sum, one) => ({
      usage: addUsage(sum.usage, one.usage),
      costParts: sum.costParts && one.costParts && [...sum.costParts, ...one.costParts],
    }));
  }

  /** What of the pieces is shown. What ends them comes with the next poll. */
  #shown(pieces: readonly StreamPiece[] | undefined): readonly StreamPiece[] {
    const { tracker } = this.#answer.call;
    const shown: StreamPiece[] = [];
    for (const piece of pieces ?? [END]) {
      if (typeof piece === 'string') tracker.countText(piece);
      else if (piece.type === 'failure') {
        this.#next = piece.failure;
        break;
      } else if (piece !== END) tracker.observe(piece);
      const problem = typeof piece !== 'string' && piece.type === 'end' ? this.#problemAtEnd() : undefined;
      if (problem !== undefined) {
        this.#next = problem;
        break;
      }
      const taken = this.#splice === undefined ? own(piece) : this.#splice.take(piece);
      if (taken === undefined) {
        this.#next = DIFFERENT;
        break;
      }
      for (const one of taken) {
        this.#sent.note(one);
        if (one !== END) shown.push(one);
      }
      if (piece === END) this.#next = 'end';
    }
    return shown;
  }

  /** What is wrong with a stream that has ended, if anything. */
  #problemAtEnd(): AttemptFailure | undefined {
    const end = this.#answer.call.tracker.end();
    return end.ok ? undefined : end.failure;
  }

  /** Settles a stream that broke, and looks for another endpoint; false where none may go on. */
  #goesOn(reason: AttemptFailure): boolean {
    const isDifferent = reason === DIFFERENT;
    if (this.#isOver || (!isDifferent && !(goesOnAfter(reason) && this.#sent.canGoOn))) return false;
    const answer = this.#answer;
    const isShown = this.#splice?.isOver !== false;
    answer.call.close();
    if (isShown) this.#bills.push(withoutGivenUp(answer.bill()));
    this.#isOpen = false;
    const attempt = answer.fail(reason, { kept: isShown, continued: isShown ? this.#continued : undefined });
    this.#broken ??= attempt;
    if (isDifferent) {
      this.#giveUp();
      return true;
    }
    this.#isAwaiting = true;
    void this.#await();
    return true;
  }

  async #await(): Promise<void> {
    try {
      const { text } = this.#sent;
      const answer = await this.#source.goOn(text);
      this.#goOnWith(answer, text);
      if (this.#isClosed) this.fail(GONE);
    } catch {
      // Nobody goes on: what is told is why there had to be another.
      this.#giveUp();
    }
    this.#isAwaiting = false;
    const wake = this.#wake;
    this.#wake = ignore;
    wake();
  }

  /** Reads an answer that goes on with a text. */
  #goOnWith(answer: ChatAnswer, text: string): void {
    const way = this.#source.wayOf(answer.call);
    this.#answer = answer;
    this.#isOpen = true;
    this.#splice = new Splice(way?.expected ?? text, way?.textBefore ?? 0);
    this.#continued = { way: way?.way ?? 'repetition', after: text.length };
    this.tracker.observe(answer.call.tracker.facts);
  }

  /** Ends the stream with the failure of the first that broke. */
  #giveUp(): void {
    const outcome = this.#broken?.outcome;
    this.#isOver = true;
    this.#next = this.#source.isAborted || outcome?.ok !== false ? GONE : outcome.failure;
  }
}

/** Stands for the end of a stream without an end mark. */
const END: StreamPiece = { type: 'end' };

/** What a stream says itself, without the words of its API. */
function own(piece: StreamPiece): readonly StreamPiece[] {
  return typeof piece !== 'string' && piece.type === 'native' ? [] : [piece];
}

/** What was lost on other calls is counted with the last one, for all of them. */
function withoutGivenUp({ usage, costParts }: Settlement): Pick<Settlement, 'usage' | 'costParts'> {
  const { given_up_cost: _, ...costs } = usage.cost_details ?? {};
  return { usage: usage.cost_details === undefined ? usage : { ...usage, cost_details: costs }, costParts };
}

function ignore(): void {}
