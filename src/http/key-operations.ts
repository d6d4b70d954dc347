/** Answers the operations on stored API keys. */
import { optionProblems } from '../platform/check-options.ts';
import { nanoFromUsd, usdFromNano } from '../catalog/cost.ts';
import type { Budget } from '../options/spending.ts';
import type { KeyChanges, KeyManagement, NewKey, StoredKey } from '../contracts/key-store.ts';
import { type Account, hasScope, type Scope } from '../contracts/account.ts';
import { sha256 } from '../platform/hash.ts';
import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import { errorOf, RouterError } from '../protocol/router-error.ts';
import { ACCOUNT, SCOPES } from '../options/accounts.ts';
import type { Spending } from '../runtime/limits/spending.ts';
import { keyOf } from './authorize.ts';
import { checkContentType, errorOfBody, invalid } from './body.ts';
import type { HttpCall, UnreadBody, CompleteReply } from '../contracts/exchange.ts';
import { type AdmittedCall, completeReply } from './model-reply.ts';
import type { KeyOperation } from './routes.ts';

/** Bytes of a body about a key. */
const MOST_BYTES = 10_000;
const BODY_MS = 10_000;
const DAY_SECONDS = 86_400;
/** Seconds for which a rotated key may work: a year. */
const MOST_OVERLAP = 366 * DAY_SECONDS;
const MOST_NAME = 200;

/** Periods of budgets by the words of the hosted service. */
const RESETS: Readonly<Record<string, Budget['period']>> = { daily: 'day', weekly: 'week', monthly: 'month' };

/** What answering about keys takes. */
interface KeyServices {
  readonly keys: KeyManagement;
  /** Knows what was spent with keys. */
  readonly spending: Pick<Spending, 'spentWith'>;
}

/**
 * Answers the management of stored API keys (gaps 9): a client with the scope `management` manages the keys of its own
 * account. Keys of other accounts are not there for it. What its own key is and has spent, any client may ask.
 *
 * @throws {@link RouterError} for everything that is wrong.
 */
export async function answerKeys(
  { keys, spending }: KeyServices,
  operation: KeyOperation,
  { call, account, context }: AdmittedCall,
): Promise<CompleteReply> {
  // No cache on the way may keep a key.
  const headers = { ...context.headers, 'cache-control': 'no-store' };
  const cardOf = async (key: StoredKey): Promise<JsonObject> => card(key, await amountsOf(key.account, spending));
  switch (operation.name) {
    case 'key_current': {
      const hash = await sha256(keyOf(call) ?? '');
      return completeReply(
        { data: currentCard(account, await keys.find(hash), await amountsOf(account, spending)) },
        headers,
      );
    }
    case 'key_list': {
      const after = new URLSearchParams(call.query).get('after') ?? undefined;
      if (after !== undefined && !/^[0-9a-f]{64}$/.test(after)) throw wrong('after', 'must be the hash of a key');
      const found = await keys.list({ account: account.id, after });
      return completeReply({ data: await Promise.all(found.map(cardOf)) }, headers);
    }
    case 'key_create': {
      const made = await keys.create(wantedBy(account, await bodyOf(call), scopesOfKeys(account)));
      return { ...completeReply({ data: await cardOf(made.stored), key: made.key }, headers), status: 201 };
    }
    case 'key_retrieve':
      return completeReply({ data: await cardOf(await own(keys, operation.id, account)) }, headers);
    case 'key_update': {
      const { hash, account: stored } = await owned(keys, operation.id, account);
      const changed = await keys.update(hash, changesBy(stored, await bodyOf(call), scopesOfKeys(account)));
      return completeReply({ data: await cardOf(changed) }, headers);
    }
    case 'key_rotate': {
      const { hash } = await owned(keys, operation.id, account);
      const { overlap_seconds: seconds = DAY_SECONDS } = await bodyOf(call);
      if (typeof seconds !== 'number' || !(seconds >= 0 && seconds <= MOST_OVERLAP)) {
        throw wrong('overlap_seconds', `must be a number of seconds from 0 to ${MOST_OVERLAP}`);
      }
      const made = await keys.rotate(hash, seconds * 1_000);
      return { ...completeReply({ data: await cardOf(made.stored), key: made.key }, headers), status: 201 };
    }
    case 'key_delete': {
      const { hash } = await owned(keys, operation.id, account);
      await keys.revoke(hash);
      return completeReply({ deleted: true }, headers);
    }
  }
}

