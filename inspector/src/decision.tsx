import type { JSX } from 'preact';
import type { LedgerCandidate, LedgerRecord } from '../../src/contracts/ledger.ts';
import type { ExplainedStep } from '../../src/core/selection/explain.ts';
import type { PlanNow, RequestPage } from '../../src/http/inspector/wire.ts';
import { Meter } from './charts.tsx';
import { exclusion, money, ms, fineCeiling, percent, tagOf, usd, words } from './format.ts';

/** A candidate of a decision, then or now. */
interface Candidate {
  readonly endpoint: string;
  readonly why: string;
  readonly costUsd?: number | undefined;
  /** Of each further request of the session, where that counted. */
  readonly laterUsd?: number | undefined;
  readonly warmth?: number | undefined;
  readonly health?: number | undefined;
  readonly share?: number | undefined;
  /** Why no call was let through. */
  readonly resting?: string | undefined;
}

export function candidatesThen({ candidates }: LedgerRecord): readonly Candidate[] {
  return candidates.map((one) => ({
    endpoint: one.endpoint,
    why: one.why,
    costUsd: one.expected_cost_nano_usd === undefined ? undefined : one.expected_cost_nano_usd / 1e9,
    laterUsd: one.later_cost_nano_usd === undefined ? undefined : one.later_cost_nano_usd / 1e9,
    warmth: one.share === undefined ? undefined : (one.warmth ?? 0),
    health: one.share === undefined ? undefined : (one.health ?? 1),
    share: one.share,
    resting: restingOf(one),
  }));
}

function restingOf({ seen }: LedgerCandidate): string | undefined {
  const admission = seen?.admission;
  if (admission === undefined || admission.ok) return undefined;
  return `${words(admission.cause ?? 'not called')}${admission.wait_ms === undefined ? '' : ` for another ${ms(admission.wait_ms)}`}`;
}

export function candidatesNow({ steps }: PlanNow): readonly Candidate[] {
  return steps.map((step: ExplainedStep) => ({
    endpoint: `${step.tag}#${step.model}`,
    why: step.refuses === undefined ? step.why : `${step.why}, called without ${step.refuses.join(' and ')}`,
    costUsd: step.decision?.expectedCostUsd ?? step.estimatedCostUsd,
    laterUsd: step.decision?.laterCostUsd,
    warmth: step.decision?.warmth,
    health: step.decision?.health,
    share: step.decision?.share,
    resting: step.coolingDown ? 'cooling down' : undefined,
  }));
}

/**
 * All candidates on one axis of expected cost, in the order in which they would be tried, with what else decided.
 *
 * @param answered - Endpoint that answered.
 */
