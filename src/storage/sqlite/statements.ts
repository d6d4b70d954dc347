/** The tables and statements of the batch store in SQLite. */
import { BATCH_ENDS } from '../../protocol/batch.ts';

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

const TERMINAL = BATCH_ENDS.map((status) => `'${status}'`).join(', ');
/** One batch of one account. */
const OF_BATCH = 'account = :account AND batch_id = :batchId';
const THIS_BATCH = "account = :account AND id = :batchId AND stage = 'batch'";
const THIS_TASK = `${OF_BATCH} AND effect = :effect AND token = :token`;
const OF_FILE = 'account = :account AND file_id = :fileId';
const THIS_FILE = "account = :account AND id = :fileId AND stage = 'file'";
const RECORD = 'record, total, completed, failed';
/**
 * The small indexes are named, because SQLite would read the whole batch by its primary key: a worker that claims a few
 * requests at a time would pass over all that are done, each time.
 */
const OPEN_ITEMS = 'items INDEXED BY items_open';
const HELD_ITEMS = 'items INDEXED BY items_held';
/** What a worker needs of a request that it has claimed. */
const CLAIMED = `position, custom_id, attempts,
      (SELECT body FROM requests WHERE ${OF_BATCH} AND requests.position = items.position) AS body`;

/** Every statement on behalf of an account. Each names the account; a test looks at every one. */
export const ACCOUNT_STATEMENTS = {
  insertDraft: `INSERT INTO batches (account, id, stage, touched_at) VALUES (:account, :batchId, 'draft', :now)
    ON CONFLICT (account, id) DO UPDATE SET touched_at = :now WHERE account = :account AND stage = 'draft'`,
  touchDraft: `UPDATE batches SET touched_at = :now WHERE account = :account AND id = :batchId AND stage = 'draft'`,
  insertItem: `INSERT INTO items (account, batch_id, position, custom_id)
    VALUES (:account, :batchId, :position, :customId)
    ON CONFLICT (account, batch_id, custom_id) DO NOTHING`,
  insertBody: `INSERT INTO requests (account, batch_id, position, body) VALUES (:account, :batchId, :position, CAST(:body AS TEXT))`,
  findCustomId: `SELECT position FROM items WHERE ${OF_BATCH} AND custom_id = :customId`,
  findRow: `SELECT stage, ${RECORD} FROM batches WHERE account = :account AND id = :batchId`,
  countItems: `SELECT count(*) AS total FROM items WHERE ${OF_BATCH}`,
  publish: `UPDATE batches SET stage = 'batch', status = :status, revision = :revision, created_at = :createdAt,
      delete_at = :deleteAt, total = :total, record = :record
    WHERE account = :account AND id = :batchId AND stage = 'draft'`,
  findKey: `SELECT fingerprint, batch_id, expires_at FROM keys WHERE account = :account AND key = :key`,
  upsertKey: `INSERT INTO keys (account, key, fingerprint, batch_id, expires_at)
    VALUES (:account, :key, :fingerprint, :batchId, :expiresAt)
    ON CONFLICT (account, key) DO UPDATE
    SET fingerprint = excluded.fingerprint, batch_id = excluded.batch_id, expires_at = excluded.expires_at
    WHERE account = :account`,

  findBatch: `SELECT ${RECORD} FROM batches WHERE ${THIS_BATCH}`,
  listBatches: `SELECT ${RECORD} FROM batches
    WHERE account = :account AND stage = 'batch' AND created_at > :createdAfter AND created_at < :createdBefore
      AND (:statuses IS NULL OR status IN (SELECT value FROM json_each(:statuses)))
      AND (:after IS NULL OR (created_at, id) <
        (SELECT created_at, id FROM batches WHERE account = :account AND id = :after AND stage <> 'draft'))
    ORDER BY created_at DESC, id DESC LIMIT :limit`,
  wasBatch: `SELECT 1 AS known FROM batches WHERE account = :account AND id = :after AND stage <> 'draft'`,
  pageItems: `SELECT items.position, custom_id, body FROM items JOIN requests USING (account, batch_id, position)
    WHERE ${OF_BATCH} AND items.position > :after AND EXISTS (SELECT 1 FROM batches WHERE ${THIS_BATCH})
    ORDER BY items.position LIMIT :limit`,
  pageOutcomes: `SELECT items.position, custom_id, outcome FROM outcomes
    JOIN items USING (account, batch_id, position)
    WHERE ${OF_BATCH} AND outcomes.position > :after AND EXISTS (SELECT 1 FROM batches WHERE ${THIS_BATCH})
    ORDER BY outcomes.position LIMIT :limit`,
  recount: `SELECT count(*) FILTER (WHERE items.failed = 0) AS completed,
      count(*) FILTER (WHERE items.failed = 1) AS failed
    FROM items JOIN outcomes USING (account, batch_id, position)
    WHERE ${OF_BATCH} AND EXISTS (SELECT 1 FROM batches WHERE ${THIS_BATCH})`,

  saveBatch: `UPDATE batches SET status = :status, revision = :revision, delete_at = :deleteAt, record = :record
    WHERE ${THIS_BATCH} AND revision = :revision - 1`,
  putTask: `INSERT INTO tasks (account, batch_id, effect, run_at) VALUES (:account, :batchId, :effect, :runAt)
    ON CONFLICT (account, batch_id, effect) DO UPDATE
    SET run_at = excluded.run_at, lease_until = 0, attempts = 0, token = NULL, memo = NULL WHERE account = :account`,

  claimItems: `UPDATE items SET attempts = attempts + 1, token = :token, lease_until = :now + :leaseMs
    WHERE ${OF_BATCH} AND position IN (
      SELECT position FROM ${OPEN_ITEMS} WHERE ${OF_BATCH} AND failed IS NULL AND lease_until <= :now
        AND EXISTS (SELECT 1 FROM batches WHERE ${THIS_BATCH} AND status = 'in_progress')
      ORDER BY position LIMIT :limit)
    RETURNING ${CLAIMED}`,
  claimFresh: `UPDATE items SET attempts = attempts + 1, token = :token, lease_until = :now + :leaseMs
    WHERE ${OF_BATCH} AND position IN (
      SELECT position FROM ${OPEN_ITEMS} WHERE ${OF_BATCH} AND failed IS NULL AND attempts = 0 AND lease_until <= :now
        AND EXISTS (SELECT 1 FROM batches WHERE ${THIS_BATCH} AND status = 'in_progress')
      ORDER BY position LIMIT :limit)
    RETURNING ${CLAIMED}`,
  claimNamed: `UPDATE items SET attempts = attempts + 1, token = :token, lease_until = :now + :leaseMs
    WHERE ${OF_BATCH} AND position IN (
      SELECT position FROM items WHERE ${OF_BATCH} AND failed IS NULL AND lease_until <= :now
        AND position IN (SELECT value FROM json_each(:positions))
        AND EXISTS (SELECT 1 FROM batches WHERE ${THIS_BATCH} AND status IN ('in_progress', 'cancelling'))
      ORDER BY position LIMIT :limit)
    RETURNING ${CLAIMED}`,
  renewItems: `UPDATE ${HELD_ITEMS} SET lease_until = :now + :leaseMs
    WHERE ${OF_BATCH} AND token = :token`,
  releaseItems: `UPDATE ${HELD_ITEMS} SET attempts = attempts - 1, token = NULL, lease_until = 0
    WHERE ${OF_BATCH} AND token = :token`,
  mayStore: `SELECT 1 FROM batches WHERE ${THIS_BATCH} AND status IN ('in_progress', 'cancelling')`,
  settleHeld: `UPDATE items SET failed = :failed, token = NULL, lease_until = 0
    WHERE ${OF_BATCH} AND position IN (SELECT value FROM json_each(:positions)) AND failed IS NULL AND token = :token
    RETURNING position`,
  settleOpen: `UPDATE items SET failed = 1, token = NULL, lease_until = 0
    WHERE ${OF_BATCH} AND position = :position AND failed IS NULL`,
  pageOpen: `SELECT position FROM ${OPEN_ITEMS} WHERE ${OF_BATCH} AND failed IS NULL
      AND EXISTS (SELECT 1 FROM batches WHERE ${THIS_BATCH})
    ORDER BY position LIMIT :limit`,
  insertOutcome: `INSERT INTO outcomes (account, batch_id, position, outcome)
    VALUES (:account, :batchId, :position, :outcome)`,
  addCounts: `UPDATE batches SET completed = completed + :completed, failed = failed + :failed WHERE ${THIS_BATCH}`,

  renewTask: `UPDATE tasks SET lease_until = :now + :leaseMs WHERE ${THIS_TASK}`,
  finishTask: `DELETE FROM tasks WHERE ${THIS_TASK}`,
  rescheduleTask: `UPDATE tasks SET run_at = :now + :afterMs, memo = coalesce(:memo, memo),
      attempts = CASE WHEN :reset THEN 0 ELSE attempts END, token = NULL, lease_until = 0
    WHERE ${THIS_TASK}`,

  hideBatch: `UPDATE batches SET stage = 'deleted', touched_at = :now WHERE ${THIS_BATCH} AND status IN (${TERMINAL})`,
  hideDraft: `UPDATE batches SET stage = 'deleted' WHERE account = :account AND id = :batchId AND stage = 'draft'`,
  deleteTasks: `DELETE FROM tasks WHERE ${OF_BATCH}`,
  deleteKeys: `DELETE FROM keys WHERE ${OF_BATCH}`,
  firstItem: `SELECT position FROM items WHERE ${OF_BATCH} ORDER BY position LIMIT 1`,
  deleteOutcome: `DELETE FROM outcomes WHERE ${OF_BATCH} AND position = :position`,
  deleteBody: `DELETE FROM requests WHERE ${OF_BATCH} AND position = :position`,
  deleteItem: `DELETE FROM items WHERE ${OF_BATCH} AND position = :position`,
  deleteRow: `DELETE FROM batches WHERE account = :account AND id = :batchId AND stage = 'deleted'
    AND NOT EXISTS (SELECT 1 FROM items WHERE ${OF_BATCH})`,

  openFile: `INSERT INTO files (account, id, stage, touched_at) VALUES (:account, :fileId, 'draft', :now)
    ON CONFLICT (account, id) DO UPDATE SET touched_at = :now WHERE account = :account AND stage = 'draft'`,
  touchFile: `UPDATE files SET touched_at = :now WHERE account = :account AND id = :fileId AND stage = 'draft'`,
  addPiece: `INSERT INTO file_pieces (account, file_id, piece, content) VALUES (:account, :fileId, :piece, :content)
    ON CONFLICT (account, file_id, piece) DO NOTHING`,
  publishFile: `UPDATE files SET stage = 'file', created_at = :createdAt, delete_at = :deleteAt, record = :record
    WHERE account = :account AND id = :fileId AND stage = 'draft'`,
  findFile: `SELECT record FROM files WHERE ${THIS_FILE}`,
  listFiles: `SELECT record FROM files
    WHERE account = :account AND stage = 'file' AND (:after IS NULL OR (created_at, id) <
      (SELECT created_at, id FROM files WHERE account = :account AND id = :after AND stage <> 'draft'))
    ORDER BY created_at DESC, id DESC LIMIT :limit`,
  wasFile: `SELECT 1 AS known FROM files WHERE account = :account AND id = :after AND stage <> 'draft'`,
  readPiece: `SELECT content FROM file_pieces
    WHERE ${OF_FILE} AND piece = :piece AND EXISTS (SELECT 1 FROM files WHERE ${THIS_FILE})`,
  hideFile: `UPDATE files SET stage = 'deleted', touched_at = :now
    WHERE account = :account AND id = :fileId AND stage = :stage`,
  deletePieces: `DELETE FROM file_pieces WHERE ${OF_FILE} AND piece IN (
    SELECT piece FROM file_pieces WHERE ${OF_FILE} ORDER BY piece LIMIT 16)`,
  deleteFile: `DELETE FROM files WHERE account = :account AND id = :fileId AND stage = 'deleted'`,
} as const;