/** A key of the account. One of another account is as unknown as one that never was. */
async function own(keys: KeyManagement, hash: string, account: Account): Promise<StoredKey> {
  const found = await keys.find(hash);
  if (found === undefined || found.account.id !== account.id) {
    throw errorOf(404, 'There is no API key with this hash here; GET /keys lists them');
  }
  return found;
}

/** A key of the account that may be changed by it: those of operators are for operators. */
async function owned(keys: KeyManagement, hash: string, account: Account): Promise<StoredKey> {
  const found = await own(keys, hash, account);
  if (!hasScope(found.account, 'operator') || hasScope(account, 'operator')) return found;
  throw errorOf(403, 'Only operator keys may change an operator key');
}

/** Scopes that a key of an account may give to others: what it may not do itself, they may not either. */
function scopesOfKeys(account: Account): readonly Scope[] {
  return SCOPES.filter((scope) => scope !== 'operator' || hasScope(account, scope));
}

/** A key of the account, with all that it may and may not. Provider keys are not copied to where others may read them. */
function wantedBy(account: Account, body: JsonObject, scopes: readonly Scope[]): NewKey {
  const { keyId: _, keyBudget: __, scopes: ___, providerKeys: ____, ...shared } = account;
  const { expiresAt, ...named } = namedBy(body);
  return {
    ...named,
    ...(expiresAt != null && { expiresAt }),
    account: { ...shared, ...givenBy(body, undefined, scopes) },
  };
}

function changesBy(before: Account, body: JsonObject, scopes: readonly Scope[]): KeyChanges {
  const { disabled } = body;
  if (disabled !== undefined && typeof disabled !== 'boolean') throw wrong('disabled', 'must be true or false');
  const given = givenBy(body, before.keyBudget, scopes);
  const changed = Object.keys(given).length > 0 && { account: { ...before, ...given } };
  return { ...namedBy(body), ...(disabled !== undefined && { disabled }), ...changed };
}

function namedBy({ name, expires_at: expires }: JsonObject): Pick<KeyChanges, 'name' | 'expiresAt'> {
  if (name !== undefined && (typeof name !== 'string' || name.trim() === '' || name.length > MOST_NAME)) {
    throw wrong('name', `must be a string of 1 to ${MOST_NAME} characters`);
  }
  const at = typeof expires === 'string' ? Date.parse(expires) : Number.NaN;
  if (expires != null && Number.isNaN(at))
    throw wrong('expires_at', 'must be a time such as 2027-01-01T00:00:00Z, or null');
  return {
    ...(name !== undefined && { name }),
    ...(expires !== undefined && { expiresAt: expires === null ? null : at }),
  };
}

/** Scopes and budget of a key, as far as the body says something about them. */
function givenBy(
  { limit, limit_reset: reset, scopes }: JsonObject,
  before: Budget | undefined,
  allowed: readonly Scope[],
): Partial<Account> {
  const scoped = scopes === undefined ? {} : { scopes: scopesIn(scopes, allowed) };
  if (limit === undefined && reset === undefined) return scoped;
  if (limit != null && typeof limit !== 'number') throw wrong('limit', 'must be US dollars, or null');
  if (reset != null && (typeof reset !== 'string' || !Object.hasOwn(RESETS, reset))) {
    throw wrong('limit_reset', 'must be daily, weekly, monthly, or null');
  }
  const limitUsd = limit === undefined ? before?.limitUsd : (limit ?? undefined);
  const period = reset === undefined ? before?.period : RESETS[reset ?? ''];
  if (limitUsd === undefined) {
    if (reset != null) throw wrong('limit_reset', 'needs a limit');
    return { ...scoped, keyBudget: undefined };
  }
  const keyBudget = { limitUsd, ...(period && { period }) };
  for (const { problem } of optionProblems(ACCOUNT.keyBudget, keyBudget, 'limit')) throw wrong('limit', problem);
  return { ...scoped, keyBudget };
}

