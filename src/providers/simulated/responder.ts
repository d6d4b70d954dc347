/** Makes the responses of simulated models. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { conversationKey } from '../../core/normalize/session.ts';
import { escapeText } from '../../core/stream/pieces.ts';
import type { Message } from '../../protocol/message.ts';
import { readAssignment, readPrompt } from './prompt.ts';
import { Chance, hashText } from './chance.ts';
import { type Draft, draftAnswer, type DraftCall, draftScripted } from './draft.ts';
import type { PacedPieces } from './pace.ts';
import type { AnswerScript } from './options.ts';
import type { FinishReason } from '../../protocol/chat-result.ts';
import { likelyTokens } from '../../core/tokens/token-estimate.ts';
import type { FunctionTool } from '../../protocol/tools.ts';
import { type AttemptFailure, failure } from '../../contracts/failure.ts';
import type { FactsPiece, FinishPiece, ReportedUsage, StreamPiece } from '../../contracts/stream-piece.ts';
import type { Assignment } from './prompt-types.ts';

/** An answer that is ready to be handed out, or the reason why there is none. */
type Response =
  | { readonly ok: true; readonly pieces: PacedPieces; readonly hiddenTokens: number }
  | { readonly ok: false; readonly failure: AttemptFailure };

/** Makes answers. What it says depends on the seed, the model and the messages, and on nothing else. */
export class Responder {
  readonly #seed: number;
  readonly #script: AnswerScript | undefined;
  readonly #cache = new PromptCache();

  constructor(seed: number, script: AnswerScript | undefined) {
    this.#seed = seed;
    this.#script = script;
  }

  /** Answers a request on behalf of an endpoint. */
  respond(request: NormalizedRequest, endpoint: Endpoint): Response {
    const { messages } = request;
    const tokens = messages.map(messageTokens);
    const promptTokens = sum(tokens) + toolTokens(request.tools);
    const refusal = refuse(request, endpoint, promptTokens);
    if (refusal !== undefined) return { ok: false, failure: refusal };
    const fingerprints = messages.map(fingerprintOf);
    const assignment = withinContext(readAssignment(request, endpoint), endpoint, promptTokens);
    const draft = this.#draft(request, endpoint, assignment, fingerprints);
    const { pieces, finish, hiddenTokens, reasoningTokens, completionTokens } = piecesOf(draft, assignment);
    const cached = this.#cache.read(cacheKey(request, endpoint), { fingerprints, tokens });
    const usage: ReportedUsage = {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens_details: { reasoning_tokens: reasoningTokens },
    };
    return {
      ok: true,
      hiddenTokens,
      pieces: {
        opening: [factsOf(request, endpoint)],
        tokens: pieces,
        closing: [finish, { type: 'usage', usage }, { type: 'end' }],
      },
    };
  }