export function Candidates({
  then,
  now,
  answered,
  severalModels,
}: {
  readonly then: readonly Candidate[];
  readonly now?: readonly Candidate[] | undefined;
  readonly answered?: string | undefined;
  readonly severalModels: boolean;
}): JSX.Element {
  const costs = [...then, ...(now ?? [])].flatMap(({ costUsd }) => costUsd ?? []);
  const most = fineCeiling(Math.max(...costs, 1e-9));
  const scored = then.some(({ health }) => health !== undefined);
  const later = new Map((now ?? []).map((one, index) => [one.endpoint, { ...one, place: index + 1 }]));
  return (
    <div class="table-frame">
      <table class="candidates">
        <thead>
          <tr>
            <th class="c-place">order</th>
            <th class="c-endpoint">endpoint</th>
            <th class="c-axis">
              <span class="bar-head">
                <span>$0</span>
                <span class="legend">
                  <i class="dot" /> expected cost then{' '}
                  {now && (
                    <>
                      <i class="dot hollow" /> now
                    </>
                  )}
                </span>
                <span>{usd(most)}</span>
              </span>
            </th>
            <th class="c-num">expected</th>
            {scored && <th class="c-meter">health</th>}
            {scored && <th class="c-meter">prompt cached</th>}
            {scored && <th class="c-num">chance to be first</th>}
            {now && <th class="c-num">order now</th>}
            <th class="c-why">why</th>
          </tr>
        </thead>
        <tbody>
          {then.map((one, index) => {
            const after = later.get(one.endpoint);
            return (
              <tr key={one.endpoint + index} class={one.endpoint === answered ? 'answered' : ''}>
                <td class="c-place">{index + 1}</td>
                <td class="c-endpoint">
                  {severalModels ? one.endpoint.replace('#', ' · ') : tagOf(one.endpoint)}
                  {one.endpoint === answered && <b class="badge good">✓ answered</b>}
                </td>
                <td class="c-axis">
                  <Axis costUsd={one.costUsd} nowUsd={after?.costUsd} most={most} />
                </td>
                <td class="c-num">{usd(one.costUsd)}</td>
                {scored && (
                  <td class="c-meter">
                    {one.health === undefined ? '–' : <Meter share={one.health} text={percent(one.health)} />}
                  </td>
                )}
                {scored && (
                  <td class="c-meter">
                    {one.warmth === undefined ? '–' : <Meter share={one.warmth} text={percent(one.warmth)} />}
                  </td>
                )}
                {scored && <td class="c-num">{percent(one.share)}</td>}
                {now && <td class="c-num">{after === undefined ? 'not any more' : after.place}</td>}
                <td class="c-why">
                  {one.why}
                  {one.resting !== undefined && ` (${one.resting})`}
                  {one.laterUsd !== undefined && `; further requests of the session ${usd(one.laterUsd)} each`}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Axis({
  costUsd,
  nowUsd,
  most,
}: {
  readonly costUsd: number | undefined;
  readonly nowUsd: number | undefined;
  readonly most: number;
}): JSX.Element {
  const at = (value: number): string => `${((value / most) * 100).toFixed(2)}%`;
  if (costUsd === undefined) return <span class="cost-axis unknown">no price is known</span>;
  return (
    <span
      class="cost-axis"
      role="img"
      aria-label={`expected cost ${usd(costUsd)}${nowUsd === undefined ? '' : `, now ${usd(nowUsd)}`}`}
    >
      <i class="stem" style={{ width: at(costUsd) }} />
      {nowUsd !== undefined && <i class="dot hollow" style={{ left: at(nowUsd) }} />}
      <i class="dot" style={{ left: at(costUsd) }} />
    </span>
  );
}

/** The random number that drew the first endpoint, on the band of chances. */
export function Roll({ page: { record, draw } }: { readonly page: RequestPage }): JSX.Element | null {
  const { decision, candidates } = record;
  const shares = new Map(candidates.map(({ endpoint, share = 0 }) => [endpoint, share]));
  const drawn = draw ?? candidates.flatMap(({ endpoint, share = 0 }) => (share > 0 ? endpoint : []));
  // Where an order, own keys or models put groups behind each other, each has chances of its own.
  const total = drawn.reduce((sum, endpoint) => sum + (shares.get(endpoint) ?? 0), 0);
  if (decision === undefined || drawn.length < 2 || total > 1.01) return null;
  const first = candidates[0]?.endpoint;
  return (
    <figure class="roll">
      <figcaption>
        {decision.session_draw === undefined
          ? `Each endpoint has a chance to be first. The random number ${decision.roll.toFixed(4)} drew ${tagOf(first ?? '')}.`
          : 'Each endpoint has a chance to be first. The session decides, so that its requests stay together.'}
      </figcaption>
      <div class="roll-band" aria-hidden="true">
        {drawn.map((endpoint) => {
          const share = shares.get(endpoint) ?? 0;
          return (
            <span key={endpoint} class={endpoint === first ? 'first' : ''} style={{ width: `${share * 100}%` }}>
              {share > 0.08 && `${tagOf(endpoint)} ${percent(share)}`}
            </span>
          );
        })}
        {draw !== undefined && <i class="needle" style={{ left: `${decision.roll * 100}%` }} />}
      </div>
    </figure>
  );
}

/** Endpoints that were left out, with their reasons. */
export function Excluded({
  list,
}: {
  readonly list: readonly {
    readonly endpoint: string;
    readonly reason: string;
    readonly detail?: string | undefined;
  }[];
}): JSX.Element | null {
  if (list.length === 0) return null;
  return (
    <section>
      <h2>Left out ({list.length})</h2>
      <ul class="excluded">
        {list.map(({ endpoint, reason, detail }, index) => (
          <li key={index}>
            <span class="name">{endpoint.replace('#', ' · ')}</span> {exclusion(reason, detail)}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** How the first candidate compares with the next, where both have a price. */
function comparison([first, second]: LedgerRecord['candidates']): string {
  const { expected_cost_nano_usd: one, later_cost_nano_usd: oneLater } = first ?? {};
  const { expected_cost_nano_usd: other, later_cost_nano_usd: otherLater } = second ?? {};
  if (one === undefined || other === undefined || second === undefined) return '';
  const costs = ` It was expected to cost ${money(one)}, the next, ${tagOf(second.endpoint)}, ${money(other)}.`;
  if (oneLater === undefined || otherLater === undefined) return costs;
  return `${costs} Each further request of the session: ${money(oneLater)}, there ${money(otherLater)}.`;
}

/** Who answered: an endpoint, or where none was called, what did instead. */
function answeredBy({ endpoint, cache, plugins = [] }: LedgerRecord): string {
  if (endpoint !== undefined) return tagOf(endpoint);
  if (cache === 'hit') return 'the response cache';
  const plugin = plugins.find(({ outcome }) => outcome === 'answered');
  return plugin === undefined ? 'the router itself' : `the plugin ${plugin.id}`;
}

function spending(nanoUsd: number | undefined): string {
  return nanoUsd === undefined ? 'what was spent is not known' : `${money(nanoUsd)} were spent`;
}

/** What divides the requests of an alias. */
const SPLIT_BY = { session: 'session', account: 'account', endUser: 'end user', request: 'chance' } as const;

/** What happened, in two sentences. */
export function Summary({ record }: { readonly record: LedgerRecord }): JSX.Element {
  const {
    candidates,
    attempts,
    error_type: error,
    status,
    duration_ms: duration,
    cost_nano_usd: spent,
    reason,
  } = record;
  const first = candidates[0];
  const failed = attempts.filter(
    ({ outcome }) => outcome !== 'ok' && outcome !== 'superseded' && outcome !== 'aborted',
  );
  const hedged = attempts.some(({ hedge }) => hedge === true);
  const { applied, refused } = record;
  return (
    <p class="summary">
      {error === undefined ? (
        <>
          <b class="badge good">✓ answered</b> by <b>{answeredBy(record)}</b> in {ms(duration)}{' '}
          {spent === undefined ? 'for an unknown price' : `for ${money(spent)}`}.
        </>
      ) : status === 499 ? (
        <>
          <b class="badge">⊘ disconnected</b> after {ms(duration)}; {spending(spent)}.
        </>
      ) : (
        <>
          <b class="badge bad">
            ✕ {status} {words(error)}
          </b>{' '}
          after {ms(duration)}; {spending(spent)}.
        </>
      )}{' '}
      {reason !== undefined && (
        <>
          <b>{reason}</b>{' '}
        </>
      )}
      {refused === true && 'It was refused before a route was planned, so no provider was called. '}
      {(applied?.splits ?? []).map(({ alias, model, by }) => (
        <>
          The alias <b>{alias}</b> is divided: by {SPLIT_BY[by]} it was resolved to <b>{model}</b>.{' '}
        </>
      ))}
      {(applied?.rules ?? []).length > 0 && (
        <>
          {applied?.rules?.length === 1 ? 'The rule' : 'The rules'} <b>{applied?.rules?.join(', ')}</b> changed it.{' '}
        </>
      )}
      {first !== undefined && (
        <>
          {candidates.length === 1 ? 'One endpoint' : `${candidates.length} endpoints`} could be tried
          {record.excluded.length > 0 &&
            `, ${record.excluded.length} ${record.excluded.length === 1 ? 'was' : 'were'} left out`}
          . <b>{tagOf(first.endpoint)}</b> came first: {first.why}.{comparison(candidates)}
        </>
      )}{' '}
      {failed.length > 0 && `${failed.length === 1 ? 'One attempt' : `${failed.length} attempts`} failed before. `}
      {hedged && 'It was slow, so a second call was made.'}
    </p>
  );
}
