/** The statements of the batch store in PostgreSQL. */
import { BATCH_ENDS } from '../../protocol/batch.ts';

const TERMINAL = BATCH_ENDS.map((status) => `'${status}'`).join(', ');
/**
 * Epoch milliseconds of the database's clock, read once in a statement: the same for all processes, whatever their own
 * clocks say, and not that of the beginning of the transaction.
 */
const NOW = '(SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)';
/** One batch of one account. */
const OF_BATCH = 'account = :account AND batch_id = :batchId';
const THIS_BATCH = "account = :account AND id = :batchId AND stage = 'batch'";
const THIS_TASK = `${OF_BATCH} AND effect = :effect AND token = :token`;
/**
 * Columns of a request that is there: rows are changed by an insertion that finds them. A table that grows is seldom
 * analysed in time, and the planner then takes a large batch for one row, and joins in a way that compares all with all;
 * an insertion looks up each by the primary key, whatever the planner knows.
 */
const NO_ITEM = `'', ''::bytea, ''`;
const OF_FILE = 'account = :account AND file_id = :fileId';
const THIS_FILE = "account = :account AND id = :fileId AND stage = 'file'";
const RECORD = 'record, total, completed, failed';

/**
 * Every statement on behalf of an account, over the tables of a schema. Each names the account; a test looks
 * at every one. Values are written `:name`.
 */
export function accountStatements(schema: string) {
  const tables = tablesOf(schema);
  return {
    ...draftStatements(tables),
    ...recordStatements(tables),
    ...itemStatements(tables),
    ...taskStatements(tables),
    ...deletingStatements(tables),
    ...fileStatements(tables),
  };
}

type Tables = ReturnType<typeof tablesOf>;

function tablesOf(schema: string) {
  return {
    batches: `${schema}.batches`,
    items: `${schema}.items`,
    tasks: `${schema}.tasks`,
    keys: `${schema}.keys`,
    files: `${schema}.files`,
    pieces: `${schema}.file_pieces`,
  };
}

/** Batches that are being made. */
function draftStatements({ batches, items, keys }: Tables) {
  return {
    insertDraft: `INSERT INTO ${batches} AS known (account, id, stage, touched_at)
      VALUES (:account, :batchId, 'draft', ${NOW})
      ON CONFLICT (account, id) DO UPDATE SET touched_at = ${NOW}
      WHERE known.account = :account AND known.stage = 'draft'`,
    // A draft that a power cut takes is none that anybody was told of; its publication waits for all of it.
    touchDraft: `UPDATE ${batches} SET touched_at = ${NOW}
      WHERE account = :account AND id = :batchId AND stage = 'draft'
      RETURNING set_config('synchronous_commit', 'off', true)`,
    addItems: `WITH draft AS (
        UPDATE ${batches} SET touched_at = ${NOW}
        WHERE account = :account AND id = :batchId AND stage = 'draft' RETURNING 1),
      added AS (
        INSERT INTO ${items} (account, batch_id, position, custom_id, custom_key, body)
        SELECT :account, :batchId, given.position, given.custom_id, sha256(convert_to(given.custom_id, 'UTF8')),
          convert_from(substr(:bodies::bytea, given.start, given.length), 'UTF8')
        FROM draft, unnest(:positions::integer[], :customIds::text[], :starts::integer[], :lengths::integer[])
          AS given (position, custom_id, start, length)
        ON CONFLICT (account, batch_id, custom_key) DO NOTHING RETURNING 1)
      SELECT (SELECT count(*) FROM draft) AS drafts, (SELECT count(*) FROM added) AS added`,
    findDuplicate: `SELECT items.position AS first, given.position AS second
      FROM unnest(:positions::integer[], :customIds::text[]) AS given (position, custom_id)
      JOIN ${items} ON custom_key = sha256(convert_to(given.custom_id, 'UTF8'))
      WHERE ${OF_BATCH} AND items.position <> given.position ORDER BY given.position LIMIT 1`,
    lockRow: `SELECT stage, ${RECORD}, ${NOW} AS now FROM ${batches}
      WHERE account = :account AND id = :batchId FOR UPDATE`,
    countItems: `SELECT count(*) AS total FROM ${items} WHERE ${OF_BATCH}`,
    publish: `UPDATE ${batches} SET stage = 'batch', status = :status, revision = :revision, created_at = :createdAt,
        delete_at = :deleteAt, total = :total, record = :record
      WHERE account = :account AND id = :batchId AND stage = 'draft'`,
    claimKey: `INSERT INTO ${keys} AS known (account, key_digest, fingerprint, batch_id, expires_at)
      VALUES (:account, sha256(convert_to(:key, 'UTF8')), :fingerprint, :batchId, ${NOW} + :ttlMs::bigint)
      ON CONFLICT (account, key_digest) DO UPDATE
      SET fingerprint = excluded.fingerprint, batch_id = excluded.batch_id, expires_at = excluded.expires_at
      WHERE known.account = :account AND known.expires_at <= ${NOW}`,
    findKey: `SELECT fingerprint, batch_id FROM ${keys}
      WHERE account = :account AND key_digest = sha256(convert_to(:key, 'UTF8'))`,
  };
}

