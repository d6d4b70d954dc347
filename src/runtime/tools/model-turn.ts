/** Reads one turn of the model in a loop of server tools. */
import { ServerCallFilter } from '../../core/pipeline/server-call-filter.ts';
import { judgeToolCalls } from '../../core/selection/tool-validity.ts';
import { ResultCollector } from '../../core/stream/collect.ts';
import { commits, piecesOf } from '../../core/stream/pieces.ts';
import { StreamTracker } from '../../core/stream/stream-tracker.ts';
import type { ResultMessage } from '../../protocol/chat-result.ts';
import type { Settlement } from '../../core/stream/billing.ts';
import type { ChatExecution } from '../chat/execution.ts';
import { heldCall } from '../pipeline/transformed-call.ts';
import { type AttemptFailure, failure } from '../../contracts/failure.ts';
import type { FinishPiece, StreamPiece } from '../../contracts/stream-piece.ts';
import type { Answer, AnswerCall } from '../chat/answer.ts';

/** A turn that is over. */
export interface FinishedTurn {
  readonly answer: Answer;
  readonly message: ResultMessage;
  readonly finishes: readonly FinishPiece[];
  readonly bill: Pick<Settlement, 'usage' | 'costParts'>;
}

/**
 * One turn of the model: a call of a provider, read to its end. As long as nothing of it was shown, an endpoint that
 * ends early is replaced by the next one, as if it had never begun.
 */
export class ModelTurn {
  readonly execution: ChatExecution;
  readonly #serverNames: ReadonlySet<string>;
  #answer: Answer | undefined;
  #call: AnswerCall = heldCall([]);
  #tracker = new StreamTracker();
  #collector = new ResultCollector();
  #filter: ServerCallFilter;
  #shown = false;

  constructor(execution: ChatExecution, serverNames: ReadonlySet<string>) {
    this.execution = execution;
    this.#serverNames = serverNames;
    this.#filter = new ServerCallFilter(serverNames);
  }

  /** The answer that is being read. */
  get answer(): Answer | undefined {
    return this.#answer;
  }

  /**
   * Waits for an endpoint to answer.
   *
   * @throws Like {@link ChatExecution.run}.
   */
  async open(): Promise<Answer> {
    const answer = await this.execution.run();
    this.#answer = answer;
    this.#call = answer.result === undefined ? answer.call : heldCall(piecesOf(answer.result));
    // What came before the first content has been seen by the call's own tracker.
    this.#tracker = answer.result === undefined ? answer.call.tracker : new StreamTracker();
    this.#collector = new ResultCollector();
    this.#filter = new ServerCallFilter(this.#serverNames);
    return answer;
  }

  /**
   * The next pieces that the caller may see; undefined at the end of the turn. A provider's failure comes as a piece
   * once something was shown.
   */
  async read(): Promise<readonly StreamPiece[] | undefined> {
    for (;;) {
      const pieces = this.#tracker.ended ? undefined : await this.#call.read();
      const shown = pieces === undefined ? this.#end() : this.#tryShow(pieces);
      const broken = shown?.find((piece) => typeof piece !== 'string' && piece.type === 'failure');
      if (broken === undefined) {
        if (shown?.length === 0) continue;
        this.#shown ||= shown?.some(commits) === true;
        return shown;
      }
      if (this.#shown) return shown;
      this.fail((broken as { readonly failure: AttemptFailure }).failure);
      await this.open();
    }
  }

  /** Settles the turn after its last piece. */
  finish(): FinishedTurn {
    const answer = this.#opened();
    const { request } = this.execution;
    const end = this.#tracker.end();
    const finishes = end.ok ? end.finishes : [];
    for (const finish of finishes) this.#collector.add(finish);
    const message = this.#collector.result().choices[0]?.message ?? NOTHING;
    const finishReason = finishes[0]?.reason ?? null;
    const toolCalls = judgeToolCalls(message.tool_calls, request.tools);
    answer.call.close();
    this.#answer = undefined;
    const { facts } = answer.settle({ finishReason, toolCalls });
    return { answer, message, finishes, bill: facts };
  }

  /** Settles the turn as failed. */
  fail(reason: AttemptFailure): void {
    const answer = this.#opened();
    answer.call.close();
    this.#answer = undefined;
    answer.fail(reason);
  }

  /** Adapters come from anybody: a piece that is none breaks the turn and nothing else. */
  #tryShow(pieces: readonly StreamPiece[]): readonly StreamPiece[] {
    try {
      return pieces.flatMap((piece) => this.#show(piece));
    } catch (thrown) {
      return [failurePiece(failure('adapter', 'The provider sent something that is no part of an answer', { thrown }))];
    }
  }

  #show(piece: StreamPiece): readonly StreamPiece[] {
    if (this.#tracker.ended) return [];
    if (typeof piece === 'string') {
      this.#tracker.countText(piece);
      this.#collector.add(piece);
      return [piece];
    }
    if (piece.type === 'failure') return [piece];
    this.#tracker.observe(piece);
    if (piece.type === 'facts') return [piece];
    if (piece.type !== 'delta') return [];
    this.#collector.add(piece);
    const shown = this.#filter.show(piece);
    return shown === undefined ? [] : [shown];
  }

  #end(): readonly StreamPiece[] | undefined {
    const end = this.#tracker.end();
    if (!end.ok) return [failurePiece(end.failure)];
    const left = this.#filter.end();
    return left === undefined ? undefined : [left];
  }

  #opened(): Answer {
    if (this.#answer === undefined) throw new RangeError('a turn has been opened before it ends');
    return this.#answer;
  }
}

const NOTHING: ResultMessage = { role: 'assistant', content: null, refusal: null, reasoning: null };

function failurePiece(reason: AttemptFailure): StreamPiece {
  return { type: 'failure', failure: reason };
}
