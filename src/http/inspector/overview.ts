import type { InspectedRouter } from '../../config/inspector.ts';
import type { Ledger, LedgerSlot } from '../../contracts/ledger.ts';
import { invalid } from '../body.ts';
import { endpointView } from './endpoints.ts';
import type { EndpointView, Overview, Suggestions, Timeline } from './wire.ts';

/** What the first view of the page shows: what is wrong now, and what led there. */

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** Kinds of failures, endpoints and warnings that are shown at most. */
const MOST_FAILURES = 30;
const MOST_CIRCUITS = 30;
const MOST_WARNINGS = 12;
/** Requests that suggestions come from, and values of a filter that are suggested. */
const LOOKED_AT = 1_000;
const MOST_VALUES = 60;

/** Time that a chart covers, and what a point of it stands for. */
const SPANS: Readonly<Record<string, { readonly spanMs: number; readonly slotMs: number }>> = {
  hour: { spanMs: HOUR_MS, slotMs: MINUTE_MS },
  day: { spanMs: 24 * HOUR_MS, slotMs: 20 * MINUTE_MS },
  week: { spanMs: 7 * 24 * HOUR_MS, slotMs: 2 * HOUR_MS },
};

/** Errors of the last hour, endpoints that are out, and the router's last warnings. */
export async function overviewOf(router: InspectedRouter, warnings: readonly KeptWarning[]): Promise<Overview> {
  const now = router.internals.config.environment.wallClock();
  const store = await writtenStore(router);
  const failures = await store?.failures?.({ from: now - HOUR_MS });
  const from = now - HOUR_MS - ((now - HOUR_MS) % MINUTE_MS);
  const slots = await store?.timeline?.({ from, to: now + MINUTE_MS, slotMs: MINUTE_MS });
  const shown = failures?.slice(0, MOST_FAILURES);
  const others = failures?.slice(MOST_FAILURES) ?? [];
  return {
    now,
    circuits: circuitsOf(router),
    failures: shown,
    other_failures: others.reduce((sum, { requests }) => sum + requests, 0),
    hour: slots && sumOf(slots),
    warnings: warnings.slice(-MOST_WARNINGS).toReversed(),
  };
}

/** Requests over time. */
export async function timelineOf(router: InspectedRouter, query: URLSearchParams): Promise<Timeline> {
  const span = SPANS[query.get('span') ?? 'hour'];
  if (span === undefined) throw invalid(`span must be one of ${Object.keys(SPANS).join(', ')}`);
  const { spanMs, slotMs } = span;
  const now = router.internals.config.environment.wallClock();
  const last = now - (now % slotMs);
  const first = last - spanMs + slotMs;
  const store = await writtenStore(router);
  const found = await store?.timeline?.({ from: first, to: last + slotMs, slotMs });
  if (found === undefined) return { slot_ms: slotMs };
  const known = new Map(found.map((slot) => [slot.at, slot]));
  const nothing = { requests: 0, failed: 0, cost_nano_usd: 0, unpriced: 0 };
  const slots = Array.from({ length: spanMs / slotMs }, (_, index) => {
    const at = first + index * slotMs;
    return known.get(at) ?? { at, ...nothing };
  });
  return { slot_ms: slotMs, slots };
}

/** What filters may be set to: values that requests had lately. */
export async function suggestionsOf({ internals }: InspectedRouter): Promise<Suggestions> {
  const { records = [] } = (await internals.services.ledger?.read({ limit: LOOKED_AT, order: 'latest' })) ?? {};
  const values: Readonly<Record<string, Set<string>>> = {
    model: new Set(),
    provider: new Set(),
    endpoint: new Set(),
    account: new Set(),
    error: new Set(['any']),
    session: new Set(),
    tag: new Set(),
  };
  const note = (name: string, value: string | undefined): void => {
    const known = values[name];
    if (value !== undefined && known !== undefined && known.size < MOST_VALUES) known.add(value);
  };
  for (const { model, provider, endpoint, account, error_type: error, session, tags = {} } of records) {
    note('model', model);
    note('provider', provider);
    note('endpoint', endpoint);
    note('account', account);
    note('error', error);
    note('session', session);
    for (const [name, value] of Object.entries(tags)) note('tag', `${name}:${value}`);
  }
  return Object.fromEntries(Object.entries(values).map(([name, found]) => [name, [...found]]));
}

/** The store of the ledger, once what waited is written; undefined where there is none. */
async function writtenStore({ internals }: InspectedRouter): Promise<Ledger | undefined> {
  await internals.services.ledger?.flush();
  return internals.services.ledger === undefined ? undefined : internals.config.ledger?.store;
}

/** Endpoints that calls do not simply go to: open circuits first, then those that rest the longest. */
function circuitsOf(router: InspectedRouter): readonly EndpointView[] {
  const { records, facts } = router.internals.services;
  const found: EndpointView[] = [];
  for (const model of facts.catalog.models.keys()) {
    for (const endpoint of facts.catalog.endpoints(model)) {
      // Catalogs know thousands; most were never called.
      if (records.record(endpoint) === undefined) continue;
      const view = endpointView(router, endpoint, 0);
      if (view.circuit !== 'closed' || view.rest !== undefined) found.push(view);
    }
  }
  const weight = ({ circuit }: EndpointView): number => (circuit === 'open' ? 0 : circuit === 'half_open' ? 1 : 2);
  return found
    .sort((left, right) => weight(left) - weight(right) || (right.rest?.ms ?? 0) - (left.rest?.ms ?? 0))
    .slice(0, MOST_CIRCUITS);
}

function sumOf(slots: readonly LedgerSlot[]): Omit<LedgerSlot, 'at'> {
  const sum = (name: 'requests' | 'failed' | 'cost_nano_usd' | 'unpriced'): number =>
    slots.reduce((total, slot) => total + slot[name], 0);
  return {
    requests: sum('requests'),
    failed: sum('failed'),
    cost_nano_usd: sum('cost_nano_usd'),
    unpriced: sum('unpriced'),
  };
}

/** A warning of the router, and when it came. */
export interface KeptWarning {
  readonly code: string;
  readonly message: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}
