/** The response of chat completions. */
import type { ErrorDetail } from './error.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { RouterMetadata } from './metadata.ts';
import type { ReasoningDetail } from './reasoning.ts';
import type { ToolCallExtra } from './tools.ts';
import type { Usage } from './usage.ts';

/** Why an answer ended. `native_finish_reason` keeps the provider's own word. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'error';

/** One token and its likelihood. `bytes` matters: a token may be part of a character. */
export interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[] | null;
  readonly top_logprobs: readonly {
    readonly token: string;
    readonly logprob: number;
    readonly bytes: readonly number[] | null;
  }[];
}

/** Likelihoods of the tokens of an answer. */
export interface Logprobs {
  readonly content: readonly TokenLogprob[] | null;
  readonly refusal?: readonly TokenLogprob[] | null;
}

/** A source that the answer cites, or a file that was parsed for it. */
export type Annotation =
  | {
      readonly type: 'url_citation';
      readonly url_citation: {
        readonly url: string;
        readonly title?: string;
        readonly content?: string;
        readonly start_index?: number;
        readonly end_index?: number;
      };
    }
  | {
      readonly type: 'file';
      readonly file: {
        readonly hash: string;
        readonly name?: string;
        readonly content: readonly (
          | { readonly type: 'text'; readonly text: string }
          | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }
        )[];
      };
    };

/** An image in an answer, as a data URL or http(s) URL. */
export interface OutputImage {
  readonly type: 'image_url';
  readonly image_url: { readonly url: string };
}

/** Audio in an answer. */
export interface OutputAudio {
  readonly id?: string;
  readonly data?: string;
  readonly transcript?: string;
  /** Unix seconds. */
  readonly expires_at?: number;
}

/** A finished tool call. `arguments` is JSON as a string. */
export interface ResultToolCall {
  readonly id: string;
  readonly index: number;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
  /** What the vendor whose model made the call requires back with it. */
  readonly extra_content?: ToolCallExtra;
}

/** The model's message. */
export interface ResultMessage {
  readonly role: 'assistant';
  readonly content: string | null;
  readonly refusal: string | null;
  readonly reasoning: string | null;
  readonly reasoning_details?: readonly ReasoningDetail[];
  readonly annotations?: readonly Annotation[];
  readonly images?: readonly OutputImage[];
  readonly audio?: OutputAudio;
  readonly tool_calls?: readonly ResultToolCall[];
}

/** One answer. `error` is here when the provider ended early after part of the answer was made. */
export interface Choice {
  readonly index: number;
  readonly finish_reason: FinishReason | null;
  readonly native_finish_reason: string | null;
  readonly logprobs: Logprobs | null;
  readonly message: ResultMessage;
  readonly error?: ErrorDetail;
}

/** Body of a non-streaming response (contract: chat result; gaps 6.1). */
export interface ChatResult {
  /** `gen-<unix seconds>-<20 characters>`, the same as in the `X-Generation-Id` header. */
  readonly id: string;
  readonly object: 'chat.completion';
  /** Unix seconds. */
  readonly created: number;
  /** Model that answered. */
  readonly model: string;
  /** Display name of the provider that answered. */
  readonly provider?: string;
  readonly choices: readonly Choice[];
  readonly system_fingerprint: string | null;
  readonly service_tier?: string | null;
  readonly usage?: Usage;
  /** What the provider found out about tool calls of the answer, as it said it. */
  readonly alignment?: JsonObject;
  readonly safeguard_results?: readonly JsonValue[];
  /** Present when the request enabled it. */
  readonly router_metadata?: RouterMetadata;
}

const ROLES = new Set<unknown>(['user', 'assistant', 'system', 'developer']);
const MAX_ID_LENGTH = 512;

/**
 * True for a message that consists of a role and text, or of a tool's id and its result, and nothing else. Nearly all
 * messages are like that, and the schema need not be asked about them. A test holds the two to the same answer.
 */
export function isPlainMessage(message: unknown): boolean {
  if (typeof message !== 'object' || message === null) return false;
  const { role, content, tool_call_id: id } = message as Readonly<Record<string, unknown>>;
  if (typeof content !== 'string') return false;
  let members = 0;
  for (const _ in message) members += 1;
  return role === 'tool' ? members === 3 && isCallId(id) : members === 2 && ROLES.has(role);
}

/**
 * How many calls a turn of a model makes, if it consists of them and perhaps of text, and each of an id, a name and
 * arguments, in the order of the schema; 0 for any other message. Most turns with calls are like that, too.
 */
export function plainCallsOf(message: unknown): number {
  if (typeof message !== 'object' || message === null) return 0;
  const { role, content, tool_calls: calls } = message as Readonly<Record<string, unknown>>;
  if (role !== 'assistant' || !Array.isArray(calls) || !hasOnly(message, TURN)) return 0;
  if (content !== null && typeof content !== 'string') return 0;
  for (const call of calls) if (!isPlainCall(call)) return 0;
  return calls.length;
}

const TURN = ['role', 'content', 'tool_calls'];
const CALL = ['id', 'type', 'function'];
const CALLED = ['name', 'arguments'];
const MAX_CALLED_LENGTH = 256;

function isPlainCall(call: unknown): boolean {
  if (typeof call !== 'object' || call === null || !hasOnly(call, CALL)) return false;
  const { id, type, function: called } = call as Readonly<Record<string, unknown>>;
  if (!isCallId(id) || type !== 'function' || typeof called !== 'object' || called === null) return false;
  const { name, arguments: text } = called as Readonly<Record<string, unknown>>;
  const isName = typeof name === 'string' && name !== '' && name.length <= MAX_CALLED_LENGTH;
  return isName && typeof text === 'string' && hasOnly(called, CALLED);
}

function isCallId(id: unknown): boolean {
  return typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH && !id.includes('\0');
}

/** Whether an object has these members, in this order, and no other. */
function hasOnly(object: object, names: readonly string[]): boolean {
  let place = 0;
  for (const name in object) {
    if (name !== names[place]) return false;
    place += 1;
  }
  return place === names.length;
}

/**
 * The id of a generation: `gen-<unix seconds>-<20 letters and digits>` (gaps 6.1).
 *
 * @param created - Unix seconds.
 * @param random - 20 random letters and digits.
 */
export function generationId(created: number, random: string): string {
  return `gen-${created}-${random}`;
}

/** The id of a generation of a batch: `gen-batch-<unix seconds>-<20 hexadecimal digits>`, of the same (gaps 6.1). */
export function batchGenerationId(created: number, random: string): string {
  const digits = Array.from(random, (character) => (character.charCodeAt(0) % 16).toString(16));
  return `gen-batch-${created}-${digits.join('')}`;
}