/** Batches that are there. */
function recordStatements({ batches, items, tasks }: Tables) {
  const published = `EXISTS (SELECT 1 FROM ${batches} WHERE ${THIS_BATCH})`;
  return {
    findBatch: `SELECT ${RECORD} FROM ${batches} WHERE ${THIS_BATCH}`,
    listBatches: `SELECT ${RECORD} FROM ${batches}
      WHERE account = :account AND stage = 'batch'
        AND (:createdAfter::float8 IS NULL OR created_at > :createdAfter::float8)
        AND (:createdBefore::float8 IS NULL OR created_at < :createdBefore::float8)
        AND (:statuses::text[] IS NULL OR status = ANY (:statuses::text[]))
        AND (:after::text IS NULL OR (created_at, id) <
          (SELECT created_at, id FROM ${batches} WHERE account = :account AND id = :after AND stage <> 'draft'))
      ORDER BY created_at DESC, id DESC LIMIT :limit`,
    pageItems: `SELECT position, custom_id, body FROM ${items}
      WHERE ${OF_BATCH} AND position > :after AND ${published} ORDER BY position LIMIT :limit`,
    pageOutcomes: `SELECT position, custom_id, outcome FROM ${items}
      WHERE ${OF_BATCH} AND position > :after AND outcome IS NOT NULL AND ${published} ORDER BY position LIMIT :limit`,
    recount: `SELECT count(*) FILTER (WHERE NOT failed) AS completed, count(*) FILTER (WHERE failed) AS failed
      FROM ${items} WHERE ${OF_BATCH} AND outcome IS NOT NULL AND ${published}`,

    saveBatch: `UPDATE ${batches} SET status = :status, revision = :revision, delete_at = :deleteAt, record = :record
      WHERE ${THIS_BATCH} AND revision = :revision - 1`,
    putTask: `INSERT INTO ${tasks} AS known (account, batch_id, effect, run_at)
      VALUES (:account, :batchId, :effect, :runAt)
      ON CONFLICT (account, batch_id, effect) DO UPDATE
      SET run_at = excluded.run_at, lease_until = 0, attempts = 0, token = NULL, memo = NULL
      WHERE known.account = :account`,
    wasBatch: `SELECT 1 AS known FROM ${batches} WHERE account = :account AND id = :after AND stage <> 'draft'`,
  };
}

