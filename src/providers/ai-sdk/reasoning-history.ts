/** Writes earlier reasoning with its signatures into a prompt of the AI SDK. */
import type { JsonObject } from '../../protocol/json.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import type { AiSdkFamily } from './families.ts';
import type { ProviderOptions, ReasoningPrompt } from './model.ts';
import { joinReasoningDetails } from '../../core/stream/collect.ts';
import type { AssistantMessage } from '../../protocol/message.ts';
import { readSignedPart } from '../signed-parts.ts';
import { FORMATS, parseForeign } from './reasoning.ts';
import type { ToolCallExtra } from '../../protocol/tools.ts';

/** Earlier reasoning, as a model gets it back. */
interface ReasoningHistory {
  readonly parts: readonly ReasoningPrompt[];
  /** Stretches of the text that are signed, by where they begin. */
  readonly texts: readonly SignedText[];
  /** Options for images, by their position. */
  readonly images: ReadonlyMap<number, ProviderOptions>;
  /** Options for tool calls, by their ids. */
  readonly calls: ReadonlyMap<string, ProviderOptions>;
}

/** A stretch of text, in UTF-16 units, and its signature as options. */
export interface SignedText {
  readonly start: number;
  readonly end: number;
  readonly options: ProviderOptions;
}

const NOTHING: ReasoningHistory = { parts: [], texts: [], images: new Map(), calls: new Map() };

/**
 * Turns what `reasoning_details` kept into reasoning parts with their signatures, byte for byte. Reasoning that another
 * family signed goes back as text, where text alone is accepted, and not at all elsewhere.
 */
export function reasoningHistory(message: AssistantMessage, family: AiSdkFamily, key: string): ReasoningHistory {
  const details = joinReasoningDetails(message.reasoning_details ?? []);
  if (details.length === 0) {
    const text = message.reasoning ?? '';
    return text === '' || family.unsignedReasoning !== true ? NOTHING : { ...NOTHING, parts: [reasoning(text)] };
  }
  const history = new HistoryBuilder(family, key, new Set((message.tool_calls ?? []).map(({ id }) => id)));
  for (const detail of details) history.add(detail);
  return history.build();
}

/**
 * The signature of a call as options, where it is in no `reasoning_details`. Servers that are compatible with OpenAI may
 * have models of Google behind them.
 */
export function signedCall(
  extra: ToolCallExtra | null | undefined,
  { signature, passesOn }: AiSdkFamily,
  key: string,
): ProviderOptions | undefined {
  const thoughtSignature = extra?.google?.thought_signature;
  if (typeof thoughtSignature !== 'string' || (signature !== 'google' && passesOn !== true)) return undefined;
  return { [key]: { thoughtSignature } };
}

class HistoryBuilder {
  readonly #family: AiSdkFamily;
  readonly #key: string;
  readonly #callIds: ReadonlySet<string>;
  readonly #parts: { text: string; key: string; options: JsonObject; index: number | undefined }[] = [];
  readonly #calls = new Map<string, ProviderOptions>();
  /** What is sealed in each item of OpenAI. */
  readonly #sealed = new Map<string, string>();
  readonly #images = new Map<number, ProviderOptions>();
  readonly #texts: SignedText[] = [];

  constructor(family: AiSdkFamily, key: string, callIds: ReadonlySet<string>) {
    this.#family = family;
    this.#key = key;
    this.#callIds = callIds;
  }

