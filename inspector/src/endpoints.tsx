import type { JSX } from 'preact';
import type { EndpointRows, EndpointView, PlanNow } from '../../src/http/inspector/wire.ts';
import { addressOf, place, setQuery } from './address.ts';
import { useAsked } from './asked.ts';
import { Hint, Meter, Sparkline } from './charts.tsx';
import { Candidates, candidatesNow, Excluded } from './decision.tsx';
import { count, dateTime, ms, percent, words } from './format.ts';
import { Problem } from './problem.tsx';

const EVERY_MS = 2_000;
/** Values that make a line; of fewer, only the numbers are shown. */
const LEAST_VALUES = 4;

/** How every endpoint stands. */
export function Endpoints(): JSX.Element {
  const { query } = place.value;
  const search = query.get('q') ?? '';
  const chosen = query.get('plan') ?? '';
  const { answer, problem } = useAsked<EndpointRows>(`endpoints?q=${encodeURIComponent(search)}`, EVERY_MS);
  return (
    <>
      <h1>Endpoints</h1>
      <div class="tools">
        <label>
          model or provider
          <input
            id="search"
            value={search}
            placeholder="part of a name"
            spellcheck={false}
            onChange={(event) => setQuery({ q: event.currentTarget.value.trim() })}
          />
        </label>
      </div>
      <Hint>
        Numbers are of this process. Sparklines show the last half hour; percentiles the last five minutes.
        {answer !== undefined &&
          ` Configuration ${answer.configuration.version} is in force since ${dateTime(answer.configuration.since)}.`}
      </Hint>
      <Problem problem={problem} />
      {answer?.models.map(({ model, calls, endpoints }) => (
        <section key={model}>
          <h2>
            {model} <span class="served">{count(calls)} answered in 30 min</span>
            <button
              type="button"
              aria-expanded={chosen === model}
              onClick={() => setQuery({ plan: chosen === model ? '' : model })}
            >
              {chosen === model ? '▾ Hide the plan' : '▸ Plan right now'}
            </button>
          </h2>
          {chosen === model && <Plan model={model} />}
          <Table endpoints={endpoints} />
        </section>
      ))}
      {answer?.models.length === 0 && <p class="empty">No model or provider has this in its name.</p>}
      {(answer?.left_out ?? 0) > 0 && (
        <Hint>{answer?.left_out} more models are not shown; search for them by name.</Hint>
      )}
    </>
  );
}

/** The plan that a plain request would get now. */
function Plan({ model }: { readonly model: string }): JSX.Element {
  const { answer, problem } = useAsked<PlanNow>(`plan?model=${encodeURIComponent(model)}`, EVERY_MS);
  return (
    <div class="plan">
      <Hint>What a plain request (“Hello”, no preferences) would do at this moment. No provider is called.</Hint>
      <Problem problem={problem} />
      {answer !== undefined && (
        <>
          <Candidates then={candidatesNow(answer)} severalModels={false} />
          <Excluded
            list={answer.rejected.map(({ tag, model: of, reason, detail }) => ({
              endpoint: `${tag}#${of}`,
              reason,
              detail,
            }))}
          />
        </>
      )}
    </div>
  );
}

/** How a circuit stands, with a sign that needs no colour. */
export const CIRCUITS = {
  closed: '● closed',
  half_open: '◐ half open',
  open: '○ open',
} as const;

/** Whether calls go to it. */
function stateOf({ circuit, rest }: EndpointView): 'good' | '' | 'bad' {
  if (rest === undefined && circuit === 'closed') return 'good';
  return circuit === 'closed' && rest?.cause === 'pace' ? '' : 'bad';
}

function Table({ endpoints }: { readonly endpoints: readonly EndpointView[] }): JSX.Element {
  return (
    <div class="table-frame">
      <table class="endpoints">
        <thead>
          <tr>
            <th class="c-endpoint">endpoint</th>
            <th class="c-state">circuit</th>
            <th class="c-meter">health</th>
            <th class="c-meter">share of the model</th>
            <th class="c-speed">first token</th>
            <th class="c-speed">tokens a second</th>
            <th class="c-meter">rate free</th>
            <th class="c-num">uptime, 30 min</th>
            <th class="c-num">price per million</th>
          </tr>
        </thead>
        <tbody>
          {endpoints.map((endpoint) => (
            <Line key={endpoint.id} endpoint={endpoint} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Line({ endpoint }: { readonly endpoint: EndpointView }): JSX.Element {
  const { id, tag, circuit, rest, health, latency, throughput, slices, price, share, calls, uptime } = endpoint;
  const { headroom, rate, limits, slowness, refuses } = endpoint;
  return (
    <tr class={stateOf(endpoint) === 'bad' ? 'failed' : ''}>
      <td class="c-endpoint">
        <a href={addressOf('requests', undefined, new URLSearchParams({ called: id }))}>{tag}</a>
        {refuses.length > 0 && <span class="rest">called without {refuses.join('; ')}</span>}
      </td>
      <td class="c-state">
        {CIRCUITS[circuit]}
        <span class="rest">{rest === undefined ? '' : restOf(rest)}</span>
      </td>
      <td class="c-meter">
        <Meter share={health} text={percent(health)} />
        {slowness > 1.5 && <span class="rest">{slowness.toFixed(1)} times as slow as usual</span>}
      </td>
      <td class="c-meter">
        {share === undefined ? '–' : <Meter share={share} text={`${percent(share)} · ${count(calls)}`} />}
      </td>
      <td class="c-speed">
        {latency === undefined ? '–' : `${ms(latency.p50)} · p90 ${ms(latency.p90)}`}
        <History
          values={slices.map((one) => one.latency)}
          label="Median time to the first token in the last half hour"
        />
      </td>
      <td class="c-speed">
        {throughput === undefined ? '–' : `${count(throughput.p50)} · p90 ${count(throughput.p90)}`}
        <History values={slices.map((one) => one.throughput)} label="Median tokens a second in the last half hour" />
      </td>
      <td class="c-meter">
        <Meter share={headroom} text={percent(headroom)} />
        <span class="rest">
          {rate !== undefined && `takes ${rate.toFixed(1)} a second`}
          {limitsOf(limits)}
        </span>
      </td>
      <td class="c-num">{percent(uptime)}</td>
      <td class="c-num">
        {price === undefined
          ? 'unknown'
          : `$${price.prompt} in · $${price.completion} out${price.cacheRead === undefined ? '' : ` · $${price.cacheRead} cached`}`}
      </td>
    </tr>
  );
}

/** A sparkline, once there are enough values for a line. */
function History(line: {
  readonly values: readonly (number | undefined)[];
  readonly label: string;
}): JSX.Element | null {
  return line.values.filter((value) => value !== undefined).length < LEAST_VALUES ? null : <Sparkline {...line} />;
}

/** Why no call goes to an endpoint, and for how long. */
export function restOf({ ms: left, cause, asked }: NonNullable<EndpointView['rest']>): string {
  if (cause === 'pace') return `its rate limit is reached; available again in ${ms(left)}`;
  const why = cause === 'breaker' ? 'too many calls failed' : words(cause);
  return `no calls for ${ms(left)}: ${why}${asked ? ', as it requested' : ''}`;
}

function limitsOf({ rpm, tpm, concurrency }: EndpointView['limits']): string {
  const told = [
    rpm === undefined ? '' : `${count(rpm)} requests a minute`,
    tpm === undefined ? '' : `${count(tpm)} tokens a minute`,
    concurrency === undefined ? '' : `${concurrency} at a time`,
  ].filter((text) => text !== '');
  return told.length === 0 ? '' : ` limit: ${told.join(', ')}`;
}
