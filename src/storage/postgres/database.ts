/** Runs statements and transactions in PostgreSQL. */
import { timerMs } from '../../platform/environment.ts';
import { StorageError } from '../../contracts/storage-error.ts';
import { retry, type RetryPolicy } from '../../platform/retry.ts';
import {
  connectFailure,
  isUsableAfter,
  mayTryAgain,
  type PostgresClient,
  postgresFailure,
  type PostgresPool,
} from './driver.ts';
import { type CopiedValues, type Copy, copyOver } from './copy.ts';
import type { Statement, PostgresStatementName } from './statements.ts';

/** Values for the names in a statement. */
export type Values = Readonly<Record<string, unknown>>;
/** A row that was read. */
type Row = Readonly<Record<string, unknown>>;

/** Something that runs statements: on its own, or as a part of a transaction. */
export interface DatabaseSession<Name extends string = PostgresStatementName> {
  /** Gives the number of rows that were changed. */
  run(name: Name, values?: Values): Promise<number>;
  all(name: Name, values?: Values): Promise<readonly Row[]>;
  first(name: Name, values?: Values): Promise<Row | undefined>;
}

/** What a {@link PostgresDatabase} is made of. */
interface DatabaseOptions<Name extends string> {
  readonly statements: Readonly<Record<Name, Statement>>;
  /** Gives the pool; called once. */
  readonly openPool: () => Promise<PostgresPool>;
  readonly statementTimeoutMs: number;
  readonly connectTimeoutMs: number;
  /** Ends the pool when the database is closed. */
  readonly endsPool: boolean;
}

/** How often something is tried when others come in between. */
const TRIES = 8;
/** The longest time between two tries, in milliseconds. */
const MAX_WAIT_MS = 200;
const RETRY: RetryPolicy = {
  tries: TRIES,
  waitAfter: (error, tried) =>
    mayTryAgain(error) ? Math.random() * Math.min(MAX_WAIT_MS, 10 * 2 ** tried) : undefined,
};
/** Milliseconds that the server has beyond the time of a statement to say that it took too long. */
const GRACE_MS = 1_000;

/**
 * A schema of a PostgreSQL database. Nothing waits for ever, not even for a server that is gone without a word; what
 * others came in between of is tried again; and a connection that is in an unknown state is thrown away.
 */
export class PostgresDatabase<Name extends string = PostgresStatementName> implements DatabaseSession<Name> {
  readonly #options: DatabaseOptions<Name>;
  #pool: Promise<PostgresPool> | undefined;
  #closed = false;

  constructor(options: DatabaseOptions<Name>) {
    this.#options = options;
  }

  run(name: Name, values?: Values): Promise<number> {
    return this.#persist((client) => this.#session(client).run(name, values));
  }

  all(name: Name, values?: Values): Promise<readonly Row[]> {
    return this.#persist((client) => this.#session(client).all(name, values));
  }

  first(name: Name, values?: Values): Promise<Row | undefined> {
    return this.#persist((client) => this.#session(client).first(name, values));
  }

