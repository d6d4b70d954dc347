/** Runs one chat request from its plan to the call that answers it. */
import type { NormalizedRequest } from '../../contracts/request.ts';
import { withoutForeignReasoning } from '../../core/normalize/reasoning-origin.ts';
import { type Settlement, billAnswer } from '../../core/stream/billing.ts';
import type { AttemptedCall, LoopStart, Dialing } from './attempt-call.ts';
import { LEAST_PROMPT_TOKENS } from './known-prompts.ts';
import { AttemptLoop } from './attempt-loop.ts';
import type { Continuing, SentBefore } from './continuing.ts';
import type { RepeatedPrefixes } from '../endpoints/repeated-prefixes.ts';
import type { RuntimeServices } from './services.ts';
import { UpstreamCall } from './upstream-call.ts';
import { onDemand } from '../../platform/wait.ts';
import type { UpstreamResult } from '../../contracts/stream-piece.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import type { Answer, Execution } from './answer.ts';

const continuing = onDemand(async () => (await import('./continuing.ts')).Continuing);

/** Makes the calls of a request whose answers plugins judge before one of them is taken. */
export interface JudgedCalls {
  /** @param attempts - Those of the request that have ended. */
  dial(dialing: Dialing<NormalizedRequest>, attempts: readonly Attempt[]): UpstreamCall;
}

/** What a chat request begins with, and who judges its answers. */
interface ChatStart extends LoopStart<NormalizedRequest> {
  readonly judged?: JudgedCalls | undefined;
  /** What an instance that is gone has sent of the answer. */
  readonly sent?: SentBefore | undefined;
}

/** One chat request from its plan to the call that answers it. */
export class ChatExecution extends AttemptLoop<NormalizedRequest, UpstreamCall, UpstreamResult> implements Execution {
  /** Sets marks for the provider's cache. Absent where the prompt is not known to be repeated. */
  readonly #marked: ReturnType<RepeatedPrefixes['markerFor']> | undefined;
  readonly #judged: JudgedCalls | undefined;
  /** The call that was made last. */
  #call: UpstreamCall | undefined;
  readonly #sent: SentBefore | undefined;
  /** What goes on with a stream that breaks. Absent where nothing does. */
  continuing: Continuing | undefined;

  constructor(services: RuntimeServices, start: ChatStart) {
    super(services, start);
    this.#judged = start.judged;
    this.#sent = start.sent;
    this.#marked = services.prefixes?.markerFor(start.plan);
  }

  /**
   * Tries endpoints until one answers, and where that is wanted goes on at the next when its stream breaks.
   *
   * @throws Like {@link AttemptLoop.next}.
   */
  run(): Promise<Answer> {
    const { stream, preferences } = this.request;
    const { afterFirstToken = this.services.fallback.afterFirstToken } = preferences;
    return stream && afterFirstToken === 'continue' ? this.#runOn() : this.next();
  }

  async #runOn(): Promise<Answer> {
    const Loaded = await continuing();
    this.continuing = new Loaded(this, () => this.giveTime(), this.#sent);
    return this.continuing.run();
  }

  protected override dial(dialing: Dialing<NormalizedRequest>): UpstreamCall {
    const { request: prepared, provider, endpoint } = dialing;
    const { origins } = this.plan;
    const readable = origins === undefined ? prepared : withoutForeignReasoning(prepared, endpoint, origins);
    const request = this.#marked === undefined ? readable : this.#marked(readable, provider, endpoint);
    const readied = request === prepared ? dialing : { ...dialing, request };
    const requested = this.services.ledger?.comparing(readied, this.attempts) ?? readied;
    if (this.request.needs.promptTokens >= LEAST_PROMPT_TOKENS) this.services.prompts.note(this.request, endpoint);
    const made = this.#judged?.dial(requested, this.attempts) ?? this.continuing?.dial(requested);
    this.#call = made ?? new UpstreamCall(this.#call === undefined ? requested : this.#withCredit(requested));
    return this.#call;
  }

  /** Sends the credit for a refusal on to the next model of the same provider. */
  #withCredit(dialing: Dialing<NormalizedRequest>): Dialing<NormalizedRequest> {
    const last = this.#call && this.attempts.at(-1);
    if (last?.refusal === undefined || last.step.endpoint.provider !== dialing.endpoint.provider) return dialing;
    const fallbackCredit = this.#call?.reported.refusal?.creditToken;
    if (fallbackCredit === undefined) return dialing;
    return { ...dialing, request: { ...dialing.request, fallbackCredit }, addition: 'credit' };
  }

  override bill(made: AttemptedCall<UpstreamCall, UpstreamResult>): Settlement {
    return billAnswer(this.request, made);
  }
}
