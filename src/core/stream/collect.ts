/** Folds a stream into a non-streaming response. */
import type {
  Annotation,
  Choice,
  OutputAudio,
  OutputImage,
  ResultToolCall,
  TokenLogprob,
} from '../../protocol/chat-result.ts';
import type { Delta, ToolCallDelta } from '../../protocol/chunk.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import { moreUsage } from './usage.ts';
import { endReason, unescapeText } from './pieces.ts';
import type {
  DeltaPiece,
  FinishPiece,
  ReportedUsage,
  StreamPiece,
  UpstreamResult,
} from '../../contracts/stream-piece.ts';
import type { ToolCallExtra } from '../../protocol/tools.ts';

/** Everything that was said in one choice. Pieces are kept in lists and joined once, so that the work is linear. */
class ChoiceCollector {
  readonly content: string[] = [];
  readonly refusal: string[] = [];
  readonly reasoning: string[] = [];
  readonly details: ReasoningDetail[] = [];
  readonly images: OutputImage[] = [];
  readonly annotations: Annotation[] = [];
  readonly tools = new ToolCallCollector();
  readonly logprobs: TokenLogprob[] = [];
  readonly refusalLogprobs: TokenLogprob[] = [];
  hasLogprobs = false;
  audio: { id?: string; data: string; transcript: string; expires_at?: number } | undefined;
  finish: FinishPiece | undefined;

  add({ delta, logprobs }: DeltaPiece): void {
    if (delta.content) this.content.push(delta.content);
    if (delta.refusal) this.refusal.push(delta.refusal);
    if (delta.reasoning) this.reasoning.push(delta.reasoning);
    if (delta.reasoning_details) this.details.push(...delta.reasoning_details);
    if (delta.images) this.images.push(...delta.images);
    if (delta.annotations) this.annotations.push(...delta.annotations);
    if (delta.tool_calls) this.tools.add(delta.tool_calls);
    if (delta.audio) this.addAudio(delta.audio);
    if (logprobs === undefined) return;
    this.hasLogprobs = true;
    this.logprobs.push(...(logprobs.content ?? []));
    this.refusalLogprobs.push(...(logprobs.refusal ?? []));
  }

  /** The last word counts, as in {@link StreamTracker}. */
  end(finish: FinishPiece): void {
    if (this.finish?.reason !== 'content_filter') this.finish = finish;
  }

  addAudio(audio: NonNullable<Delta['audio']>): void {
    this.audio ??= { data: '', transcript: '' };
    this.audio.data += audio.data ?? '';
    this.audio.transcript += audio.transcript ?? '';
    if (audio.id !== undefined) this.audio.id = audio.id;
    if (audio.expires_at !== undefined) this.audio.expires_at = audio.expires_at;
  }

  toChoice(index: number): Choice {
    const calls = this.tools.finish();
    return {
      index,
      finish_reason: this.finish === undefined ? null : endReason(this.finish.reason, calls.length),
      native_finish_reason: this.finish?.native ?? null,
      logprobs: this.hasLogprobs
        ? {
            content: this.logprobs.length > 0 ? this.logprobs : null,
            ...(this.refusalLogprobs.length > 0 ? { refusal: this.refusalLogprobs } : {}),
          }
        : null,
      message: {
        role: 'assistant',
        content: this.content.length > 0 || calls.length === 0 ? this.content.join('') : null,
        refusal: joinOrNull(this.refusal),
        reasoning: joinOrNull(this.reasoning),
        ...(this.details.length > 0 ? { reasoning_details: joinReasoningDetails(this.details) } : {}),
        ...(this.annotations.length > 0 ? { annotations: this.annotations } : {}),
        ...(this.images.length > 0 ? { images: this.images } : {}),
        ...(this.audio === undefined ? {} : { audio: this.audio satisfies OutputAudio }),
        ...(calls.length > 0 ? { tool_calls: calls } : {}),
      },
    };
  }
}

/** Folds the pieces of a stream into a non-streaming response. Failures and end marks are not its business. */
export class ResultCollector {
  readonly #choices = new Map<number, ChoiceCollector>();
  #usage: ReportedUsage | undefined;
  #facts: Omit<UpstreamResult, 'choices' | 'usage'> = {};

