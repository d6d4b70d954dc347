/** The rows of requests under way, and the filters for them. */
import type { LedgerFilter } from '../../contracts/ledger.ts';
import type { LiveRow } from './wire.ts';

/** Members of a request's metadata that the option `ledger.tags` names: the others may be private. */
export function shownTags(
  names: readonly string[],
  metadata: Readonly<Record<string, string>> | undefined,
): LiveRow['tags'] {
  const tags = names.flatMap((name) => {
    const value = metadata !== undefined && Object.hasOwn(metadata, name) ? metadata[name] : undefined;
    return value === undefined ? [] : [[name, value] as const];
  });
  return tags.length === 0 ? undefined : Object.fromEntries(tags);
}

/** Which requests a page wants to see. */
export type RowFilter = (row: LiveRow) => boolean;

/** The filter in the query of an address. What is left out or empty lets everything through. */
export function filterOf(query: URLSearchParams): LedgerFilter {
  const tag = query.get('tag') ?? '';
  const colon = tag.indexOf(':');
  const yes = (name: string): boolean | undefined => (query.get(name) ? query.get(name) === 'true' : undefined);
  const number = (name: string): number | undefined => {
    const value = Number(query.get(name) || Number.NaN);
    return Number.isFinite(value) && value >= 0 ? value : undefined;
  };
  return {
    model: query.get('model') || undefined,
    provider: query.get('provider') || undefined,
    account: query.get('account') || undefined,
    error: query.get('error') || undefined,
    endpoint: query.get('endpoint') || undefined,
    called: query.get('called') || undefined,
    session: query.get('session') || undefined,
    batch: yes('batch'),
    stream: yes('stream'),
    longerThanMs: number('longer'),
    from: number('from'),
    to: number('to'),
    tag: colon > 0 ? [tag.slice(0, colon), tag.slice(colon + 1)] : undefined,
  };
}

/** The same filter for requests that are not in the ledger yet; undefined where it lets everything through. */
export function rowFilter(filter: LedgerFilter): RowFilter | undefined {
  const { model, provider, account, error, tag, endpoint, called, session, batch, stream, longerThanMs = 0 } = filter;
  if (Object.values(filter).every((value) => value === undefined)) return undefined;
  return (row) =>
    (model === undefined || row.model === model || row.requested === model) &&
    (provider === undefined || row.provider === provider) &&
    (account === undefined || row.account === account) &&
    (endpoint === undefined || row.attempts.at(-1)?.endpoint === endpoint) &&
    (called === undefined || row.attempts.some((attempt) => attempt?.endpoint === called)) &&
    (batch === undefined || row.id.startsWith('gen-batch-') === batch) &&
    (stream === undefined || row.stream === stream) &&
    (row.duration_ms ?? longerThanMs) >= longerThanMs &&
    // Sessions are hashed when records are written: what is under way has none that could be compared.
    session === undefined &&
    (error === undefined || (error === 'any' ? row.error_type !== undefined : row.error_type === error)) &&
    (tag === undefined || row.tags?.[tag[0]] === tag[1]);
}