  #draft(
    request: NormalizedRequest,
    { model }: Endpoint,
    assignment: Assignment,
    fingerprints: readonly number[],
  ): Draft {
    const chance = new Chance(hashText([this.#seed, request.parameters.seed, model, ...fingerprints].join(' ')));
    const scripted = this.#script?.(request);
    if (scripted !== undefined) return draftScripted(scripted, chance);
    return draftAnswer(assignment, readPrompt(request.messages), chance);
  }
}

/** What real servers refuse too: a prompt that does not fit, and forms of answers that they do not know. */
function refuse(
  { responseFormat: format }: NormalizedRequest,
  { contextLength, parameters }: Endpoint,
  promptTokens: number,
): AttemptFailure | undefined {
  if (contextLength !== undefined && promptTokens > contextLength) {
    const message = `The prompt has ${promptTokens} tokens, but this model has a context of ${contextLength}`;
    return failure('context_length', message, { status: 400 });
  }
  if ((format?.type !== 'grammar' && format?.type !== 'python') || parameters?.has('response_format') === false) {
    return undefined;
  }
  const message = `The simulated provider does not support the response format "${format.type}"`;
  return failure('unsupported_parameter', message, { status: 400 });
}

function withinContext(assignment: Assignment, { contextLength }: Endpoint, promptTokens: number): Assignment {
  const room = (contextLength ?? Infinity) - promptTokens;
  return room < assignment.maxTokens ? { ...assignment, maxTokens: room } : assignment;
}

/** A prompt is cached where it was read: with one endpoint, and for one account's session. */
function cacheKey({ account, session, messages }: NormalizedRequest, endpoint: Endpoint): string {
  return `${account.id}\n${session.key ?? conversationKey(messages)}\n${endpoint.id}`;
}

function factsOf({ id, serviceTier }: NormalizedRequest, { tier }: Endpoint): FactsPiece {
  return {
    type: 'facts',
    systemFingerprint: 'simulated',
    serviceTier: serviceTier === undefined && tier === 'default' ? undefined : tier,
    upstreamId: `simulated-${id}`,
  };
}

/** Marks for prompt caches move from turn to turn and are no part of what was said. */
function fingerprintOf(message: Message): number {
  const text = JSON.stringify(message, (key, value: unknown) =>
    key === 'cache_control' || key === 'prompt_cache_breakpoint' ? undefined : value,
  );
  return hashText(text);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** An answer as a stream has it. */
interface TokenStream {
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
function piecesOf(draft: Draft, { maxTokens, stop, reasoning }: Assignment): TokenStream {
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

/** A word or a piece of one with the space before it, a single sign, or a rest of space. */
const TOKEN = /\s*[\p{L}\p{M}\p{N}]{1,10}|\s*[^\s\p{L}\p{M}\p{N}]|\s+/gu;

/** Tokens that a message costs beside its text. */
const PER_MESSAGE = 4;

/** Tokens of parts that are not text, about what real providers count. */
const PER_PART: Readonly<Record<string, number | undefined>> = {
  image_url: 260,
  input_audio: 320,
  video_url: 1_800,
  file: 560,
};

/** Cuts text into the tokens that are streamed and counted. Joined, they are the text again. */
function tokenize(text: string): readonly string[] {
  return text.match(TOKEN) ?? [];
}

/** Estimated tokens of one message of the prompt. */
export function messageTokens(message: Message): number {
  const { content } = message;
  let tokens = PER_MESSAGE;
  if (typeof content === 'string') tokens += likelyTokens(content);
  else {
    for (const part of content ?? [])
      tokens += part.type === 'text' ? likelyTokens(part.text) : (PER_PART[part.type] ?? 0);
  }
  if (message.role !== 'assistant') return tokens;
  for (const { function: call } of message.tool_calls ?? []) tokens += likelyTokens(call.name + call.arguments);
  return tokens;
}

/** Estimated tokens that the declarations of tools add to the prompt. */
function toolTokens(tools: readonly FunctionTool[]): number {
  return tools.length === 0 ? 0 : likelyTokens(JSON.stringify(tools.map((tool) => tool.function)));
}

/** What is remembered of the last prompt of a session. */
interface CachedPrompt {
  readonly fingerprints: readonly number[];
  readonly tokens: readonly number[];
}

/** Sessions that are remembered at a time; the oldest go first. */
const MAX_SESSIONS = 1_000;

/** The prompt caches of all endpoints. A session that moves to another endpoint finds nothing there, as in reality. */
export class PromptCache {
  readonly #prompts = new Map<string, CachedPrompt>();

  /**
   * Tokens of the leading messages that this prompt shares with the last one under the same key. Remembers the new one.
   *
   * @param key - Account, session and endpoint.
   * @param prompt - A hash and the tokens of each message.
   */
  read(key: string, prompt: CachedPrompt): number {
    const known = this.#prompts.get(key);
    this.#prompts.delete(key);
    this.#prompts.set(key, prompt);
    for (const oldest of this.#prompts.keys()) {
      if (this.#prompts.size <= MAX_SESSIONS) break;
      this.#prompts.delete(oldest);
    }
    let cached = 0;
    for (const [index, fingerprint] of prompt.fingerprints.entries()) {
      if (known?.fingerprints[index] !== fingerprint) break;
      cached += prompt.tokens[index] ?? 0;
    }
    return cached;
  }
}
