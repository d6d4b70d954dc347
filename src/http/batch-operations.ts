/** Answers the operations on batches. */
import type { Account } from '../contracts/account.ts';
import { RouterError } from '../protocol/router-error.ts';
import { type Batch, BATCH_STATUSES, type BatchResultItem, type BatchStatus } from '../protocol/batch.ts';
import type { Router } from '../router/router.ts';
import type { ListBatchesOptions } from '../runtime/batches/batches.ts';
import { Concurrency } from '../runtime/endpoints/concurrency.ts';
import { warn } from '../runtime/events/events.ts';
import { StorageError } from '../contracts/storage-error.ts';
import { readUpload, type UploadLimits } from './batch-upload.ts';
import { invalid } from './body.ts';
import type { HttpCall, HttpReply } from '../contracts/exchange.ts';
import { contentReply, listFiles, uploadFile } from './file-operations.ts';
import { type AdmittedCall, completeReply } from './model-reply.ts';
import { isKnown, notModified, type Pieces, replyInPieces } from './piece-frames.ts';
import { sha256 } from '../platform/hash.ts';
import type { BatchOperation, FileOperation } from './routes.ts';

/** What is remembered of a router that answers about batches. */
interface RouterState {
  readonly uploads: Concurrency;
  warned: boolean;
}

const STATES = new WeakMap<Router, RouterState>();

/**
 * Answers the operations on batches (contract: create a batch, retrieve a batch; gaps 8).
 *
 * @throws {@link RouterError} for everything that is wrong.
 */
export async function answerBatches(
  router: Router,
  operation: BatchOperation | FileOperation,
  { call, account, context: { headers } }: AdmittedCall,
): Promise<HttpReply> {
  const { batches } = router;
  try {
    switch (operation.name) {
      case 'batch_create':
        return { ...completeReply(await create(router, call, account), headers), status: 202 };
      case 'file_create':
        return completeReply(await createFile(router, call, account), headers);
      case 'file_list':
        return completeReply(await listFiles(batches.files, call, account), headers);
      case 'file_retrieve':
        return completeReply(await batches.files.retrieve(operation.id, { account }), headers);
      case 'file_delete':
        return completeReply(await batches.files.delete(operation.id, { account }), headers);
      case 'file_content': {
        const { writeStallMs } = router.internals.config.limits;
        // A file never changes; one that is not there any more is a 404 all the same.
        const own = { ...headers, etag: `"${operation.id}"` };
        if (isKnown(call.header('if-none-match'), own.etag)) {
          await batches.files.retrieve(operation.id, { account });
          return notModified(own);
        }
        return await contentReply(batches.files.content(operation.id, { account }), own, writeStallMs);
      }
      case 'batch_list':
        return completeReply(await batches.list({ ...listOptions(new URLSearchParams(call.query)), account }), headers);
      case 'batch_cancel':
        return completeReply(await batches.cancel(operation.id, { account }), headers);
      case 'batch_redeliver':
        return completeReply(await batches.redeliver(operation.id, { account }), headers);
      case 'batch_delete': {
        const { deletion, ...batch } = await batches.delete(operation.id, { account });
        const { router: done, ...rest } = deletion;
        // The member has the name of the brand (gaps 0.2).
        return completeReply({ ...batch, deletion: { [router.internals.config.brand]: done, ...rest } }, headers);
      }
      case 'batch_retrieve': {
        const known = call.header('if-none-match');
        const batch = await batches.retrieve(operation.id, { account });
        const { writeStallMs } = router.internals.config.limits;
        // Results never change once a batch is completed; all else is in the tag.
        const etag = `"${await sha256(JSON.stringify(batch))}"`;
        if (isKnown(known, etag)) return notModified({ ...headers, etag });
        if (batch.status !== 'completed') return completeReply(batch, { ...headers, etag });
        const results = batches.results(batch.id, { account });
        const own = { ...headers, 'content-type': 'application/json', etag };
        return await replyInPieces(textOfCompleted(batch, results), own, writeStallMs);
      }
    }
  } catch (error) {
    throw StorageError.isInstance(error) ? unavailable(router, error) : error;
  }
}

async function create(router: Router, call: HttpCall, account: Account): Promise<object> {
  return inPlace(router, call, account, async (limits) => {
    const upload = await readUpload(call, limits);
    try {
      return await router.batches.create(upload.batch, { account, idempotencyKey: call.header('idempotency-key') });
    } finally {
      await upload.close();
    }
  });
}