/** Requests that are being run. */
function itemStatements({ batches, items }: Tables) {
  const takePicked = `INSERT INTO ${items} AS known (account, batch_id, position, custom_id, custom_key, body)
      SELECT :account, :batchId, picked.position, ${NO_ITEM} FROM picked
      ON CONFLICT (account, batch_id, position) DO UPDATE
      SET attempts = known.attempts + 1, token = :token, lease_until = ${NOW} + :leaseMs::bigint
      WHERE known.account = :account
      RETURNING known.position, known.custom_id, known.body, known.attempts`;
  return {
    claimItems: `WITH picked AS (
        SELECT position FROM ${items}
        WHERE ${OF_BATCH} AND failed IS NULL AND lease_until <= ${NOW}
          AND EXISTS (SELECT 1 FROM ${batches} WHERE ${THIS_BATCH} AND status = 'in_progress')
        ORDER BY position LIMIT :limit FOR UPDATE SKIP LOCKED)
      ${takePicked}`,
    claimFresh: `WITH picked AS (
        SELECT position FROM ${items}
        WHERE ${OF_BATCH} AND failed IS NULL AND attempts = 0 AND lease_until <= ${NOW}
          AND EXISTS (SELECT 1 FROM ${batches} WHERE ${THIS_BATCH} AND status = 'in_progress')
        ORDER BY position LIMIT :limit FOR UPDATE SKIP LOCKED)
      ${takePicked}`,
    claimNamed: `WITH picked AS (
        SELECT position FROM ${items}
        WHERE ${OF_BATCH} AND failed IS NULL AND lease_until <= ${NOW}
          AND position = ANY (:positions::integer[])
          AND EXISTS (SELECT 1 FROM ${batches} WHERE ${THIS_BATCH} AND status IN ('in_progress', 'cancelling'))
        ORDER BY position LIMIT :limit FOR UPDATE SKIP LOCKED)
      ${takePicked}`,
    renewItems: `UPDATE ${items} SET lease_until = ${NOW} + :leaseMs::bigint
      WHERE ${OF_BATCH} AND token = :token`,
    releaseItems: `UPDATE ${items} SET attempts = attempts - 1, token = NULL, lease_until = 0
      WHERE ${OF_BATCH} AND token = :token`,
    lockBatch: `SELECT 1 FROM ${batches} WHERE ${THIS_BATCH} FOR UPDATE`,
    settleHeld: settled(batches, items, "AND status IN ('in_progress', 'cancelling')", 'AND known.token = :token'),
    settleOpen: settled(batches, items, '', ''),
    pageOpen: `SELECT position FROM ${items} WHERE ${OF_BATCH} AND failed IS NULL ORDER BY position LIMIT :limit`,
  };
}

/** What is to be done. */
function taskStatements({ tasks }: Tables) {
  return {
    renewTask: `UPDATE ${tasks} SET lease_until = ${NOW} + :leaseMs::bigint WHERE ${THIS_TASK}`,
    finishTask: `DELETE FROM ${tasks} WHERE ${THIS_TASK}`,
    rescheduleTask: `UPDATE ${tasks} SET run_at = ${NOW} + :afterMs::bigint, memo = coalesce(:memo, memo),
        attempts = CASE WHEN :reset THEN 0 ELSE attempts END, token = NULL, lease_until = 0
      WHERE ${THIS_TASK}`,
  };
}

/** Batches that go. */
function deletingStatements({ batches, items, tasks, keys }: Tables) {
  return {
    hideBatch: `UPDATE ${batches} SET stage = 'deleted', touched_at = ${NOW}
      WHERE ${THIS_BATCH} AND status IN (${TERMINAL})`,
    hideDraft: `UPDATE ${batches} SET stage = 'deleted'
      WHERE account = :account AND id = :batchId AND stage = 'draft'`,
    deleteTasks: `DELETE FROM ${tasks} WHERE ${OF_BATCH}`,
    deleteKeys: `DELETE FROM ${keys} WHERE ${OF_BATCH}`,
    deleteItems: `DELETE FROM ${items} WHERE ${OF_BATCH}
      AND position < (SELECT min(position) FROM ${items} WHERE ${OF_BATCH}) + :limit::integer`,
    deleteRow: `DELETE FROM ${batches} WHERE account = :account AND id = :batchId AND stage = 'deleted'
      AND NOT EXISTS (SELECT 1 FROM ${items} WHERE ${OF_BATCH})`,
    findDeleted: `SELECT 1 FROM ${batches} WHERE account = :account AND id = :batchId AND stage = 'deleted'`,
  };
}

