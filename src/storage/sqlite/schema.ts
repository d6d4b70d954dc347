/**
 * The tables, as steps from each version to the next. A step that was released is never changed: a new one is added.
 *
 * What is often written is small, and what is big is written once: the state of a request stands apart from its body
 * and from its outcome, because SQLite writes a row anew as a whole.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE batches (
    account TEXT NOT NULL, id TEXT NOT NULL,
    stage TEXT NOT NULL CHECK (stage IN ('draft', 'batch', 'deleted')),
    status TEXT, revision INTEGER, created_at INTEGER, delete_at INTEGER, touched_at INTEGER NOT NULL,
    total INTEGER NOT NULL DEFAULT 0, completed INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0,
    record TEXT,
    PRIMARY KEY (account, id)
  ) STRICT;
  CREATE INDEX batches_newest ON batches (account, created_at, id) WHERE stage = 'batch';
  CREATE INDEX batches_over ON batches (delete_at) WHERE stage = 'batch';
  CREATE INDEX batches_unfinished ON batches (touched_at) WHERE stage <> 'batch';

  CREATE TABLE items (
    account TEXT NOT NULL, batch_id TEXT NOT NULL, position INTEGER NOT NULL, custom_id TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, token TEXT, lease_until INTEGER NOT NULL DEFAULT 0,
    failed INTEGER,
    PRIMARY KEY (account, batch_id, position),
    UNIQUE (account, batch_id, custom_id),
    FOREIGN KEY (account, batch_id) REFERENCES batches (account, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX items_open ON items (account, batch_id, position) WHERE failed IS NULL;
  CREATE INDEX items_held ON items (account, batch_id, token) WHERE token IS NOT NULL;

  CREATE TABLE requests (
    account TEXT NOT NULL, batch_id TEXT NOT NULL, position INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (account, batch_id, position),
    FOREIGN KEY (account, batch_id, position) REFERENCES items (account, batch_id, position)
  ) STRICT;

  CREATE TABLE outcomes (
    account TEXT NOT NULL, batch_id TEXT NOT NULL, position INTEGER NOT NULL, outcome TEXT NOT NULL,
    PRIMARY KEY (account, batch_id, position),
    FOREIGN KEY (account, batch_id, position) REFERENCES items (account, batch_id, position)
  ) STRICT;

  CREATE TABLE tasks (
    account TEXT NOT NULL, batch_id TEXT NOT NULL, effect TEXT NOT NULL,
    run_at INTEGER NOT NULL, lease_until INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
    token TEXT, memo TEXT,
    PRIMARY KEY (account, batch_id, effect),
    FOREIGN KEY (account, batch_id) REFERENCES batches (account, id)
  ) STRICT;
  CREATE INDEX tasks_due ON tasks (run_at);

  CREATE TABLE keys (
    account TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, batch_id TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (account, key),
    FOREIGN KEY (account, batch_id) REFERENCES batches (account, id)
  ) STRICT;
  CREATE INDEX keys_of_batch ON keys (account, batch_id);
  CREATE INDEX keys_over ON keys (expires_at);
  `,
  `
  CREATE INDEX batches_running ON batches (status) WHERE stage = 'batch' AND status = 'in_progress';

  CREATE TABLE files (
    account TEXT NOT NULL, id TEXT NOT NULL,
    stage TEXT NOT NULL CHECK (stage IN ('draft', 'file', 'deleted')),
    created_at INTEGER, delete_at INTEGER, touched_at INTEGER NOT NULL, record TEXT,
    PRIMARY KEY (account, id)
  ) STRICT;
  CREATE INDEX files_newest ON files (account, created_at, id) WHERE stage = 'file';
  CREATE INDEX files_over ON files (delete_at) WHERE stage = 'file';
  CREATE INDEX files_unfinished ON files (touched_at) WHERE stage <> 'file';

  CREATE TABLE file_pieces (
    account TEXT NOT NULL, file_id TEXT NOT NULL, piece INTEGER NOT NULL, content BLOB NOT NULL,
    PRIMARY KEY (account, file_id, piece),
    FOREIGN KEY (account, file_id) REFERENCES files (account, id)
  ) STRICT;
  `,
];

/** Marks a file as ours, so that the data of another program is never touched. */
export const APPLICATION_ID = 0x53424f58;
