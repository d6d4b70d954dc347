import type { NormalizedRequest, MirrorChoice } from '../../contracts/request.ts';
import type { MirrorCopies } from './mirror-copies.ts';
import type { RequestMirrors, RuntimeServices } from './services.ts';
import type { Execution } from './answer.ts';

/** Copies of requests, for aliases that have a mirror. What makes them is loaded by the first one. */
export class MirrorsOnUse implements RequestMirrors {
  #loaded: Promise<MirrorCopies | undefined> | undefined;
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
    this.#loaded ??= import('./mirror-copies.ts').then(({ MirrorCopies: Loaded }) => new Loaded(), nothing);
    const mirrors = await this.#loaded;
    if (mirrors === undefined)
      services.notifyOperator('Requests are not copied: the code that copies them could not be loaded');
    mirrors?.copy(services, request, choice);
  }

  /** Cancels copies under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#loaded)?.close();
  }
}

function nothing(): undefined {}
