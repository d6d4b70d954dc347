/** Sums records by endpoint, by time and by failure. */
import type {
  LedgerCost,
  LedgerCostKey,
  LedgerCostQuery,
  LedgerFailure,
  LedgerFilter,
  LedgerRecord,
  LedgerSlot,
  LedgerTimelineQuery,
} from '../../contracts/ledger.ts';
import { dayOf } from './civil-time.ts';

/** Key of what plugins and tools paid for services, where sums are by model, provider or endpoint. */
const SERVICES = 'services';

type Counts = { -readonly [Name in keyof Omit<LedgerCost, 'key'>]: number };

/**
 * What a record adds to sums by endpoint: a line for each endpoint that was called, and one for services. The answer
 * counts as a request of the endpoint that gave it, a failure as one of the endpoint that was called last; where nobody
 * was, it counts under the empty key.
 */
export function linesByEndpoint(record: LedgerRecord): readonly LedgerCost[] {
  const lines = new Map<string, Counts>();
  const line = (key: string): Counts => {
    const known = lines.get(key) ?? { ...NOTHING };
    lines.set(key, known);
    return known;
  };
  for (const { endpoint, usage, cost_nano_usd: cost = 0, unpriced } of record.attempts) {
    const counts = line(endpoint);
    counts.attempts += 1;
    if (unpriced === true) counts.unpriced += 1;
    counts.prompt_tokens += usage?.prompt_tokens ?? 0;
    counts.completion_tokens += usage?.completion_tokens ?? 0;
    counts.cached_tokens += usage?.cached_tokens ?? 0;
    counts.cost_nano_usd += cost;
  }
  const end = line(record.endpoint ?? '');
  end.requests += 1;
  if (record.error_type !== undefined) end.failed += 1;
  const services = costOfServices(record);
  if (services !== 0) line(SERVICES).cost_nano_usd += services;
  return [...lines].map(([key, counts]) => ({ key, ...counts }));
}

/** What plugins and tools paid: what is charged beyond the attempts, or where that is unknown, what they say themselves. */
function costOfServices({ cost_nano_usd: total, attempts, plugins = [], tools = [] }: LedgerRecord): number {
  return total === undefined ? costsOf(plugins) + costsOf(tools) : total - costsOf(attempts);
}

function costsOf(parts: readonly { readonly cost_nano_usd?: number | undefined }[]): number {
  return parts.reduce((sum, { cost_nano_usd: cost = 0 }) => sum + cost, 0);
}

/** What is known of the cost of a request, in nano-dollars: all of it unless an attempt is `unpriced`. */
export function knownCost(record: LedgerRecord): number {
  return record.cost_nano_usd ?? costsOf(record.attempts) + costOfServices(record);
}

/** What nothing adds. */
export const NOTHING: Readonly<Counts> = {
  requests: 0,
  failed: 0,
  attempts: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  cached_tokens: 0,
  cost_nano_usd: 0,
  unpriced: 0,
};

/** Costs of records by one of their properties. */
export function sumCosts(records: Iterable<LedgerRecord>, query: LedgerCostQuery): readonly LedgerCost[] {
  const lines: LedgerCost[] = [];
  const { by, account, from, to } = query;
  for (const record of records) {
    if (!matchesFilter(record, { account, from, to })) continue;
    for (const line of linesByEndpoint(record)) lines.push({ ...line, key: keyOfLine(line.key, record, query) });
  }
  return sortedCosts(addLines(lines), by);
}

function keyOfLine(endpoint: string, record: LedgerRecord, { by, tag = '' }: LedgerCostQuery): string {
  switch (by) {
    case 'account':
      return record.account;
    case 'tag':
      return tagOf(record, tag) ?? '';
    case 'day':
      return dayOf(record.at);
    case 'endpoint':
    case 'model':
    case 'provider':
      return partOfEndpoint(endpoint, by, record.account);
  }
}

/**
 * Endpoint, model or provider of an endpoint's id.
 *
 * @param account - Whose request it was: the endpoints of its own keys end in its name.
 */