async function createFile(router: Router, call: HttpCall, account: Account): Promise<object> {
  const { bytes: fileBytes } = router.internals.config.batches.limits;
  return inPlace(router, call, account, async (limits) => {
    limits.hold.add(FILE_IN_HAND);
    return uploadFile(router.batches.files, call, account, { limits, fileBytes });
  });
}

/** Bytes of a file that are in hand at a time: a piece of it, and what is added to the next one. */
const FILE_IN_HAND = 512 * 1024;

/** Bytes of a body that is there at once: reading it needs none of the places for what comes slowly. */
const SMALL_BYTES = 65_536;

/** Whether a call says that its body is small. Compressed, it says nothing. */
function isSmall({ body, header }: HttpCall): boolean {
  if (body.type === 'parsed') return false;
  return header('content-encoding') === undefined && Number(header('content-length') ?? Infinity) <= SMALL_BYTES;
}

/** Does something with a body that comes slowly, in one of the places for that. */
async function inPlace<Value>(
  router: Router,
  call: HttpCall,
  account: Account,
  work: (limits: UploadLimits) => Promise<Value>,
): Promise<Value> {
  const { config, bytesInHand } = router.internals;
  const { limits, openStorage } = config.batches;
  const { durable } = await openStorage();
  let state = STATES.get(router);
  if (state === undefined) {
    state = {
      uploads: new Concurrency(limits.uploads, 'uploads of batches', { most: limits.uploadsPerAccount }),
      warned: false,
    };
    STATES.set(router, state);
  }
  if (!durable && !state.warned) {
    state.warned = true;
    warn(router.internals.services.events, NOT_DURABLE);
  }
  const place = isSmall(call) ? undefined : state.uploads.enter(account.id);
  const hold = bytesInHand.open(account.id);
  try {
    const { environment } = config;
    const { embeddingInputs, embeddingTokens, nodes } = config.limits;
    const requests = { ...config.limits, nodes: nodes + embeddingInputs + embeddingTokens };
    return await work({ batches: limits, requests, environment, hold });
  } finally {
    hold.release();
    place?.leave();
  }
}

const NOT_DURABLE = {
  code: 'batches_not_durable',
  message:
    'Batches are accepted over HTTP, but they are kept in the memory of this process and lost when it ends. ' +
    'Pass batches: { storage } to createRouter.',
};

/** Reads the query of `GET /batches` (gaps 8.6). OpenAI's packages write lists with brackets. */
function listOptions(query: URLSearchParams): ListBatchesOptions {
  const status = [...query.getAll('status'), ...query.getAll('status[]')].map((word) => {
    if ((BATCH_STATUSES as readonly string[]).includes(word)) return word as BatchStatus;
    throw invalid(`status must be one of ${BATCH_STATUSES.join(', ')}`);
  });
  return {
    limit: integerOf(query, 'limit'),
    after: query.get('after') ?? undefined,
    status,
    createdAfter: integerOf(query, 'created_after'),
    createdBefore: integerOf(query, 'created_before'),
  };
}

function integerOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (/^\d{1,12}$/.test(text)) return Number(text);
  throw invalid(`${name} must be an integer${name === 'limit' ? '' : ' of Unix seconds'}`);
}

/** What is wrong with the storage is the operator's business. */
function unavailable(router: Router, error: StorageError): RouterError {
  warn(router.internals.services.events, { code: 'batch_storage', message: error.message });
  const message = 'Batches cannot be stored or read right now';
  return new RouterError({ status: 503, errorType: 'server', message, retryAfterMs: 1_000 });
}

/** Characters of results that are collected before a write. More than that is sent while the rest is read. */
const PIECE_LENGTH = 64 * 1024;

/**
 * The JSON text of a completed batch with its results (contract: batch resource). Many results are sent while they are
 * read from the storage, so they are never in memory together.
 */
async function* textOfCompleted({ results: _, ...batch }: Batch, results: AsyncIterable<BatchResultItem>): Pieces {
  let text = `${JSON.stringify(batch).slice(0, -1)},"results":[`;
  let read = 0;
  for await (const result of results) {
    text += `${read === 0 ? '' : ','}${JSON.stringify(result)}`;
    read += 1;
    if (text.length < PIECE_LENGTH) continue;
    yield text;
    text = '';
  }
  // Somebody may delete the batch while it is sent: a broken answer is better than a short one.
  if (read !== batch.request_counts.total) throw new RangeError('results are missing');
  return `${text}]}`;
}