function scopesIn(scopes: unknown, allowed: readonly Scope[]): readonly Scope[] {
  const known = allowed.filter((scope) => Array.isArray(scopes) && scopes.includes(scope));
  if (!Array.isArray(scopes) || known.length === 0 || scopes.some((one) => !known.includes(one as Scope))) {
    throw wrong('scopes', `must be a list of ${allowed.map((scope) => `"${scope}"`).join(' and ')}`);
  }
  return known;
}

/** A key as the hosted service shows it. */
function card(
  { hash, name, label, account, disabled, createdAt, updatedAt, expiresAt }: StoredKey,
  amounts: JsonObject,
): JsonObject {
  return {
    hash,
    name,
    label,
    disabled,
    ...amounts,
    scopes: [...(account.scopes ?? ['inference'])],
    created_at: new Date(createdAt).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
    expires_at: timeOf(expiresAt),
  };
}

/** The key of the caller, as the hosted service shows it. One of the configuration is known by its id alone. */
function currentCard(account: Account, stored: StoredKey | undefined, amounts: JsonObject): JsonObject {
  return {
    label: stored?.label ?? account.keyId ?? account.id,
    ...amounts,
    is_free_tier: false,
    is_management_key: hasScope(account, 'management'),
    expires_at: timeOf(stored?.expiresAt),
  };
}

/** What may be spent with a key, and what was, in US dollars. Null where nobody counts it. */
async function amountsOf(account: Account, spending: KeyServices['spending']): Promise<JsonObject> {
  const { limitUsd, period = 'total' } = account.keyBudget ?? {};
  const spent = await spending.spentWith(account);
  const reset = Object.entries(RESETS).find(([, one]) => one === period)?.[0];
  return {
    limit: limitUsd ?? null,
    limit_remaining:
      limitUsd === undefined || spent === undefined
        ? null
        : usdFromNano(Math.max(0, nanoFromUsd(limitUsd) - nanoFromUsd(spent[period]))),
    limit_reset: limitUsd === undefined ? null : (reset ?? null),
    include_byok_in_limit: false,
    usage: spent?.total ?? null,
    usage_daily: spent?.day ?? null,
    usage_weekly: spent?.week ?? null,
    usage_monthly: spent?.month ?? null,
  };
}

function timeOf(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}

async function readBytes(body: UnreadBody): Promise<Uint8Array> {
  try {
    return await body.collect(MOST_BYTES, BODY_MS);
  } catch (error) {
    throw errorOfBody(error, MOST_BYTES);
  }
}

async function bodyOf(call: HttpCall): Promise<JsonObject> {
  checkContentType(call);
  if (call.body.type === 'parsed') return objectIn(call.body.value ?? {});
  const bytes = await readBytes(call.body);
  const text = new TextDecoder().decode(bytes).trim();
  if (text === '') return {};
  try {
    return objectIn(JSON.parse(text));
  } catch (error) {
    throw RouterError.isInstance(error) ? error : wrong('the request body', 'must be a JSON object');
  }
}

function wrong(path: string, problem: string): RouterError {
  return invalid(`${path} ${problem}`);
}

function objectIn(value: unknown): JsonObject {
  if (isJsonObject(value)) return value;
  throw wrong('the request body', 'must be a JSON object');
}