/** What workers ask on nobody's behalf: which account has something to do. */
export const WORKER_STATEMENTS = {
  claimTasks: `UPDATE tasks SET attempts = attempts + 1, token = :token, lease_until = :now + :leaseMs
    WHERE rowid IN (SELECT rowid FROM tasks WHERE run_at <= :now AND lease_until <= :now
      ORDER BY run_at, rowid LIMIT :limit)
    RETURNING account, batch_id, effect, run_at, attempts, memo, rowid`,
  findShared: `SELECT account, id FROM batches
    WHERE stage = 'batch' AND status = 'in_progress' AND json_extract(record, '$.shared') AND EXISTS (
      SELECT 1 FROM ${OPEN_ITEMS} WHERE items.account = batches.account AND items.batch_id = batches.id
        AND failed IS NULL AND attempts = 0)
    LIMIT :limit`,
  nextTask: `SELECT min(max(run_at, lease_until)) AS at FROM tasks`,
  findOver: `SELECT account, id, stage FROM batches
    WHERE (stage = 'deleted' AND (touched_at <= :draftsBefore OR EXISTS (
        SELECT 1 FROM items WHERE items.account = batches.account AND items.batch_id = batches.id)))
      OR (stage = 'draft' AND touched_at <= :draftsBefore)
      OR (stage = 'batch' AND delete_at <= :now AND status IN (${TERMINAL}))
    LIMIT :limit`,
  findOverFiles: `SELECT account, id, stage FROM files
    WHERE (stage = 'deleted' AND (touched_at <= :draftsBefore OR EXISTS (
        SELECT 1 FROM file_pieces WHERE file_pieces.account = files.account AND file_pieces.file_id = files.id)))
      OR (stage = 'draft' AND touched_at <= :draftsBefore)
      OR (stage = 'file' AND delete_at <= :now)
    LIMIT :limit`,
  deleteOldKeys: `DELETE FROM keys WHERE rowid IN (SELECT rowid FROM keys WHERE expires_at <= :now LIMIT 1000)`,
} as const;

/** Name of a statement. */
export type SqliteStatementName = keyof typeof ACCOUNT_STATEMENTS | keyof typeof WORKER_STATEMENTS;

/** All statements by name. */
export const STATEMENTS: Readonly<Record<SqliteStatementName, string>> = {
  ...ACCOUNT_STATEMENTS,
  ...WORKER_STATEMENTS,
};