  /** Adds one piece. */
  add(piece: StreamPiece): void {
    if (typeof piece === 'string') this.#choice(0).content.push(unescapeText(piece));
    else if (piece.type === 'delta') this.#choice(piece.index).add(piece);
    else if (piece.type === 'finish') this.#choice(piece.index).end(piece);
    else if (piece.type === 'usage') this.#usage = moreUsage(this.#usage, piece.usage);
    else if (piece.type === 'facts') this.#facts = { ...this.#facts, ...definedOnly(piece) };
  }

  /** The answer so far. */
  result(): UpstreamResult {
    const choices = [...this.#choices].sort(([left], [right]) => left - right);
    return {
      ...this.#facts,
      usage: this.#usage,
      choices: choices.map(([index, choice]) => choice.toChoice(index)),
    };
  }

  #choice(index: number): ChoiceCollector {
    let choice = this.#choices.get(index);
    if (choice === undefined) {
      choice = new ChoiceCollector();
      this.#choices.set(index, choice);
    }
    return choice;
  }
}

function joinOrNull(pieces: readonly string[]): string | null {
  return pieces.length === 0 ? null : pieces.join('');
}

function definedOnly<Value extends object>({ type: _, ...facts }: Value & { type?: string }): Partial<Value> {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as Partial<Value>;
}

interface OpenCall {
  id: string;
  name: string;
  extra: ToolCallExtra | undefined;
  readonly pieces: string[];
}

/** Puts the fragments of tool calls together, by index and never by position. */
export class ToolCallCollector {
  readonly #calls = new Map<number, OpenCall>();

  /** Adds the fragments of one chunk. */
  add(deltas: readonly ToolCallDelta[]): void {
    for (const delta of deltas) {
      let call = this.#calls.get(delta.index);
      if (call === undefined) {
        call = { id: '', name: '', extra: undefined, pieces: [] };
        this.#calls.set(delta.index, call);
      }
      if (delta.id) call.id ||= delta.id;
      if (delta.function?.name) call.name ||= delta.function.name;
      call.extra ??= delta.extra_content;
      if (delta.function?.arguments) call.pieces.push(delta.function.arguments);
    }
  }

  /** The finished calls in order of their index. Empty arguments are an empty object: strict clients parse them. */
  finish(): readonly ResultToolCall[] {
    return [...this.#calls]
      .sort(([left], [right]) => left - right)
      .map(([index, call]) => ({
        id: call.id,
        index,
        type: 'function',
        function: { name: call.name, arguments: argumentsOf(call.pieces) },
        ...(call.extra === undefined ? {} : { extra_content: call.extra }),
      }));
  }
}

function argumentsOf(pieces: readonly string[]): string {
  const text = pieces.join('');
  return /\S/.test(text) ? text : '{}';
}

type Loose = ReasoningDetail & { text?: string | null; summary?: string; data?: string; signature?: string | null };

/**
 * Joins the fragments of streamed reasoning details: neighbours of the same type and index become one, text runs on,
 * and a signature that comes last stays with the text it signs. Bytes are never changed.
 */
export function joinReasoningDetails(fragments: readonly ReasoningDetail[]): readonly ReasoningDetail[] {
  const joined: Loose[] = [];
  for (const fragment of fragments as readonly Loose[]) {
    const last = joined.at(-1);
    if (last !== undefined && continues(last, fragment)) joined[joined.length - 1] = append(last, fragment);
    else joined.push({ ...fragment });
  }
  return joined;
}

function continues(last: Loose, next: Loose): boolean {
  if (last.type !== next.type || next.type === 'reasoning.encrypted') return false;
  if (next.type === 'reasoning.server_tool_call') return false;
  if (last.index !== next.index) return false;
  return next.id == null || last.id == null || next.id === last.id;
}

function append(last: Loose, next: Loose): Loose {
  const joined = { ...last, ...next } as Loose;
  if (last.text != null || next.text != null) joined.text = `${last.text ?? ''}${next.text ?? ''}`;
  if (last.summary !== undefined) joined.summary = `${last.summary}${next.summary ?? ''}`;
  if (next.signature == null && last.signature != null) joined.signature = last.signature;
  if (next.id == null && last.id != null) Object.assign(joined, { id: last.id });
  if (next.format == null && last.format != null) Object.assign(joined, { format: last.format });
  return joined;
}
