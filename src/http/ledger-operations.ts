/** Answers the operations on the ledger. */
import type { LedgerCostKey, LedgerCostQuery, LedgerQuery } from '../contracts/ledger.ts';
import { type Account, hasScope } from '../contracts/account.ts';
import { CSV_HEAD, csvLine } from '../core/ledger/csv.ts';
import { generationOf } from '../core/ledger/generation.ts';
import { addLines, NOTHING } from '../core/ledger/sum-costs.ts';
import { StorageError } from '../contracts/storage-error.ts';
import { RouterError } from '../protocol/router-error.ts';
import type { Router } from '../router/router.ts';
import { warn } from '../runtime/events/events.ts';
import type { ReadableLedger } from '../runtime/ledger/request-ledger.ts';
import { invalid } from './body.ts';
import type { HttpHeaders, CompleteReply } from '../contracts/exchange.ts';
import { type AdmittedCall, completeReply } from './model-reply.ts';
import type { LedgerOperation } from './routes.ts';

/** What costs may be summed by. */
export const COST_KEYS: readonly LedgerCostKey[] = ['model', 'account', 'tag', 'day', 'provider', 'endpoint'];
/** Forms in which records are given. */
export const LEDGER_FORMATS = ['jsonl', 'csv'] as const;

/** Records on a page where nothing is said, and at most. */
const DEFAULT_LIMIT = 100;
const MOST = 1_000;

/**
 * Answers the operations on the ledger (gaps 10). Operators see the records of all accounts, management keys
 * those of their own.
 *
 * @throws {@link RouterError} 404 where nothing is kept, or for a generation that is not known or is another account's;
 * 400 for a bad query; 503 when the store cannot be read.
 */
export async function answerLedger(
  router: Router,
  operation: LedgerOperation,
  { call, account, context: { headers } }: AdmittedCall,
): Promise<CompleteReply> {
  const { ledger } = router;
  if (ledger === undefined) throw notFound('This router keeps no ledger. Pass ledger: true to createRouter.');
  const query = new URLSearchParams(call.query);
  // What is told here changes with every request, and belongs to nobody's cache.
  const own = { ...headers, 'cache-control': 'no-store' };
  try {
    switch (operation.name) {
      case 'generation':
        return completeReply({ data: await generation(router, ledger, query, account) }, own);
      case 'ledger':
        return await page(
          ledger,
          withinAccount(ledgerQuery(query), account),
          own,
          word(query, 'format', LEDGER_FORMATS),
        );
      case 'ledger_costs': {
        const requested = withinAccount(costQuery(query), account);
        const data = await ledger.costs(requested);
        const [total = { key: 'total', ...NOTHING }] = addLines(data.map((line) => ({ ...line, key: 'total' })));
        return completeReply({ object: 'list', data, total }, own);
      }
    }
  } catch (error) {
    throw StorageError.isInstance(error) ? unavailable(router, error) : error;
  }
}

async function generation(
  { internals }: Router,
  ledger: ReadableLedger,
  query: URLSearchParams,
  account: Account,
): Promise<object> {
  const id = query.get('id');
  if (id === null || id === '') throw invalid('id is required: the id of a generation, which begins with gen-');
  const record = await ledger.one(id);
  // Somebody else's is answered as one that does not exist, so that nobody learns which ids do.
  if (record === undefined || (record.account !== account.id && !hasScope(account, 'operator'))) {
    throw notFound('There is no generation with this id, or it is not kept any more.');
  }
  const { providers } = internals.services.facts.catalog;
  return generationOf(record, (slug) => providers.get(slug)?.name ?? slug);
}

/** A query within what an account may see. */
function withinAccount<Query extends { readonly account?: string | undefined }>(query: Query, account: Account): Query {
  if (hasScope(account, 'operator')) return query;
  if (query.account === undefined || query.account === account.id) return { ...query, account: account.id };
  const message = 'Only operator keys may see other accounts; leave out account to see your own';
  throw new RouterError({ status: 403, errorType: 'permission_denied', message });
}