  add(detail: ReasoningDetail): void {
    const ours = this.#family.signature !== undefined && this.#isOurs(detail);
    switch (detail.type) {
      case 'reasoning.text': {
        const options = ours && detail.signature != null ? this.#signed(detail.signature) : undefined;
        if (options !== undefined) this.#push(detail, detail.text ?? '', options);
        else if (this.#family.unsignedReasoning === true && detail.text) this.#push(detail, detail.text, {});
        break;
      }
      case 'reasoning.summary':
        if (ours && this.#family.signature === 'openai' && detail.id != null) {
          this.#push(detail, detail.summary, { itemId: detail.id });
        } else if (this.#family.unsignedReasoning === true && detail.summary !== '') {
          this.#push(detail, detail.summary, {});
        }
        break;
      case 'reasoning.encrypted':
        if (ours) this.#encrypted(detail);
        else if (detail.format === FORMATS.unknown) this.#foreign(detail);
        break;
      case 'reasoning.server_tool_call':
        break;
    }
  }

  build(): ReasoningHistory {
    const parts = this.#parts.map(({ text, key, options }) => reasoning(text, key, this.#withSealed(options)));
    const texts = this.#texts.toSorted((left, right) => left.start - right.start);
    return { parts, texts, images: this.#images, calls: this.#calls };
  }

  /** A detail without a format is Claude's, as everybody assumes (gaps 6.4). */
  #isOurs({ format }: ReasoningDetail): boolean {
    switch (this.#family.signature) {
      case 'anthropic':
        return format == null || format === FORMATS.anthropic;
      case 'google':
        return format === FORMATS.google;
      case 'openai':
        return format === FORMATS.openai || format === FORMATS.azure;
      default:
        return false;
    }
  }

  /** An item of OpenAI may have come in several pieces, of which only one told what is sealed in it. */
  #withSealed(options: JsonObject): JsonObject {
    const { itemId } = options;
    const sealed = typeof itemId === 'string' ? this.#sealed.get(itemId) : undefined;
    return sealed === undefined ? options : { ...options, reasoningEncryptedContent: sealed };
  }

  #signed(signature: string): JsonObject | undefined {
    if (this.#family.signature === 'anthropic') return { signature };
    return this.#family.signature === 'google' ? { thoughtSignature: signature } : undefined;
  }

  #push({ index, format }: ReasoningDetail, text: string, options: JsonObject): void {
    // Azure reads the proof of its reasoning under its own name, and everything else under that of OpenAI too.
    const key = format === FORMATS.azure && this.#family.signature === 'openai' ? 'azure' : this.#key;
    this.#parts.push({ text, key, options, index });
  }

  #encrypted(detail: Extract<ReasoningDetail, { type: 'reasoning.encrypted' }>): void {
    const { data, id } = detail;
    if (this.#family.signature === 'anthropic') return this.#push(detail, '', { redactedData: data });
    if (this.#family.signature === 'google') {
      const options = { [this.#key]: { thoughtSignature: data } };
      const part = readSignedPart(id ?? '');
      const [first] = this.#callIds;
      if (id != null && this.#callIds.has(id)) this.#calls.set(id, options);
      // Clients such as Codex keep the detail and drop its id. Of calls that are made together, the first is signed.
      else if (part === undefined && first !== undefined && this.#calls.size === 0) this.#calls.set(first, options);
      else if (part?.type === 'image') this.#images.set(part.position, options);
      else if (part !== undefined) this.#texts.push({ start: part.start, end: part.end, options });
      return;
    }
    if (id == null) return this.#push(detail, '', { reasoningEncryptedContent: data });
    this.#sealed.set(id, data);
    if (this.#parts.every(({ options }) => options['itemId'] !== id)) this.#push(detail, '', { itemId: id });
  }

  /** What a provider without a format of its own attached to its reasoning. */
  #foreign(detail: Extract<ReasoningDetail, { type: 'reasoning.encrypted' }>): void {
    const options = parseForeign(detail.data)?.[this.#key];
    if (options === undefined) return;
    const known = this.#parts.find(({ index }) => index !== undefined && index === detail.index);
    if (known === undefined) this.#push(detail, '', options);
    else known.options = options;
  }
}

function reasoning(text: string, key = '', options: JsonObject = {}): ReasoningPrompt {
  return {
    type: 'reasoning',
    text,
    ...(Object.keys(options).length > 0 ? { providerOptions: { [key]: options } } : {}),
  };
}
