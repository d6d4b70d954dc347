import type { Account } from '../core/account.ts';
import { RouterError } from '../errors.ts';
import { BATCH_STATUSES, type BatchStatus } from '../protocol/batch.ts';
import type { Router } from '../router.ts';
import type { ListBatchesOptions } from '../runtime/batches/batches.ts';
import { Concurrency } from '../runtime/concurrency.ts';
import { warn } from '../runtime/warn.ts';
import { StorageError } from '../storage/storage-error.ts';
import { completedReply } from './batch-reply.ts';
import { type Upload, readUpload } from './batch-upload.ts';
import { invalid } from './body.ts';
import type { HttpCall, HttpHeaders, HttpReply } from './exchange.ts';
import type { BatchOperation } from './routes.ts';

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
  operation: BatchOperation,
  call: HttpCall,
  account: Account,
  headers: HttpHeaders,
): Promise<HttpReply> {
  const { batches } = router;
  try {
    switch (operation.name) {
      case 'batch_create':
        return json(202, await create(router, call, account), headers);
      case 'batch_list':
        return json(200, await batches.list({ ...listOptions(new URLSearchParams(call.query)), account }), headers);
      case 'batch_cancel':
        return json(200, await batches.cancel(operation.id, { account }), headers);
      case 'batch_delete':
        return json(200, await batches.delete(operation.id, { account }), headers);
      case 'batch_retrieve': {
        const batch = await batches.retrieve(operation.id, { account });
        if (batch.status !== 'completed') return json(200, batch, headers);
        const { writeStallMs } = router.internals.config.limits;
        return await completedReply(batch, batches.results(batch.id, { account }), headers, writeStallMs);
      }
    }
  } catch (error) {
    throw StorageError.isInstance(error) ? unavailable(router, error) : error;
  }
}

async function create(router: Router, call: HttpCall, account: Account): Promise<object> {
  const { config } = router.internals;
  const { limits, storage } = config.batches;
  let state = STATES.get(router);
  if (state === undefined) {
    state = { uploads: new Concurrency(limits.uploads, 'uploads of batches'), warned: false };
    STATES.set(router, state);
  }
  if (!storage.durable && !state.warned) {
    state.warned = true;
    warn(router.internals.services.events, NOT_DURABLE);
  }
  const place = state.uploads.enter();
  let upload: Upload | undefined;
  try {
    const { environment, limits: requests } = config;
    upload = await readUpload(call, { batches: limits, requests, environment });
    return await router.batches.create(upload.batch, { account, idempotencyKey: call.header('idempotency-key') });
  } finally {
    await upload?.close();
    place.leave();
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

function json(status: number, body: object, headers: HttpHeaders): HttpReply {
  return {
    type: 'whole',
    status,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
}

/** What is wrong with the storage is the operator's business. */
function unavailable(router: Router, error: StorageError): RouterError {
  warn(router.internals.services.events, { code: 'batch_storage', message: error.message });
  const message = 'Batches cannot be stored or read right now';
  return new RouterError({ status: 503, errorType: 'server', message, retryAfterMs: 1_000 });
}