async function page(
  ledger: ReadableLedger,
  query: LedgerQuery,
  headers: HttpHeaders,
  format: (typeof LEDGER_FORMATS)[number] = 'jsonl',
): Promise<CompleteReply> {
  const { records, next } = await ledger.read(query);
  const isCsv = format === 'csv';
  const lines = isCsv ? [CSV_HEAD, ...records.map(csvLine)] : records.map((record) => JSON.stringify(record));
  const end = isCsv ? '\r\n' : '\n';
  return {
    type: 'whole',
    status: 200,
    headers: {
      ...headers,
      'content-type': isCsv ? 'text/csv; charset=utf-8; header=present' : 'application/jsonl; charset=utf-8',
      ...(next === undefined ? {} : { 'x-next-cursor': next }),
    },
    body: lines.map((line) => `${line}${end}`).join(''),
  };
}

function ledgerQuery(query: URLSearchParams): LedgerQuery {
  const limit = integer(query, 'limit') ?? DEFAULT_LIMIT;
  if (limit < 1 || limit > MOST) throw invalid(`limit must be from 1 to ${MOST}`);
  const after = query.get('after') ?? undefined;
  if (after !== undefined && !/^\d{1,18}(?:\.\d{1,18})?$/.test(after))
    throw invalid('after must be the X-Next-Cursor of another page');
  const text = (name: string): string | undefined => query.get(name) ?? undefined;
  return {
    after,
    limit,
    order: word(query, 'order', ['oldest', 'latest']),
    account: text('account'),
    model: text('model'),
    provider: text('provider'),
    endpoint: text('endpoint'),
    error: text('error'),
    tag: tag(text('tag')),
    called: text('called'),
    session: text('session'),
    batch: truth(query, 'batch'),
    stream: truth(query, 'stream'),
    longerThanMs: integer(query, 'longer_than_ms'),
    ...span(query),
  };
}

function costQuery(query: URLSearchParams): LedgerCostQuery {
  const by = word(query, 'by', COST_KEYS);
  if (by === undefined) throw invalid(`by is required: one of ${COST_KEYS.join(', ')}`);
  const name = query.get('tag') ?? undefined;
  if (by === 'tag' && name === undefined) throw invalid('tag is required with by=tag: the name of a tag');
  return { by, tag: by === 'tag' ? name : undefined, account: query.get('account') ?? undefined, ...span(query) };
}

function span(query: URLSearchParams): { readonly from?: number | undefined; readonly to?: number | undefined } {
  return { from: integer(query, 'from'), to: integer(query, 'to') };
}

function tag(text: string | undefined): readonly [string, string] | undefined {
  if (text === undefined) return undefined;
  const at = text.indexOf(':');
  if (at < 1) throw invalid('tag must be the name and the value of a tag, as in team:search');
  return [text.slice(0, at), text.slice(at + 1)];
}

function truth(query: URLSearchParams, name: string): boolean | undefined {
  const found = word(query, name, ['true', 'false']);
  return found === undefined ? undefined : found === 'true';
}

function word<Word extends string>(query: URLSearchParams, name: string, words: readonly Word[]): Word | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const found = words.find((one) => one === text);
  if (found === undefined) throw invalid(`${name} must be one of ${words.join(', ')}`);
  return found;
}

function integer(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw invalid(
    `${name} must be an integer${name === 'limit' ? '' : name === 'longer_than_ms' ? ' of milliseconds' : ': milliseconds since 1970'}`,
  );
}

function notFound(message: string): RouterError {
  return new RouterError({ status: 404, errorType: 'not_found', message });
}

function unavailable({ internals }: Router, error: StorageError): RouterError {
  warn(internals.services.events, { code: 'ledger', message: `The ledger cannot be read: ${error.message}` });
  const message = 'The ledger cannot be read right now';
  return new RouterError({ status: 503, errorType: 'server', message, retryAfterMs: 1_000 });
}
