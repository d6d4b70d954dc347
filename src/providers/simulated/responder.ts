import type { Endpoint } from '../../catalog/endpoint.ts';
import { type AttemptFailure, failure } from '../../core/fallback/failure.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import { conversationKey } from '../../core/normalize/session.ts';
import type { FactsPiece, ReportedUsage } from '../../core/stream/pieces.ts';
import type { Message } from '../../protocol/message.ts';
import { messageTokens, piecesOf, PromptCache, toolTokens } from './answer-pieces.ts';
import { type Assignment, readAssignment } from './assignment.ts';
import { Chance, hashText } from './chance.ts';
import { type Draft, draftAnswer, draftScripted } from './draft.ts';
import type { PacedPieces } from './pace.ts';
import { readPrompt } from './prompt.ts';
import type { AnswerScript } from './options.ts';

/** An answer that is ready to be handed out, or the reason why there is none. */
export type Response =
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
  const message = `The simulated provider does not know the response format "${format.type}"`;
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
