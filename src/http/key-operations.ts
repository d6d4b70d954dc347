import type { KeyChanges, KeyManagement, NewKey } from './stored-api-keys.ts';
import type { Budget } from '../config/tables/spending.ts';
import type { StoredKey } from '../contracts/key-store.ts';
import { type Account, hasScope, type Scope } from '../core/account.ts';
import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import { RouterError } from '../protocol/router-error.ts';
import { invalid } from './body.ts';
import type { HttpCall, HttpHeaders, WholeReply } from './exchange.ts';
import { wholeReply } from './model-reply.ts';
import type { KeyOperation } from './routes.ts';

/** Bytes of a body about a key. */
const MOST_BYTES = 10_000;
const BODY_MS = 10_000;
const DAY_SECONDS = 86_400;

/** Periods of budgets by the words of the hosted service. */
const RESETS: Readonly<Record<string, Budget['period']>> = { daily: 'day', weekly: 'week', monthly: 'month' };

/**
 * Answers the management of stored API keys (gaps 9): a client with the scope `management` manages the keys of its own
 * account. Keys of other accounts are not there for it.
 *
 * @throws {@link RouterError} for everything that is wrong.
 */
export async function answerKeys(
  keys: KeyManagement,
  operation: KeyOperation,
  call: HttpCall,
  account: Account,
  headers: HttpHeaders,
): Promise<WholeReply> {
  switch (operation.name) {
    case 'key_list': {
      const after = new URLSearchParams(call.query).get('after') ?? undefined;
      const found = await keys.list({ account: account.id, after });
      return wholeReply({ data: found.map(cardOf) }, headers);
    }
    case 'key_create': {
      const made = await keys.create(wantedBy(account, await bodyOf(call)));
      return { ...wholeReply({ data: cardOf(made.stored), key: made.key }, headers), status: 201 };
    }
    case 'key_retrieve':
      return wholeReply({ data: cardOf(await own(keys, operation.id, account)) }, headers);
    case 'key_update': {
      const before = await own(keys, operation.id, account);
      const changed = await keys.update(before.hash, changesBy(before.account, account, await bodyOf(call)));
      return wholeReply({ data: cardOf(changed) }, headers);
    }
    case 'key_rotate': {
      const { hash } = await own(keys, operation.id, account);
      const { overlap_seconds: seconds = DAY_SECONDS } = await bodyOf(call);
      if (typeof seconds !== 'number' || !(seconds >= 0)) throw wrong('overlap_seconds', 'must be a number of seconds');
      const made = await keys.rotate(hash, seconds * 1_000);
      return { ...wholeReply({ data: cardOf(made.stored), key: made.key }, headers), status: 201 };
    }
    case 'key_delete': {
      const { hash } = await own(keys, operation.id, account);
      await keys.revoke(hash);
      return wholeReply({ deleted: true }, headers);
    }
  }
}

/** A key of the account. One of another account is as unknown as one that never was. */
async function own(keys: KeyManagement, hash: string, account: Account): Promise<StoredKey> {
  const found = await keys.find(hash);
  if (found === undefined || found.account.id !== account.id) {
    throw new RouterError({ status: 404, errorType: 'not_found', message: 'There is no API key with this hash here' });
  }
  return found;
}

/** What a key of the account may do, at most what the account itself may. */
function wantedBy(account: Account, body: JsonObject): NewKey {
  const { keyId: _, keyBudget: __, scopes: ___, ...shared } = account;
  return { ...named(body), account: { ...shared, ...givenBy(account, body, undefined) } };
}

function changesBy(before: Account, manager: Account, body: JsonObject): KeyChanges {
  const { disabled } = body;
  if (disabled !== undefined && typeof disabled !== 'boolean') throw wrong('disabled', 'must be true or false');
  const given = givenBy(manager, body, before.keyBudget);
  return { ...named(body), ...(disabled === undefined ? {} : { disabled }), account: { ...before, ...given } };
}

function named({ name, expires_at: expires }: JsonObject): Pick<NewKey, 'name' | 'expiresAt'> {
  if (name !== undefined && (typeof name !== 'string' || name.trim() === '' || name.length > 200)) {
    throw wrong('name', 'must be a text of 1 to 200 characters');
  }
  if (expires != null && (typeof expires !== 'string' || Number.isNaN(Date.parse(expires)))) {
    throw wrong('expires_at', 'must be a time such as 2027-01-01T00:00:00Z');
  }
  return { ...(name === undefined ? {} : { name }), ...(expires == null ? {} : { expiresAt: Date.parse(expires) }) };
}

/** Scopes and budget of a key, as far as the body says something about them. */
function givenBy(manager: Account, body: JsonObject, before: Budget | undefined): Partial<Account> {
  const { limit, limit_reset: reset, scopes } = body;
  const given: { -readonly [Name in keyof Account]?: Account[Name] } = {};
  if (scopes !== undefined) given.scopes = scopesOf(manager, scopes);
  if (limit === undefined && reset === undefined) return given;
  if (limit != null && (typeof limit !== 'number' || !(limit >= 0))) throw wrong('limit', 'must be US dollars, or null');
  if (reset != null && (typeof reset !== 'string' || !Object.hasOwn(RESETS, reset))) {
    throw wrong('limit_reset', 'must be daily, weekly, monthly, or null');
  }
  const limitUsd = limit === undefined ? before?.limitUsd : (limit ?? undefined);
  const period = reset === undefined ? before?.period : RESETS[reset ?? ''];
  given.keyBudget = limitUsd === undefined ? undefined : { limitUsd, ...(period && { period }) };
  return given;
}

function scopesOf(manager: Account, scopes: unknown): readonly Scope[] {
  const known = Array.isArray(scopes) ? scopes.filter((one): one is Scope => one === 'inference' || one === 'management') : [];
  if (!Array.isArray(scopes) || known.length !== scopes.length || known.length === 0) {
    throw wrong('scopes', 'must be a list of "inference" and "management"');
  }
  const more = known.find((one) => !hasScope(manager, one));
  if (more !== undefined) throw wrong('scopes', `must not hold "${more}", which this key does not have itself`);
  return known;
}

/** A key as the hosted service shows it. */
function cardOf({ hash, name, label, account, disabled, createdAt, updatedAt, expiresAt }: StoredKey): JsonObject {
  const { limitUsd, period } = account.keyBudget ?? {};
  const reset = Object.entries(RESETS).find(([, one]) => one === period)?.[0];
  return {
    hash,
    name,
    label,
    disabled,
    limit: limitUsd ?? null,
    limit_reset: reset ?? null,
    scopes: [...(account.scopes ?? ['inference'])],
    created_at: new Date(createdAt).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
    expires_at: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
  };
}

async function bodyOf(call: HttpCall): Promise<JsonObject> {
  if (call.body.type === 'parsed') return objectIn(call.body.value ?? {});
  const bytes = await call.body.collect(MOST_BYTES, BODY_MS);
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
