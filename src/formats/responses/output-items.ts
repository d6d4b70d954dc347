/** Writes single output items of the Responses API. */
import type { JsonObject, JsonValue } from '../../protocol/json.ts';
import type { Annotation, TokenLogprob } from '../../protocol/chat-result.ts';

/** How an item ended, or that it has not. */
export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** Takes the events of an answer in turn; each gets its `type` and `sequence_number`. */
export type Emit = (type: string, members: Readonly<Record<string, JsonValue | undefined>>) => void;

/** What an item needs to tell of itself. */
export interface ItemPlace {
  readonly emit: Emit;
  readonly id: string;
  /** Position in `output`. Events of items that grow at the same time are distinguished by it. */
  readonly outputIndex: number;
}

/** One item of an answer while it grows. */
export interface OutputItemWriter {
  readonly outputIndex: number;
  /** The item as it is now. */
  item(status: ItemStatus): JsonObject;
  /** Tells that nothing will be added. */
  close(status: ItemStatus): void;
}

/** Tells of a new item. */
export function announce({ emit, outputIndex }: ItemPlace, item: JsonObject): void {
  emit('response.output_item.added', { output_index: outputIndex, item });
}

/** Tells that an item is over. */
export function conclude({ emit, outputIndex }: ItemPlace, item: JsonObject): void {
  emit('response.output_item.done', { output_index: outputIndex, item });
}

interface TextPart {
  readonly kind: 'text';
  readonly pieces: string[];
  readonly annotations: JsonObject[];
  readonly logprobs: JsonObject[];
}

interface RefusalPart {
  readonly kind: 'refusal';
  readonly pieces: string[];
}

/** The message of an answer: at most one text and one refusal, in the order in which they began. */
export class MessageWriter implements OutputItemWriter {
  readonly outputIndex: number;
  readonly #place: ItemPlace;
  readonly #parts: (TextPart | RefusalPart)[] = [];
  /** Files that were parsed for this answer; they are no citations. */
  readonly #files: JsonValue[] = [];

  constructor(place: ItemPlace) {
    this.#place = place;
    this.outputIndex = place.outputIndex;
    announce(place, this.item('in_progress'));
  }

  /** Adds text, and the likelihoods of its tokens where they were requested. */
  text(text: string, logprobs: readonly TokenLogprob[] = []): void {
    const part = this.#textPart();
    const likelihoods = logprobs.map(likelihoodOf);
    part.pieces.push(text);
    part.logprobs.push(...likelihoods);
    this.#notify('response.output_text.delta', part, { delta: text, logprobs: likelihoods });
  }

  /**
   * Adds text without telling of it; the caller does that in a shorter way. Gives the members that the event has
   * besides the text, as the inside of a JSON object.
   */
  addQuietly(text: string): string {
    const part = this.#textPart();
    part.pieces.push(text);
    const { id, outputIndex } = this.#place;
    return `"item_id":"${id}","output_index":${outputIndex},"content_index":${this.#parts.indexOf(part)}`;
  }

  refusal(text: string): void {
    let part = this.#parts.find((one) => one.kind === 'refusal');
    if (part === undefined) {
      part = { kind: 'refusal', pieces: [] };
      this.#open(part);
    }
    part.pieces.push(text);
    this.#notify('response.refusal.delta', part, { delta: text });
  }

  annotation(annotation: Annotation): void {
    const citation = citationOf(annotation);
    if (citation === undefined) {
      this.#files.push(annotation);
      return;
    }
    const part = this.#textPart();
    part.annotations.push(citation);
    const members = { annotation_index: part.annotations.length - 1, annotation: citation };
    this.#notify('response.output_text.annotation.added', part, members);
  }

  /** Makes sure that there is some text, if only an empty one. */
  atLeastEmpty(): void {
    if (this.#parts.length === 0) this.#textPart();
  }

  item(status: ItemStatus): JsonObject {
    return {
      id: this.#place.id,
      type: 'message',
      role: 'assistant',
      status,
      content: this.#parts.map(contentOf),
      ...(this.#files.length === 0 ? {} : { annotations: this.#files }),
    };
  }

  close(status: ItemStatus): void {
    for (const part of this.#parts) {
      const text = part.pieces.join('');
      if (part.kind === 'refusal') this.#notify('response.refusal.done', part, { refusal: text });
      else this.#notify('response.output_text.done', part, { text, logprobs: part.logprobs });
      this.#notify('response.content_part.done', part, { part: contentOf(part) });
    }
    conclude(this.#place, this.item(status));
  }

  #textPart(): TextPart {
    const known = this.#parts.find((part) => part.kind === 'text');
    if (known !== undefined) return known;
    const part: TextPart = { kind: 'text', pieces: [], annotations: [], logprobs: [] };
    this.#open(part);
    return part;
  }

  #open(part: TextPart | RefusalPart): void {
    this.#parts.push(part);
    this.#notify('response.content_part.added', part, { part: contentOf(part) });
  }

  #notify(type: string, part: TextPart | RefusalPart, members: JsonObject): void {
    const { emit, id, outputIndex } = this.#place;
    emit(type, { item_id: id, output_index: outputIndex, content_index: this.#parts.indexOf(part), ...members });
  }
}

/** A part as it is now. A copy: what was told must not change afterwards. */
function contentOf(part: TextPart | RefusalPart): JsonObject {
  const text = part.pieces.join('');
  if (part.kind === 'refusal') return { type: 'refusal', refusal: text };
  return { type: 'output_text', text, annotations: [...part.annotations], logprobs: [...part.logprobs] };
}

/** Strict clients refuse a token without bytes. */
function likelihoodOf({ token, logprob, bytes, top_logprobs: others }: TokenLogprob): JsonObject {
  return {
    token,
    logprob,
    bytes: bytes ?? [],
    top_logprobs: others.map((other) => ({ token: other.token, logprob: other.logprob, bytes: other.bytes ?? [] })),
  };
}

/** A citation, with its members beside the type; undefined for annotations that are no citations. */
function citationOf(annotation: Annotation): JsonObject | undefined {
  if (annotation.type !== 'url_citation') return undefined;
  const { url, title, content, start_index: start, end_index: end } = annotation.url_citation;
  return {
    type: 'url_citation',
    url,
    title: title ?? '',
    start_index: start ?? 0,
    end_index: end ?? 0,
    ...(content === undefined ? {} : { content }),
  };
}
