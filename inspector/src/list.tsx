import type { JSX } from 'preact';
import type { RequestList } from '../../src/http/inspector/wire.ts';
import { addressOf, place, setQuery } from './address.ts';
import { useAsked } from './asked.ts';
import { FILTERS, filterOfAddress, Filters, Span } from './filters.tsx';
import { dateTime } from './format.ts';
import { RequestTable } from './live.tsx';
import { Problem } from './problem.tsx';

const NAMES = Object.keys(FILTERS) as (keyof typeof FILTERS)[];

/** Every request that is kept, page by page, the latest first. */
export function Requests(): JSX.Element {
  const { query } = place.value;
  const filter = filterOfAddress();
  const after = query.get('after') ?? '';
  const asked = new URLSearchParams(filter);
  if (after !== '') asked.set('after', after);
  const { answer, problem, again } = useAsked<RequestList>(`requests?${asked}`);
  const page = (cursor: string): string => {
    const next = new URLSearchParams(filter);
    if (cursor !== '') next.set('after', cursor);
    return addressOf('requests', undefined, next);
  };
  const rows = answer?.rows ?? [];
  const [first, last] = [rows[0], rows.at(-1)];
  // A page may end before it is full, where a filter lets hardly anything through.
  const until = answer?.next === undefined ? undefined : Number(answer.next.split('.')[0]);
  return (
    <>
      <h1>Requests</h1>
      <div class="tools">
        <Span />
        <Filters names={NAMES} />
        <button type="button" onClick={again}>
          ↻ Reload
        </button>
        {filter !== '' && (
          <button
            type="button"
            onClick={() => setQuery(Object.fromEntries([...query.keys()].map((name) => [name, ''])))}
          >
            ⊘ No filter
          </button>
        )}
      </div>
      <Problem problem={problem} />
      <p class="notes" role="status">
        {answer === undefined && problem === undefined && 'Looking …'}
        {first !== undefined &&
          last !== undefined &&
          `${rows.length} requests, begun from ${dateTime(last.at)} to ${dateTime(first.at)}.`}
        {answer !== undefined &&
          rows.length === 0 &&
          until === undefined &&
          after !== '' &&
          'There are no earlier ones.'}
        {until !== undefined && rows.length === 0 && `None of them began after ${dateTime(until)}; look further back.`}
      </p>
      {rows.length > 0 && <RequestTable rows={rows} now={0} dated />}
      {answer !== undefined && rows.length === 0 && until === undefined && after === '' && (
        <p class="empty">
          {filter === '' ? (
            <>
              No requests are kept yet. Send one from <a href={addressOf('try')}>Try it</a>.
            </>
          ) : (
            'No request that is kept fits these filters.'
          )}
        </p>
      )}
      <p class="pages">
        {after !== '' && <a href={page('')}>⇤ The latest</a>}
        {answer?.next !== undefined && <a href={page(answer.next)}>Earlier →</a>}
      </p>
    </>
  );
}