  /** Does everything in it or nothing. What it does may be done again, so it must change nothing but the database. */
  transaction<Value>(work: (session: DatabaseSession<Name>) => Promise<Value>): Promise<Value> {
    return this.script(async (query) => work(this.#sessionOf(query)));
  }

  /** A transaction that may copy rows, too: `copy` is there where the connections are those of the package `pg`. */
  copying<Value>(work: (session: DatabaseSession<Name>, copy: Copy | undefined) => Promise<Value>): Promise<Value> {
    return this.script((query, client) => {
      const copy = copyOver(client);
      const timeoutMs = this.#options.statementTimeoutMs + GRACE_MS;
      return work(this.#sessionOf(query), copy && ((text, bytes) => inTime(copy(text, bytes), timeoutMs)));
    });
  }

  /**
   * Runs a `COPY` that gives rows by itself; gives undefined where the connections are not those of the package `pg`.
   *
   * @param memory - What the rows are put into, if they fit.
   */
  copyOut(text: string, memory: Uint8Array | undefined): Promise<CopiedValues | undefined> {
    return this.#persist((client) => {
      const copy = copyOver(client);
      const timeoutMs = this.#options.statementTimeoutMs + GRACE_MS;
      return copy === undefined ? Promise.resolve(undefined) : inTime(copy(text, [], memory), timeoutMs);
    });
  }

  /** A transaction of texts that are not in the table of statements. */
  script<Value>(
    work: (query: Query, client: PostgresClient) => Promise<Value>,
    timeoutMs = this.#options.statementTimeoutMs,
  ): Promise<Value> {
    return this.#persist(async (client) => {
      const query: Query = (text, values) => inTime(client.query(text, values), timeoutMs + GRACE_MS);
      // A process that is stopped in the middle must not keep others from what it has locked.
      await query(
        `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = ${timeoutMs}; ` +
          `SET LOCAL idle_in_transaction_session_timeout = ${timeoutMs}`,
      );
      try {
        const value = await work(query, client);
        await query('COMMIT');
        return value;
      } catch (error) {
        if (isUsableAfter(error)) await query('ROLLBACK');
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    const pool = this.#pool;
    this.#closed = true;
    this.#pool = undefined;
    if (this.#options.endsPool) await (await pool)?.end?.();
  }

  #session(client: PostgresClient): DatabaseSession<Name> {
    return this.#sessionOf((text, values) =>
      inTime(client.query(text, values), this.#options.statementTimeoutMs + GRACE_MS),
    );
  }

  #sessionOf(query: Query): DatabaseSession<Name> {
    const ask = (name: Name, values: Values = {}): ReturnType<Query> => {
      const { text, names } = this.#options.statements[name];
      return query(
        text,
        names.map((one) => values[one]),
      );
    };
    return {
      run: async (name, values) => (await ask(name, values)).rowCount ?? 0,
      all: async (name, values) => (await ask(name, values)).rows,
      first: async (name, values) => (await ask(name, values)).rows[0],
    };
  }

  async #persist<Value>(work: (client: PostgresClient) => Promise<Value>): Promise<Value> {
    try {
      return await retry(() => this.#withClient(work), RETRY);
    } catch (error) {
      throw postgresFailure(error);
    }
  }

  async #connect(): Promise<PostgresClient> {
    this.#pool ??= this.#options.openPool();
    try {
      return await connected(await this.#pool, this.#options.connectTimeoutMs);
    } catch (error) {
      throw connectFailure(error);
    }
  }

  async #withClient<Value>(work: (client: PostgresClient) => Promise<Value>): Promise<Value> {
    if (this.#closed) throw new StorageError('not_open', 'This postgresStorage was closed.');
    const client = await this.#connect();
    // A connection that breaks says so twice; unheard, the second time would end the process.
    const ignore = (): void => undefined;
    client.on?.('error', ignore);
    let isFit = false;
    try {
      const value = await work(client);
      isFit = true;
      return value;
    } catch (error) {
      isFit = isUsableAfter(error);
      throw error;
    } finally {
      client.off?.('error', ignore);
      client.release(!isFit);
    }
  }
}

/** Runs one text. */
export type Query = (
  text: string,
  values?: unknown[],
) => Promise<{ readonly rows: readonly Row[]; readonly rowCount: number | null }>;

async function connected(pool: PostgresPool, ms: number): Promise<PostgresClient> {
  const connecting = pool.connect();
  try {
    return await inTime(connecting, ms, 'gave no connection');
  } catch (error) {
    // It may still come, and then it belongs to the pool.
    connecting.then((client) => client.release()).catch(() => undefined);
    throw error;
  }
}

function inTime<Value>(promise: Promise<Value>, ms: number, problem = 'did not answer'): Promise<Value> {
  return new Promise((resolve, reject) => {
    // Made when it is needed: an error costs more than many a statement.
    const timer = setTimeout(() => {
      const message = `PostgreSQL ${problem} within ${ms} ms; is the server up, and are host and port right?`;
      reject(new StorageError('busy', message));
    }, timerMs(ms));
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
