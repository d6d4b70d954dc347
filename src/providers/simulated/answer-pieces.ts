import { type FinishPiece, type StreamPiece, escapeText } from '../../core/stream/pieces.ts';
import type { FinishReason } from '../../protocol/chat-result.ts';
import type { Assignment } from './assignment.ts';
import type { Draft, DraftCall } from './draft.ts';
import { tokenize } from './tokens.ts';

/** An answer as a stream has it. */
export interface TokenStream {
  /** One piece per token that is shown. */
  readonly pieces: readonly StreamPiece[];
  /** Tokens that were thought but are not shown. They take time before the first piece. */
  readonly hiddenTokens: number;
  readonly reasoningTokens: number;
  /** All tokens, reasoning included. */
  readonly completionTokens: number;
  readonly finish: FinishPiece;
}

/** Cuts an answer at its stop sequences and its token limits, and into the pieces of a stream. */
export function piecesOf(draft: Draft, { maxTokens, stop, reasoning }: Assignment): TokenStream {
  const budget = new TokenBudget(maxTokens);
  const thought = budget.take(tokenize(draft.reasoning).slice(0, reasoning?.maxTokens));
  const content = budget.take(tokenize(cutAtStop(draft.text, stop)));
  const hidden = reasoning?.hidden === true;
  const pieces: StreamPiece[] = [
    ...(hidden ? [] : thought.map(reasoningPiece)),
    ...content.map(escapeText),
    ...draft.calls.flatMap((call, index) => callPieces(call, index, budget)),
  ];
  const complete: FinishReason = draft.calls.length > 0 ? 'tool_calls' : 'stop';
  const reason = budget.exceeded ? 'length' : complete;
  return {
    pieces,
    hiddenTokens: hidden ? thought.length : 0,
    reasoningTokens: thought.length,
    completionTokens: budget.taken,
    finish: { type: 'finish', index: 0, reason, native: reason },
  };
}

/** Counts the tokens of an answer and says when there are too many. */
class TokenBudget {
  readonly #limit: number;
  taken = 0;
  exceeded = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** As many tokens as there is room for. */
  take(tokens: readonly string[]): readonly string[] {
    const kept = tokens.slice(0, Math.max(0, this.#limit - this.taken));
    this.taken += kept.length;
    if (kept.length < tokens.length) this.exceeded = true;
    return kept;
  }
}

/** The text in front of the first stop sequence. */
function cutAtStop(text: string, stop: readonly string[]): string {
  const ends = stop.map((sequence) => text.indexOf(sequence)).filter((position) => position >= 0);
  return ends.length === 0 ? text : text.slice(0, Math.min(...ends));
}

function reasoningPiece(text: string): StreamPiece {
  const detail = { type: 'reasoning.text', text, format: 'unknown', index: 0 } as const;
  return { type: 'delta', index: 0, delta: { reasoning: text, reasoning_details: [detail] } };
}

/** First id and name, which count as one token, then the arguments bit by bit. */
function callPieces(call: DraftCall, index: number, budget: TokenBudget): readonly StreamPiece[] {
  const { id, name } = call;
  if (budget.take([name]).length === 0) return [];
  const head = { index, id, type: 'function', function: { name, arguments: '' } } as const;
  const tail = budget.take(tokenize(call.arguments)).map((text) => ({ index, function: { arguments: text } }));
  return [head, ...tail].map((fragment): StreamPiece => ({
    type: 'delta',
    index: 0,
    delta: { tool_calls: [fragment] },
  }));
}
