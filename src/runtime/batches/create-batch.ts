/** Creates batches from requests that arrive one by one. */
import { type Account, ANONYMOUS } from '../../contracts/account.ts';
import { INITIAL_EFFECTS } from '../../core/batch/machine.ts';
import { faultOfLine } from '../../core/batch/wire-batch.ts';
import { errorOf, RouterError } from '../../protocol/router-error.ts';
import { OutboundError } from '../../net/outbound-error.ts';
import type { BatchRequest } from '../../protocol/batch.ts';
import { BATCH_FIELDS, type BatchFields, parseBatchFields } from '../../protocol/create-batch.ts';
import { echo, faultAt } from '../../protocol/fault.ts';
import { DuplicateCustomIdError, type IdempotencyKey } from '../../contracts/batch-store.ts';
import { errorOfFault } from '../chat/router-errors.ts';
import { DraftWriter } from './draft-writer.ts';
import { type LineLimits, requestsOfFile } from './file-requests.ts';
import type { CheckAccount } from '../limits/accounts.ts';
import type { BatchPorts } from './ports.ts';
import type { BatchRecord } from '../../contracts/batch-record.ts';
import { notifyStatus } from './apply-event.ts';

/** A batch to be created (contract: create a batch). */
export interface NewBatch extends BatchFields {
  /**
   * The requests, each with a `custom_id` of its own. Read one after the other and written away in slices, so that
   * there may be more of them than fit into memory: rows of a database, lines of a file. Left out where `input_file_id`
   * names an uploaded file that they are in.
   */
  readonly requests?: Iterable<BatchRequest> | AsyncIterable<BatchRequest> | undefined;
}

/** What comes with a new batch. */
export interface CreateBatchOptions {
  /** On whose behalf. Default: the anonymous account. */
  readonly account?: Account | undefined;
  /** The same key within a day gives the same batch again instead of another one. At most 255 characters. */
  readonly idempotencyKey?: string | undefined;
}

/** What creating a batch depends on. */
interface CreateBatchPorts extends Pick<
  BatchPorts,
  'store' | 'environment' | 'events' | 'limits' | 'webhooks' | 'spending' | 'wake' | 'failPoint'
> {
  readonly checkAccount: CheckAccount;
  /** What one line of a file may hold. */
  readonly lineLimits: LineLimits;
  /** True when the accounts of batches can be found again, with their keys. */
  readonly findsAccounts: boolean;
}

/** How long an idempotency key is remembered, in milliseconds. */
const KEY_TTL_MS = 86_400_000;
const MAX_KEY_LENGTH = 255;

/**
 * Creates a batch: its requests are written into a draft while they are read, and the draft becomes a batch in one
 * step. Nothing is left of it when anything is wrong.
 *
 * @throws {@link RouterError} 400 with the place of what is wrong; 402 for an account with nothing left to spend; 422 for a key that came with another batch; 503 for
 * an account whose limits mean nothing.
 */
export async function createBatch(
  ports: CreateBatchPorts,
  input: NewBatch,
  { account = ANONYMOUS, idempotencyKey }: CreateBatchOptions,
): Promise<BatchRecord> {
  const { store, environment, failPoint } = ports;
  const fields = await checkFields(ports, input);
  ports.checkAccount(account);
  mustBeFound(ports, account);
  checkKey(idempotencyKey);
  // Otherwise every request would be accepted and fail.
  await ports.spending.check(account);
  const requests = await requestsOf(ports, input, fields, account);
  const id = `batch_${environment.randomText(24)}`;
  await store.openDraft(account.id, id);
  const writer = new DraftWriter(ports, { account: account.id, id, model: fields.model ?? undefined }, idempotencyKey);
  const keyOf = (fingerprint: string): IdempotencyKey | undefined =>
    idempotencyKey === undefined ? undefined : { key: idempotencyKey, fingerprint, ttlMs: KEY_TTL_MS };
  try {
    await writer.begin(JSON.stringify(BATCH_FIELDS.map((name) => fields[name] ?? null)));
    for await (const request of requests) await writer.add(request);
    const { model, count } = await writer.end();
    await failPoint('create.written');
    const record = newRecord(account, { ...fields, id, model }, ports, count);
    return await publish(ports, record, keyOf(writer.fingerprint));
  } catch (thrown) {
    // What cannot be discarded now is swept later.
    await store.discard(account.id, id).catch(() => undefined);
    const error = thrown instanceof DuplicateCustomIdError ? duplicate(thrown) : thrown;
    if (fields.input_file_id == null || !RouterError.isInstance(error) || error.status >= 500) throw error;
    return publishFailed(ports, account, fields, { message: error.message, key: keyOf(writer.fingerprint) });
  }
}

