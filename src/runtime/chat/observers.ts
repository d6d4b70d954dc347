import type { MirrorChoice } from '../../core/normalize/mirror.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { Execution } from './execution.ts';
import type { Mirrors } from './mirrors.ts';
import type { RuntimeServices } from './services.ts';
import type { RefusedRequest } from '../../core/ledger/draft.ts';
import { type MaybePromise, orElse } from '../../platform/wait.ts';
import { CALLER_GONE, errorOfUnknown } from './router-errors.ts';

/**
 * Begins a request. Where that fails the ledger notes that it was refused; without a ledger, nothing is done.
 *
 * @param signal - Of the client: one that has disconnected was not refused.
 * @param refused - What is known of the request; undefined where somebody else notes it.
 */
export function notingRefusal<Begun>(
  { ledger, environment, facts }: Pick<RuntimeServices, 'ledger' | 'environment' | 'facts'>,
  signal: AbortSignal | undefined,
  begin: () => MaybePromise<Begun>,
  refused: () => RefusedRequest | undefined,
): MaybePromise<Begun> {
  if (ledger === undefined) return begin();
  const startedAt = environment.now();
  return orElse(begin, (error) => {
    const request = refused();
    const told = signal?.aborted === true ? CALLER_GONE : errorOfUnknown(error);
    if (request !== undefined) ledger.refused(facts, startedAt, request, told);
    throw error;
  });
}

/** Lets a program keep prompts and answers that asked for it. What does that is loaded by the first request of such a router. */
export function withContent({ ledger, events }: RuntimeServices, execution: Execution): MaybePromise<Execution> {
  const content = ledger?.content;
  if (content === undefined) return execution;
  return import('../ledger/kept-content.ts').then(({ keepContent }) => keepContent(execution, content, events));
}

/** Copies of requests, for aliases that have a mirror. What makes them is loaded by the first one. */
export class MirrorsOnUse {
  #loaded: Promise<Mirrors | undefined> | undefined;
  #isClosed = false;

  /**
   * An execution whose request is copied, if it is to be, once its own answer is there, and not before whoever waits for
   * that has had a turn: so the copy delays nothing. A request that fails is not copied.
   */
  after(services: RuntimeServices, execution: Execution): Execution {
    const { request } = execution;
    const choice = request.applied?.mirror;
    if (choice === undefined) return execution;
    const run = execution.run.bind(execution);
    const runAndCopy = async (): ReturnType<Execution['run']> => {
      const answer = await run();
      services.environment.setTimer(() => void this.#copy(services, request, choice), 0);
      return answer;
    };
    execution.run = runAndCopy;
    return execution;
  }

  async #copy(services: RuntimeServices, request: NormalizedRequest, choice: MirrorChoice): Promise<void> {
    if (this.#isClosed) return;
    this.#loaded ??= import('./mirrors.ts').then(({ Mirrors: Loaded }) => new Loaded(), nothing);
    const mirrors = await this.#loaded;
    if (mirrors === undefined) services.tellNotice('Requests are not copied: what does it could not be loaded');
    mirrors?.copy(services, request, choice);
  }

  /** Cancels copies under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#loaded)?.close();
  }
}

function nothing(): undefined {}
