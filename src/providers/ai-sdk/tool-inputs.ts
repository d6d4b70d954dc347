import type { ToolCallDelta } from '../../protocol/chunk.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { OriginalId } from '../tool-ids.ts';
import { ToolCallIndexer } from '../openai-compatible/tool-call-indexer.ts';

interface KnownInput {
  /** Position among the calls, for the indexer. */
  readonly position: number;
  /** The provider runs this tool itself: the caller must not. */
  readonly hidden: boolean;
  /** Its input is no JSON while it is streamed. */
  readonly held: boolean;
  streamed: string;
  called: boolean;
}

/**
 * Follows the tool calls of one answer. A call comes in pieces that are followed by the whole, or as a whole alone;
 * either way the caller gets every character of its arguments once. Tools that the provider runs itself are left out.
 */
export class ToolInputs {
  readonly #known = new Map<string, KnownInput>();
  readonly #indexer: ToolCallIndexer;

  /** @param newId - Makes an id for a call that came without one. */
  constructor(newId: (index: number) => string, originalId: OriginalId) {
    this.#indexer = new ToolCallIndexer(newId, originalId);
  }

  /** `tool-input-start`. Undefined where there are more calls than any sane answer has. */
  start({ id, toolName, providerExecuted, inputEncoding }: JsonObject): readonly ToolCallDelta[] | undefined {
    const known = this.#open(textOf(id), providerExecuted === true, inputEncoding === 'text');
    return known.hidden || known.held ? [] : this.#announce(known, textOf(id), toolName, '');
  }

  /** `tool-input-delta`. */
  delta({ id, delta }: JsonObject): readonly ToolCallDelta[] | undefined {
    const known = this.#known.get(textOf(id));
    const text = textOf(delta);
    if (known === undefined || known.hidden || known.held || text === '') return [];
    known.streamed += text;
    return this.#indexer.read([{ index: known.position, function: { arguments: text } }]);
  }

  /** `tool-call`: the whole, of which only what has not been streamed is news. */
  call({ toolCallId, toolName, input, providerExecuted }: JsonObject): readonly ToolCallDelta[] | undefined {
    const id = textOf(toolCallId);
    const text = typeof input === 'string' ? input : JSON.stringify(input ?? {});
    const begun = this.#known.get(id);
    const known = begun ?? this.#open(id, providerExecuted === true, false);
    if (known.hidden || known.called) return [];
    known.called = true;
    if (known.held) return this.#announce(known, id, toolName, asObject(text));
    if (begun === undefined) return this.#announce(known, id, toolName, text);
    const rest = text.startsWith(known.streamed) ? text.slice(known.streamed.length) : '';
    return rest === '' ? [] : this.#indexer.read([{ index: known.position, function: { arguments: rest } }]);
  }

  /** What is still owed at the end: arguments that are empty are an empty object. */
  finish(): readonly ToolCallDelta[] {
    return this.#indexer.finish();
  }

  #open(id: string, hidden: boolean, held: boolean): KnownInput {
    const known = { position: this.#known.size, hidden, held, streamed: '', called: false };
    // A call without an id is complete, so nothing will ever be added to it.
    this.#known.set(id === '' ? `\0${known.position}` : id, known);
    return known;
  }

  #announce({ position }: KnownInput, id: string, name: unknown, text: string): readonly ToolCallDelta[] | undefined {
    return this.#indexer.read([{ index: position, id, function: { name: textOf(name), arguments: text } }]);
  }
}

/** Input in a language of its own is wrapped: arguments are an object everywhere. */
function asObject(text: string): string {
  const begin = text.trimStart();
  return begin === '' || begin.startsWith('{') ? text : JSON.stringify({ input: text });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
