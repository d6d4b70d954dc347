/** Calls of a simulated inference server. */
import { blocksOfSession } from './block-cache.ts';
import type { InferenceJob, InferenceServer } from './inference-server.ts';
import type { PoisonRequests } from './world.ts';

/** A call that an inference server works on. */
export class Work {
  readonly ended: Promise<void>;
  readonly #first: Promise<void>;
  readonly #job: InferenceJob;
  #leave: (() => void) | undefined;

  constructor({ session, promptTokens, answerTokens, blocks }: SimulatedTurn, endpoint: string) {
    let onFirstToken = (): void => {};
    let onEnd = (): void => {};
    this.#first = new Promise((resolve) => (onFirstToken = resolve));
    this.ended = new Promise((resolve) => (onEnd = resolve));
    this.#job = {
      promptTokens,
      answerTokens,
      blocks: blocks ?? blocksOfSession(`${endpoint} ${session}`, promptTokens),
      onFirstToken,
      onEnd,
      cachedTokens: 0,
    };
  }

  get cachedTokens(): number {
    return this.#job.cachedTokens;
  }

  /** Begins; the result is there with the first token, and never when the call is given up before it. */
  begin(server: InferenceServer, signal: AbortSignal): Promise<void> {
    if (!signal.aborted) this.#leave = server.submit(this.#job);
    return this.#first;
  }

  /** Gives its place in the batch back. */
  leave(): void {
    this.#leave?.();
    this.#leave = undefined;
  }
}

/** A request that is under way, as its endpoints see it. */
export interface SimulatedTurn {
  /** Distinguishes the request from all others. */
  readonly id: string;
  /** Account that sends it, where accounts have keys of their own. */
  readonly key?: string | undefined;
  /** Session that prompt caches know it by. */
  readonly session: string;
  readonly promptTokens: number;
  readonly answerTokens: number;
  /** Whole blocks of its prompt, where prompts are cached by these; undefined where they are by session. */
  readonly blocks: readonly string[] | undefined;
  /** Present where it is one that endpoints fail, however often it is sent. */
  readonly poison: PoisonRequests | undefined;
}