/** The requests of a new batch, wherever they are. */
async function requestsOf(
  { store, lineLimits }: CreateBatchPorts,
  { requests }: NewBatch,
  { input_file_id: fileId, endpoint }: BatchFields,
  account: Account,
): Promise<Iterable<BatchRequest> | AsyncIterable<BatchRequest>> {
  if (fileId == null) {
    if (requests === undefined) throw errorOfFault(faultAt('requests', 'is required and must be an array'));
    return requests;
  }
  if (requests !== undefined) {
    throw errorOfFault(faultAt('input_file_id', 'cannot be used together with "requests": the file has them'));
  }
  const file = await store.files.find(account.id, fileId);
  if (file !== undefined) return requestsOfFile(store, file, endpoint, lineLimits);
  throw errorOfFault(faultAt('input_file_id', `names no file of this account: ${echo(fileId)}`));
}

/**
 * A batch whose file has a mistake in it: it exists, and fails in its validation with the line, as clients of files
 * expect it. Nothing of the file is in it.
 */
async function publishFailed(
  ports: CreateBatchPorts,
  account: Account,
  fields: BatchFields,
  { message, key }: { readonly message: string; readonly key: IdempotencyKey | undefined },
): Promise<BatchRecord> {
  const id = `batch_${ports.environment.randomText(24)}`;
  await ports.store.openDraft(account.id, id);
  const record = newRecord(account, { ...fields, id, model: fields.model ?? '' }, ports);
  return publish(ports, { ...record, error: faultOfLine(message) }, key);
}

async function publish(
  ports: CreateBatchPorts,
  record: BatchRecord,
  key: IdempotencyKey | undefined,
): Promise<BatchRecord> {
  const { store, wake, failPoint } = ports;
  const outcome = await store.publish(record, INITIAL_EFFECTS, key);
  if (outcome.type === 'repeated') {
    const known = outcome.sameContent ? await store.find(record.account, outcome.batchId) : undefined;
    if (known !== undefined) return known;
    throw errorOf(422, 'This Idempotency-Key came with another batch before. Use a new key for a new batch.');
  }
  await failPoint('create.published');
  notifyStatus(ports, outcome.batch, undefined);
  wake();
  return outcome.batch;
}

function newRecord(
  account: Account,
  fields: BatchFields & { readonly id: string; readonly model: string },
  { limits }: CreateBatchPorts,
  total = 0,
): BatchRecord {
  const { id, endpoint, model, callback_url: callbackUrl, provider, input_file_id: inputFileId } = fields;
  const keptSeconds = fields.output_expires_after?.seconds;
  const { policy, defaultModel, pluginDefaults, rateLimits, budget, batchWeight, keyId, keyBudget } = account;
  const rules = { policy, defaultModel, pluginDefaults, rateLimits, budget, batchWeight, keyId, keyBudget };
  return {
    id,
    account: account.id,
    endpoint,
    model,
    status: 'validating',
    createdAt: 0,
    deleteAt: limits.retentionMs,
    outputKeptMs: keptSeconds === undefined ? undefined : keptSeconds * 1_000,
    callbackUrl: callbackUrl ?? undefined,
    inputFileId: inputFileId ?? undefined,
    metadata: fields.metadata ?? undefined,
    preferences:
      provider == null
        ? undefined
        : { only: provider.only ?? undefined, allowFallbacks: provider.allow_fallbacks ?? undefined },
    rules: Object.values(rules).every((rule) => rule === undefined) ? undefined : rules,
    counts: { total, completed: 0, failed: 0 },
    revision: 0,
  };
}

async function checkFields({ webhooks }: CreateBatchPorts, input: NewBatch): Promise<BatchFields> {
  const { requests: _, ...rest } = input;
  const parsed = parseBatchFields(rest);
  if (!parsed.ok) throw errorOfFault(parsed.fault);
  const { callback_url: url } = parsed.value;
  if (url != null) {
    try {
      await webhooks.outbound.check(url, 'https');
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      throw errorOfFault(faultAt('callback_url', error.message.replace('The URL ', '')));
    }
  }
  return parsed.value;
}

/** Keys of accounts are not stored, so a batch needs somebody who finds them when it runs. */
function mustBeFound({ findsAccounts }: CreateBatchPorts, { providerKeys }: Account): void {
  if (findsAccounts || Object.keys(providerKeys ?? {}).length === 0) return;
  throw errorOf(
    403,
    'Accounts with provider keys of their own cannot create batches here: the router has no batches.accountOf to find ' +
      'these keys when the batch runs',
  );
}

function checkKey(key: string | undefined): void {
  if (key === undefined || (key.length > 0 && key.length <= MAX_KEY_LENGTH && !key.includes('\0'))) return;
  throw errorOf(400, `Idempotency-Key must have 1 to ${MAX_KEY_LENGTH} characters`);
}

function duplicate({ firstIndex, index }: DuplicateCustomIdError): RouterError {
  const problem = `is the same as that of requests[${firstIndex}]; each must be unique in its batch`;
  return errorOfFault(faultAt(`requests[${index}].custom_id`, problem));
}
