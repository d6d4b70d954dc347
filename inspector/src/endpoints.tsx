import type { JSX } from 'preact';
import type { EndpointList, EndpointView, PlanNow } from '../../src/inspector/wire.ts';
import { place, setQuery } from './address.ts';
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
  const { answer, problem } = useAsked<EndpointList>(`endpoints?q=${encodeURIComponent(search)}`, EVERY_MS);
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
          <ul class="cards">
            {endpoints.map((endpoint) => (
              <Card key={endpoint.id} endpoint={endpoint} />
            ))}
          </ul>
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
      <Hint>What a plain request (“Hello”, no preferences) would do at this moment. Nobody is called.</Hint>
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

const CIRCUITS = {
  closed: '● circuit closed',
  half_open: '◐ circuit half open',
  open: '○ circuit open',
} as const;

function Card({ endpoint }: { readonly endpoint: EndpointView }): JSX.Element {
  const {
    tag,
    circuit,
    rest,
    health,
    latency,
    throughput,
    slices,
    price,
    share,
    calls,
    uptime,
    headroom,
    rate,
    limits,
    slowness,
  } = endpoint;
  const state =
    rest === undefined && circuit === 'closed' ? 'good' : circuit === 'closed' && rest?.cause === 'pace' ? '' : 'bad';
  return (
    <li class={`card ${state}`}>
      <h3>
        {tag} <span class="badge">{CIRCUITS[circuit]}</span>
      </h3>
      <p class="rest" role={rest === undefined ? undefined : 'status'}>
        {rest === undefined ? 'takes requests' : restOf(rest)}
      </p>
      <dl>
        <div>
          <dt>health</dt>
          <dd>
            <Meter share={health} text={percent(health)} />
            {slowness > 1.5 && ` ${slowness.toFixed(1)} times as slow as usual`}
          </dd>
        </div>
        <div>
          <dt>share of the model</dt>
          <dd>{share === undefined ? '–' : <Meter share={share} text={`${percent(share)} · ${count(calls)}`} />}</dd>
        </div>
        <div>
          <dt>first token</dt>
          <dd class="with-chart">
            <span>
              {latency === undefined
                ? 'not measured'
                : `${ms(latency.p50)} · p90 ${ms(latency.p90)} · p99 ${ms(latency.p99)}`}
            </span>
            <History
              values={slices.map((one) => one.latency)}
              label="Median time to the first token in the last half hour"
            />
          </dd>
        </div>
        <div>
          <dt>tokens a second</dt>
          <dd class="with-chart">
            <span>
              {throughput === undefined ? 'not measured' : `${count(throughput.p50)} · p90 ${count(throughput.p90)}`}
            </span>
            <History
              values={slices.map((one) => one.throughput)}
              label="Median tokens a second in the last half hour"
            />
          </dd>
        </div>
        <div>
          <dt>rate free</dt>
          <dd>
            <Meter share={headroom} text={percent(headroom)} />
            {rate !== undefined && ` takes ${rate.toFixed(1)} a second`}
            {limitsOf(limits)}
          </dd>
        </div>
        <div>
          <dt>uptime</dt>
          <dd>{uptime === undefined ? '–' : `${percent(uptime)} in 30 min`}</dd>
        </div>
        <div>
          <dt>price per million</dt>
          <dd>
            {price === undefined
              ? 'not known'
              : `$${price.prompt} in · $${price.completion} out${price.cacheRead === undefined ? '' : ` · $${price.cacheRead} cached`}`}
          </dd>
        </div>
      </dl>
    </li>
  );
}

/** A sparkline, once there are enough values for a line. */
function History(line: {
  readonly values: readonly (number | undefined)[];
  readonly label: string;
}): JSX.Element | null {
  return line.values.filter((value) => value !== undefined).length < LEAST_VALUES ? null : <Sparkline {...line} />;
}

function restOf({ ms: left, cause, asked }: NonNullable<EndpointView['rest']>): string {
  if (cause === 'pace') return `its rate is used up; free again in ${ms(left)}`;
  const why = cause === 'breaker' ? 'too many calls failed' : words(cause);
  return `left alone for ${ms(left)} more: ${why}${asked ? ', as it asked for' : ''}`;
}

function limitsOf({ rpm, tpm, concurrency }: EndpointView['limits']): string {
  const told = [
    rpm === undefined ? '' : `${count(rpm)} requests a minute`,
    tpm === undefined ? '' : `${count(tpm)} tokens a minute`,
    concurrency === undefined ? '' : `${concurrency} at a time`,
  ].filter((text) => text !== '');
  return told.length === 0 ? '' : ` limit: ${told.join(', ')}`;
}
