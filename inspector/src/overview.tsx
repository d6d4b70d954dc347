import type { JSX } from 'preact';
import type { EndpointView, Overview as OverviewAnswer, Timeline } from '../../src/http/inspector/wire.ts';
import { addressOf, place, setQuery } from './address.ts';
import { useAsked } from './asked.ts';
import { Hint, TimeChart } from './charts.tsx';
import { CIRCUITS, restOf } from './endpoints.tsx';
import { count, dateTime, ms, percent, sum, tagOf, time, words } from './format.ts';
import { Sum } from './live.tsx';
import { Problem } from './problem.tsx';

const EVERY_MS = 5_000;
const HOUR_MS = 3_600_000;
/** Milliseconds around a warning in which its requests are looked for. */
const AROUND_MS = 120_000;
const SPANS = ['hour', 'day', 'week'] as const;
/** What a bar of a chart stands for. */
const SLOTS = { hour: 'minute', day: '20 minutes', week: '2 hours' } as const;

function requests(filter: Readonly<Record<string, string>>): string {
  return addressOf('requests', undefined, new URLSearchParams(filter));
}

/** What is wrong now, and what led there. */
export function Overview(): JSX.Element {
  const { answer, problem } = useAsked<OverviewAnswer>('overview', EVERY_MS);
  return (
    <>
      <h1>Overview</h1>
      <Problem problem={problem} />
      {answer !== undefined && (
        <>
          <Hour answer={answer} />
          <Circuits answer={answer} />
          <Failures answer={answer} />
          <Warnings answer={answer} />
        </>
      )}
      <Charts />
    </>
  );
}

function Hour({ answer: { hour } }: { readonly answer: OverviewAnswer }): JSX.Element | null {
  if (hour === undefined) return null;
  return (
    <div class="sums">
      <Sum title="requests in the last hour" value={count(hour.requests)} />
      <Sum title="of them failed" value={count(hour.failed)} />
      <Sum title="failing" value={hour.requests === 0 ? '–' : percent(hour.failed / hour.requests)} />
      <Sum title="cost in the last hour" value={sum(hour.cost_nano_usd, hour.unpriced)} />
    </div>
  );
}

/** Endpoints that are out, open circuits first. */
function Circuits({ answer: { circuits, now } }: { readonly answer: OverviewAnswer }): JSX.Element {
  if (circuits.length === 0) {
    return (
      <section>
        <h2>Endpoints that are out</h2>
        <p class="fine">✓ None: every endpoint that was called takes calls.</p>
      </section>
    );
  }
  return (
    <section>
      <h2>Endpoints that are out ({circuits.length})</h2>
      <div class="table-frame">
        <table class="stacked">
          <thead>
            <tr>
              <th>circuit</th>
              <th>endpoint</th>
              <th>model</th>
              <th>why</th>
              <th>its calls</th>
            </tr>
          </thead>
          <tbody>
            {circuits.map((endpoint) => (
              <tr key={endpoint.id} class={isOut(endpoint) ? 'failed' : ''}>
                <td class="c-state">{CIRCUITS[endpoint.circuit]}</td>
                <td>{endpoint.tag}</td>
                <td>{endpoint.model}</td>
                <td>{endpoint.rest === undefined ? 'one call at a time tests it' : restOf(endpoint.rest)}</td>
                <td>
                  <a href={requests({ called: endpoint.id, from: String(now - HOUR_MS) })}>its requests</a>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function isOut({ circuit, rest }: EndpointView): boolean {
  return circuit === 'open' || (rest !== undefined && rest.cause !== 'pace');
}

/** Errors of the last hour, each with a way to its requests. */
function Failures({ answer }: { readonly answer: OverviewAnswer }): JSX.Element {
  const { failures, other_failures: others, now } = answer;
  if (failures === undefined) {
    return (
      <section>
        <h2>Errors of the last hour</h2>
        <Hint>
          The store of the ledger cannot count them.{' '}
          <a href={requests({ error: 'any', from: String(now - HOUR_MS) })}>Requests that failed</a>
        </Hint>
      </section>
    );
  }
  if (failures.length === 0) {
    return (
      <section>
        <h2>Errors of the last hour</h2>
        <p class="fine">✓ No request failed.</p>
      </section>
    );
  }
  return (
    <section>
      <h2>Errors of the last hour</h2>
      <div class="table-frame">
        <table class="stacked">
          <thead>
            <tr>
              <th>error</th>
              <th>endpoint, called last</th>
              <th class="c-num">requests</th>
              <th class="c-num">latest</th>
              <th>which</th>
            </tr>
          </thead>
          <tbody>
            {failures.map(({ endpoint, error_type: error, requests: number, latest }) => (
              <tr key={`${error} ${endpoint}`} class="failed">
                <td class="c-state">✕ {words(error)}</td>
                <td>
                  {endpoint === undefined ? 'none was called' : `${tagOf(endpoint)} · ${endpoint.split('#')[1] ?? ''}`}
                </td>
                <td class="c-num" data-label="requests">
                  {count(number)}
                </td>
                <td class="c-num" data-label="latest">
                  {time(latest).slice(0, 8)}
                </td>
                <td>
                  <a
                    href={requests({
                      error,
                      ...(endpoint === undefined ? {} : { endpoint }),
                      from: String(now - HOUR_MS),
                    })}
                  >
                    its requests
                  </a>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {others > 0 && <Hint>{count(others)} more failed in ways that are not shown.</Hint>}
    </section>
  );
}

function Warnings({ answer: { warnings } }: { readonly answer: OverviewAnswer }): JSX.Element {
  return (
    <section>
      <h2>Last warnings of the router</h2>
      {warnings.length === 0 ? (
        <p class="fine">✓ None since this process began.</p>
      ) : (
        <ul class="warnings">
          {warnings.map(({ at, code, message }, index) => (
            <li key={index}>
              <span class="id">{dateTime(at)}</span> <b class="badge">{words(code)}</b> {message}{' '}
              <a href={requests({ from: String(at - AROUND_MS), to: String(at + AROUND_MS) })}>requests around it</a>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** Requests, errors, cost and time to the first token over time. */
function Charts(): JSX.Element {
  const span = SPANS.find((one) => one === place.value.query.get('span')) ?? 'hour';
  const { answer, problem } = useAsked<Timeline>(`timeline?span=${span}`, 15_000);
  const slots = answer?.slots;
  const every = SLOTS[span];
  return (
    <section>
      <h2>
        Over time
        <span class="choice" role="group" aria-label="span">
          {SPANS.map((one) => (
            <button key={one} type="button" aria-pressed={one === span} onClick={() => setQuery({ span: one })}>
              {one}
            </button>
          ))}
        </span>
      </h2>
      <Problem problem={problem} />
      {answer !== undefined && slots === undefined && (
        <Hint>The store of the ledger has no sums over time, so there are no charts.</Hint>
      )}
      {slots !== undefined && (
        <div class="charts">
          <TimeChart title={`Requests each ${every}`} slots={slots} value={(slot) => slot.requests} text={count} />
          <TimeChart title={`Failed each ${every}`} slots={slots} value={(slot) => slot.failed} text={count} bad />
          <TimeChart
            title={`Cost each ${every}${slots.some(({ unpriced }) => unpriced > 0) ? ', without calls of unknown price' : ''}`}
            slots={slots}
            value={(slot) => slot.cost_nano_usd}
            text={(value) => sum(value, 0)}
          />
          <TimeChart
            title="Mean time to the first token of streams"
            slots={slots}
            value={(slot) => slot.first_token_ms}
            text={ms}
          />
        </div>
      )}
    </section>
  );
}
