/** Sends and counts copies of mirrored requests. */
import { fill } from '../../options/option.ts';
import { type Mirror, MIRROR } from '../../options/rules.ts';
import { copyOf } from '../../core/normalize/mirror-copy.ts';
import type { NormalizedRequest, MirrorChoice } from '../../contracts/request.ts';
import { chatTargets } from '../../core/normalize/targets.ts';
import { generationId } from '../../protocol/chat-result.ts';
import { RouterError } from '../../protocol/router-error.ts';
import { answerComplete } from './answer-complete.ts';
import { ChatExecution } from './execution.ts';
import type { RuntimeServices } from './services.ts';
import { SharedPacing } from '../endpoints/shared-pacing.ts';
import { planRequest } from './plan.ts';

/** Milliseconds for which nothing is copied after a budget was too small for a copy. */
const REST_MS = 60_000;
const UNPACED = new SharedPacing(false, false);

/**
 * Copies of requests that are under way. Each is bounded by `timeouts.totalMs` as any request is; what it comes to is
 * in events and in the ledger, and nowhere else.
 */
export class MirrorCopies {
  readonly #over = new AbortController();
  /** By alias. */
  readonly #running = new Map<string, Set<Promise<void>>>();
  /** When copies of an alias may be made again, in monotonic milliseconds. */
  readonly #restsUntil = new Map<string, number>();

  /** Sends a copy of a request to its candidate, unless too many are under way. Nobody waits for it, and it never throws. */
  copy(services: RuntimeServices, request: NormalizedRequest, choice: MirrorChoice): void {
    const { alias } = choice;
    const found = services.facts.catalog.alias(alias);
    if (found === undefined || !('mirror' in found) || this.#over.signal.aborted) return;
    const { concurrency, budget } = fill(MIRROR, found.mirror);
    const running = this.#running.get(alias) ?? new Set();
    if (running.size >= concurrency || services.environment.now() < (this.#restsUntil.get(alias) ?? 0)) return;
    this.#running.set(alias, running);
    const sent = this.#send(services, request, choice, budget).finally(() => running.delete(sent));
    running.add(sent);
  }

  /** Cancels what is under way, and waits until it has been noted. */
  async close(): Promise<void> {
    this.#over.abort();
    await Promise.all([...this.#running.values()].flatMap((running) => [...running]));
  }

  async #send(
    services: RuntimeServices,
    request: NormalizedRequest,
    choice: MirrorChoice,
    budget: Mirror['budget'],
  ): Promise<void> {
    const { environment, fallback, facts } = services;
    // Whoever waits for a place, or asks again, is in the way of requests that somebody waits for.
    const modest = { ...services, pacing: UNPACED, hedge: false, fallback: { ...fallback, maxAttempts: 1 } } as const;
    try {
      const resolved = chatTargets([{ slug: choice.model, path: 'mirror.model' }], {
        ...facts,
        splitKey: () => request.id,
        pro: request.reasoning?.mode === 'pro',
      });
      if (!resolved.ok || resolved.value.online || resolved.value.targets.some(({ router }) => router !== undefined)) {
        const why = resolved.ok ? 'it needs a plugin' : resolved.fault.message;
        return services.notifyOperator(`Nothing is copied to ${choice.model} for the alias "${choice.alias}": ${why}`);
      }
      const created = Math.floor(environment.wallClock() / 1_000);
      const id = generationId(created, environment.randomText(20));
      const copy = copyOf(request, { id, created, targets: resolved.value.targets, choice, budget });
      const plan = await planRequest(modest, copy);
      // Its own model list, a rule, or what it says about data may keep a request from the candidate.
      if (plan.steps.length === 0) return;
      const execution = new ChatExecution(modest, { request: copy, plan, signal: this.#over.signal });
      await answerComplete(modest, (await services.ledger?.keeping(execution)) ?? execution);
    } catch (error) {
      // What it came to has been noted where it was settled.
      if (!RouterError.isInstance(error) || error.status !== 402 || error.retryable === true) return;
      this.#restsUntil.set(choice.alias, environment.now() + REST_MS);
      const why = `its budget does not allow a copy (${error.message})`;
      services.notifyOperator(`Nothing is copied for the alias "${choice.alias}" for a minute: ${why}`);
    }
  }
}
