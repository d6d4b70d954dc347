/** The batches of a router, loaded on first use. */
import type { BatchResultItem } from '../protocol/batch.ts';
import type { BatchFiles } from '../runtime/batches/files.ts';
import type { Batches } from '../runtime/batches/batches.ts';

/** Batches that can be closed with their router. */
interface ClosableBatches extends Batches {
  close(): Promise<void>;
  /** Goes on with what earlier processes have left. */
  resume(): Promise<void>;
  /** Ends what runs by itself, when nobody has the router any more. */
  forget(): Promise<void>;
}

/**
 * The batches of a router whose machine is loaded by the first call, or by the first request where the storage may hold
 * batches of an earlier process. Most routers never see a batch.
 */
export class BatchesOnUse implements Batches {
  readonly #load: () => Promise<ClosableBatches>;
  #loaded: Promise<ClosableBatches> | undefined;
  #isStopped = false;

  /** @param load - Loads and makes the batches. Called once. */
  constructor(load: () => Promise<ClosableBatches>) {
    this.#load = load;
  }

  readonly files: BatchFiles = {
    create: async (file, options) => (await this.#batches()).files.create(file, options),
    retrieve: async (id, options) => (await this.#batches()).files.retrieve(id, options),
    list: async (options) => (await this.#batches()).files.list(options),
    content: (id, options) => this.#content(id, options),
    delete: async (id, options) => (await this.#batches()).files.delete(id, options),
  };

  create: Batches['create'] = async (batch, options) => (await this.#batches()).create(batch, options);

  retrieve: Batches['retrieve'] = async (id, options) => (await this.#batches()).retrieve(id, options);

  list: Batches['list'] = async (options) => (await this.#batches()).list(options);

  cancel: Batches['cancel'] = async (id, options) => (await this.#batches()).cancel(id, options);

  delete: Batches['delete'] = async (id, options) => (await this.#batches()).delete(id, options);

  redeliver: Batches['redeliver'] = async (id, options) => (await this.#batches()).redeliver(id, options);

  start: Batches['start'] = async () => (await this.#batches()).start();

  stop: Batches['stop'] = async (options) => {
    // Nothing has started yet, and nothing is to start by itself from now on.
    this.#isStopped = true;
    await (await this.#loaded)?.stop(options);
  };

  tick: Batches['tick'] = async (options) => (await this.#batches()).tick(options);

  async *results(...call: Parameters<Batches['results']>): AsyncGenerator<BatchResultItem, void, undefined> {
    yield* (await this.#batches()).results(...call);
  }

  async *#content(...call: Parameters<BatchFiles['content']>): AsyncGenerator<Uint8Array, void, undefined> {
    yield* (await this.#batches()).files.content(...call);
  }

  /** Ends everything and lets go of the storage. Batches that were never used hold nothing. */
  async close(): Promise<void> {
    this.#isStopped = true;
    await (await this.#loaded)?.close();
  }

  /** Goes on with batches of earlier processes. Waits for nothing; an operation that follows says what failed. */
  resume(): void {
    if (!this.#isStopped)
      void this.#batches()
        .then((batches) => batches.resume())
        .catch(() => undefined);
  }

  /** Ends what runs by itself, when nobody has the router any more. */
  forget(): void {
    void this.#loaded?.then((batches) => batches.forget()).catch(() => undefined);
  }

  #batches(): Promise<ClosableBatches> {
    this.#loaded ??= this.#load().then(async (batches) => {
      if (this.#isStopped) await batches.stop();
      return batches;
    });
    return this.#loaded;
  }
}