/** Files, and their pieces. */
function fileStatements({ files, pieces }: Tables) {
  return {
    openFile: `INSERT INTO ${files} AS known (account, id, stage, touched_at)
      VALUES (:account, :fileId, 'draft', ${NOW})
      ON CONFLICT (account, id) DO UPDATE SET touched_at = ${NOW}
      WHERE known.account = :account AND known.stage = 'draft'`,
    touchFile: `UPDATE ${files} SET touched_at = ${NOW}
      WHERE account = :account AND id = :fileId AND stage = 'draft'`,
    addPiece: `WITH draft AS (
        UPDATE ${files} SET touched_at = ${NOW}
        WHERE account = :account AND id = :fileId AND stage = 'draft' RETURNING 1),
      added AS (
        INSERT INTO ${pieces} (account, file_id, piece, content)
        SELECT :account, :fileId, :piece::integer, :content::bytea FROM draft
        ON CONFLICT (account, file_id, piece, part) DO NOTHING)
      SELECT count(*) AS drafts FROM draft`,
    lockFile: `SELECT stage, record, ${NOW} AS now FROM ${files}
      WHERE account = :account AND id = :fileId FOR UPDATE`,
    publishFile: `UPDATE ${files} SET stage = 'file', created_at = :createdAt, delete_at = :deleteAt, record = :record
      WHERE account = :account AND id = :fileId AND stage = 'draft'`,
    findFile: `SELECT record FROM ${files} WHERE ${THIS_FILE}`,
    listFiles: `SELECT record FROM ${files}
      WHERE account = :account AND stage = 'file' AND (:after::text IS NULL OR (created_at, id) <
        (SELECT created_at, id FROM ${files} WHERE account = :account AND id = :after AND stage <> 'draft'))
      ORDER BY created_at DESC, id DESC LIMIT :limit`,
    wasFile: `SELECT 1 AS known FROM ${files} WHERE account = :account AND id = :after AND stage <> 'draft'`,
    // As bytes it would come in hexadecimal digits, which is half as long again.
    readPiece: `SELECT encode(content, 'base64') AS content FROM ${pieces}
      WHERE ${OF_FILE} AND piece = :piece AND EXISTS (SELECT 1 FROM ${files} WHERE ${THIS_FILE})
      ORDER BY part`,
    hideFile: `UPDATE ${files} SET stage = 'deleted', touched_at = ${NOW}
      WHERE account = :account AND id = :fileId AND stage = :stage`,
    deletePieces: `DELETE FROM ${pieces} WHERE ${OF_FILE} AND ctid = ANY (ARRAY (
      SELECT ctid FROM ${pieces} WHERE ${OF_FILE} ORDER BY piece, part LIMIT 256))`,
    deleteFile: `DELETE FROM ${files} WHERE account = :account AND id = :fileId AND stage = 'deleted'
      AND NOT EXISTS (SELECT 1 FROM ${pieces} WHERE ${OF_FILE})`,
  };
}

/**
 * Stores outcomes and counts them, in one statement: the batch is locked first, so its state is the one of this moment
 * and two of these do not wait for each other's requests.
 */
function settled(batches: string, items: string, state: string, condition: string): string {
  return `WITH locked AS (SELECT total FROM ${batches} WHERE ${THIS_BATCH} ${state} FOR UPDATE),
    settled AS (
      INSERT INTO ${items} AS known (account, batch_id, position, custom_id, custom_key, body, failed, outcome)
      SELECT :account, :batchId, given.position, ${NO_ITEM}, given.failed, given.outcome
      FROM locked, unnest(:positions::integer[], :failures::boolean[], :outcomes::text[])
        AS given (position, failed, outcome)
      WHERE given.position >= 0 AND given.position < locked.total
      ON CONFLICT (account, batch_id, position) DO UPDATE
      SET failed = excluded.failed, outcome = excluded.outcome, token = NULL, lease_until = 0
      WHERE known.account = :account AND known.failed IS NULL ${condition}
      RETURNING known.position, known.failed),
    counted AS (
      UPDATE ${batches} SET completed = completed + (SELECT count(*) FROM settled WHERE NOT settled.failed),
        failed = failed + (SELECT count(*) FROM settled WHERE settled.failed)
      WHERE ${THIS_BATCH} AND EXISTS (SELECT 1 FROM settled))
    SELECT position FROM settled`;
}

