/** Version of the tables, and what makes them. */
export interface Migration {
  readonly version: number;
  readonly statements: string;
}

/** The tables in a schema, as steps from each version to the next. A step that was released is never changed. */
export function migrationsOf(schema: string): readonly Migration[] {
  return [{ version: 1, statements: firstTables(schema) }];
}

/** Columns that must be there for the statements of this version to work. */
export const COLUMNS: Readonly<Record<string, string>> = {
  batches: 'account id stage status revision created_at delete_at touched_at total completed failed record',
  items: 'account batch_id position custom_id custom_key body attempts token lease_until failed outcome',
  tasks: 'account batch_id effect run_at lease_until attempts token memo',
  keys: 'account key_digest fingerprint batch_id expires_at',
};

// Names compare byte by byte whatever the language of the database is. Bodies are text and not jsonb, which changes
// numbers and refuses NUL. Names that a user may make as long as he likes are looked up by their digest, because an
// index has no room for them.
function firstTables(schema: string): string {
  const name = 'text COLLATE "C" NOT NULL';
  return `
    CREATE TABLE ${schema}.batches (
      account ${name}, id ${name},
      stage text NOT NULL CHECK (stage IN ('draft', 'batch', 'deleted')),
      status text, revision integer, created_at bigint, delete_at bigint, touched_at bigint NOT NULL,
      total integer NOT NULL DEFAULT 0, completed integer NOT NULL DEFAULT 0, failed integer NOT NULL DEFAULT 0,
      record text,
      PRIMARY KEY (account, id)
    );
    CREATE INDEX batches_newest ON ${schema}.batches (account, created_at, id) WHERE stage = 'batch';
    CREATE INDEX batches_over ON ${schema}.batches (delete_at) WHERE stage = 'batch';
    CREATE INDEX batches_unfinished ON ${schema}.batches (touched_at) WHERE stage <> 'batch';

    CREATE TABLE ${schema}.items (
      account ${name}, batch_id ${name}, position integer NOT NULL,
      custom_id text NOT NULL, custom_key bytea NOT NULL, body text NOT NULL,
      attempts integer NOT NULL DEFAULT 0, token text, lease_until bigint NOT NULL DEFAULT 0,
      failed boolean, outcome text,
      PRIMARY KEY (account, batch_id, position),
      UNIQUE (account, batch_id, custom_key),
      FOREIGN KEY (account, batch_id) REFERENCES ${schema}.batches (account, id)
    );
    CREATE INDEX items_open ON ${schema}.items (account, batch_id, position) WHERE failed IS NULL;
    CREATE INDEX items_held ON ${schema}.items (account, batch_id, token) WHERE token IS NOT NULL;

    CREATE TABLE ${schema}.tasks (
      account ${name}, batch_id ${name}, effect ${name},
      run_at bigint NOT NULL, lease_until bigint NOT NULL DEFAULT 0, attempts integer NOT NULL DEFAULT 0,
      token text, memo text,
      PRIMARY KEY (account, batch_id, effect),
      FOREIGN KEY (account, batch_id) REFERENCES ${schema}.batches (account, id)
    );
    CREATE INDEX tasks_due ON ${schema}.tasks (run_at);

    CREATE TABLE ${schema}.keys (
      account ${name}, key_digest bytea NOT NULL, fingerprint text NOT NULL, batch_id ${name},
      expires_at bigint NOT NULL,
      PRIMARY KEY (account, key_digest),
      FOREIGN KEY (account, batch_id) REFERENCES ${schema}.batches (account, id)
    );
    CREATE INDEX keys_of_batch ON ${schema}.keys (account, batch_id);
    CREATE INDEX keys_over ON ${schema}.keys (expires_at);
  `;
}