export function partOfEndpoint(endpoint: string, part: 'endpoint' | 'model' | 'provider', account: string): string {
  const at = endpoint.indexOf('#');
  if (part === 'endpoint' || at < 0) return endpoint;
  const [provider = ''] = endpoint.slice(0, at).split('/');
  if (part === 'provider') return provider;
  const own = `@${account}`;
  const model = endpoint.slice(at + 1, endpoint.endsWith(own) ? -own.length : undefined);
  // A second endpoint of the same name is numbered.
  return model.replace(/#\d+$/, '');
}

/** Lines of the same key as one. */
export function addLines(lines: Iterable<LedgerCost>): readonly LedgerCost[] {
  const sums = new Map<string, Counts>();
  for (const { key, ...line } of lines) {
    const sum = sums.get(key);
    if (sum === undefined) sums.set(key, { ...line });
    else for (const name of NAMES) sum[name] += line[name];
  }
  return [...sums].map(([key, counts]) => ({ key, ...counts }));
}

const NAMES = Object.keys(NOTHING) as readonly (keyof Counts)[];

/**
 * The most expensive first, days in order; equal ones by their keys, so that the same records always give the same
 * list.
 */
export function sortedCosts(costs: readonly LedgerCost[], by: LedgerCostKey): readonly LedgerCost[] {
  const byKey = (left: LedgerCost, right: LedgerCost): number =>
    left.key < right.key ? -1 : Number(left.key > right.key);
  return [...costs].sort((left, right) =>
    by === 'day' ? byKey(left, right) : right.cost_nano_usd - left.cost_nano_usd || byKey(left, right),
  );
}

/** Whether a record is among those that are requested. */
export function matchesFilter(record: LedgerRecord, filter: LedgerFilter): boolean {
  const { account, model, provider, endpoint, error, tag, session, from = -Infinity, to = Infinity } = filter;
  const { batch, stream, longerThanMs = 0, called } = filter;
  return (
    (account === undefined || record.account === account) &&
    (model === undefined || record.model === model) &&
    (provider === undefined || record.provider === provider) &&
    (endpoint === undefined || record.endpoint === endpoint) &&
    (error === undefined || (error === 'any' ? record.error_type !== undefined : record.error_type === error)) &&
    (tag === undefined || tagOf(record, tag[0]) === tag[1]) &&
    (called === undefined || record.attempts.some((attempt) => attempt.endpoint === called)) &&
    (session === undefined || record.session === session) &&
    (batch === undefined || (record.batch ?? false) === batch) &&
    (stream === undefined || record.stream === stream) &&
    record.duration_ms >= longerThanMs &&
    record.at >= from &&
    record.at < to
  );
}

/** A tag's value; undefined where the record has none of this name. */
function tagOf({ tags }: Pick<LedgerRecord, 'tags'>, name: string): string | undefined {
  return tags !== undefined && Object.hasOwn(tags, name) ? tags[name] : undefined;
}

/** What records of a time came to, slot by slot. */
export function sumSlots(
  records: Iterable<LedgerRecord>,
  { from, to, slotMs }: LedgerTimelineQuery,
): readonly LedgerSlot[] {
  type Slot = { -readonly [Name in keyof LedgerSlot]: LedgerSlot[Name] } & { streams: number; waitedMs: number };
  const slots = new Map<number, Slot>();
  for (const record of records) {
    if (!matchesFilter(record, { from, to })) continue;
    const at = record.at - (record.at % slotMs);
    const slot = slots.get(at) ?? {
      at,
      requests: 0,
      failed: 0,
      cost_nano_usd: 0,
      unpriced: 0,
      streams: 0,
      waitedMs: 0,
    };
    slots.set(at, slot);
    slot.requests += 1;
    if (record.error_type !== undefined) slot.failed += 1;
    slot.cost_nano_usd += knownCost(record);
    slot.unpriced += record.attempts.filter(({ unpriced }) => unpriced === true).length;
    const waited = firstTokenOf(record);
    if (waited === undefined) continue;
    slot.streams += 1;
    slot.waitedMs += waited;
  }
  return [...slots.values()]
    .sort((left, right) => left.at - right.at)
    .map(({ streams, waitedMs, ...slot }) => (streams === 0 ? slot : { ...slot, first_token_ms: waitedMs / streams }));
}

/** Milliseconds to the first token of a stream; undefined for other requests. */
export function firstTokenOf({ stream, first_token_ms: ms }: LedgerRecord): number | undefined {
  return stream ? ms : undefined;
}

/** How requests failed since a time, by endpoint and type. */
export function sumFailures(records: Iterable<LedgerRecord>, from: number): readonly LedgerFailure[] {
  const found = new Map<string, { -readonly [Name in keyof LedgerFailure]: LedgerFailure[Name] }>();
  for (const { at, endpoint, error_type } of records) {
    if (error_type === undefined || at < from) continue;
    const key = `${error_type} ${endpoint ?? ''}`;
    const known = found.get(key);
    if (known === undefined) found.set(key, { endpoint, error_type, requests: 1, latest: at });
    else {
      known.requests += 1;
      known.latest = Math.max(known.latest, at);
    }
  }
  return failuresInOrder([...found.values()]);
}

/** The most frequent first; equal ones by their names. */
export function failuresInOrder(failures: readonly LedgerFailure[]): readonly LedgerFailure[] {
  const name = ({ endpoint = '', error_type: type }: LedgerFailure): string => `${type} ${endpoint}`;
  return [...failures].sort(
    (left, right) =>
      right.requests - left.requests || (name(left) < name(right) ? -1 : Number(name(left) > name(right))),
  );
}