/** What workers ask on nobody's behalf: which account has something to do. */
export function workerStatements(schema: string) {
  return {
    now: `SELECT ${NOW} AS now`,
    claimTasks: `WITH due AS (
        SELECT account, batch_id, effect FROM ${schema}.tasks WHERE run_at <= ${NOW} AND lease_until <= ${NOW}
        ORDER BY run_at LIMIT :limit FOR UPDATE SKIP LOCKED)
      UPDATE ${schema}.tasks AS tasks
      SET attempts = attempts + 1, token = :token, lease_until = ${NOW} + :leaseMs::bigint
      FROM due WHERE tasks.account = due.account AND tasks.batch_id = due.batch_id AND tasks.effect = due.effect
      RETURNING tasks.account, tasks.batch_id, tasks.effect, run_at, attempts, memo`,
    findShared: `SELECT batches.account, batches.id FROM ${schema}.batches
      WHERE stage = 'batch' AND status = 'in_progress' AND record::json ->> 'shared' = 'true' AND EXISTS (
        SELECT 1 FROM ${schema}.items WHERE items.account = batches.account AND items.batch_id = batches.id
          AND failed IS NULL AND attempts = 0)
      LIMIT :limit`,
    nextTask: `SELECT min(greatest(run_at, lease_until)) - ${NOW} AS left FROM ${schema}.tasks`,
    hideOver: `WITH over AS (
        SELECT account, id FROM ${schema}.batches
        WHERE (stage = 'deleted' AND (touched_at <= ${NOW} - :draftMs::bigint OR EXISTS (
            SELECT 1 FROM ${schema}.items WHERE items.account = batches.account AND items.batch_id = batches.id)))
          OR (stage = 'draft' AND touched_at <= ${NOW} - :draftMs::bigint)
          OR (stage = 'batch' AND delete_at <= ${NOW} AND status IN (${TERMINAL}))
        LIMIT :limit FOR UPDATE SKIP LOCKED)
      UPDATE ${schema}.batches AS batches SET stage = 'deleted'
      FROM over WHERE batches.account = over.account AND batches.id = over.id
      RETURNING batches.account, batches.id`,
    findOverFiles: `SELECT account, id, stage FROM ${schema}.files
      WHERE (stage = 'deleted' AND (touched_at <= ${NOW} - :draftMs::bigint OR EXISTS (
          SELECT 1 FROM ${schema}.file_pieces AS pieces WHERE pieces.account = files.account AND pieces.file_id = files.id)))
        OR (stage = 'draft' AND touched_at <= ${NOW} - :draftMs::bigint)
        OR (stage = 'file' AND delete_at <= ${NOW})
      LIMIT :limit`,
    deleteOldKeys: `WITH old AS (
        SELECT account, key_digest FROM ${schema}.keys WHERE expires_at <= ${NOW} LIMIT 1000 FOR UPDATE SKIP LOCKED)
      DELETE FROM ${schema}.keys AS keys USING old
      WHERE keys.account = old.account AND keys.key_digest = old.key_digest`,
  };
}

/** Name of a statement. */
export type PostgresStatementName =
  | keyof ReturnType<typeof accountStatements>
  | keyof ReturnType<typeof workerStatements>;

/** A statement as the driver takes it, and the names of its values in their order. */
export interface Statement {
  readonly text: string;
  readonly names: readonly string[];
}

/** All statements over the tables of a schema. */
export function statementsOf(schema: string): Readonly<Record<PostgresStatementName, Statement>> {
  const texts = { ...accountStatements(schema), ...workerStatements(schema) };
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, numbered(text)])) as Readonly<
    Record<PostgresStatementName, Statement>
  >;
}

/** A statement whose values are written `:name`, as the driver takes it. */
export function numbered(text: string): Statement {
  const names: string[] = [];
  const withNumbers = text.replace(/(?<!:):([a-zA-Z]+)/g, (_, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return { text: withNumbers, names };
}
