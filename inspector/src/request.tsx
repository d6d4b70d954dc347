import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { LedgerRecord } from '../../src/contracts/ledger.ts';
import type { ContentView, InspectorFacts, RequestPage } from '../../src/http/inspector/wire.ts';
import { addressOf, place } from './address.ts';
import { ApiError, ask, session } from './api.ts';
import { useAsked } from './asked.ts';
import { Hint } from './charts.tsx';
import { Candidates, candidatesNow, candidatesThen, Excluded, Roll, Summary } from './decision.tsx';
import { cost, count, dateTime, exclusion, ms, tagOf, words } from './format.ts';
import { Problem } from './problem.tsx';
import { Waterfall } from './waterfall.tsx';

/** Milliseconds for which a request that is not known yet is asked for again: it may still run. */
const PATIENCE_MS = 60_000;

/** What is known of one request; asked for again while it is not there yet. */
export function useRequest(id: string | undefined): {
  readonly page: RequestPage | undefined;
  readonly problem: string | undefined;
  readonly again: () => void;
} {
  const [page, setPage] = useState<RequestPage>();
  const [problem, setProblem] = useState<string>();
  const [round, setRound] = useState(0);
  const { value: signIns } = session;
  useEffect(() => {
    let over = false;
    setProblem(undefined);
    if (page?.record.id !== id) setPage(undefined);
    const since = Date.now();
    const turn = async (): Promise<void> => {
      try {
        const found = await ask<RequestPage>(`requests/${encodeURIComponent(id ?? '')}`);
        if (!over) setPage(found);
        if (!over) setProblem(undefined);
      } catch (error) {
        if (over) return;
        setProblem(error instanceof Error ? error.message : 'The router did not answer');
        const waits = error instanceof ApiError && error.status === 404 && Date.now() - since < PATIENCE_MS;
        if (waits) setTimeout(() => !over && void turn(), 400);
      }
    };
    if (id !== undefined && id !== '') void turn();
    return () => {
      over = true;
    };
  }, [id, round, signIns]);
  return { page, problem, again: () => setRound((one) => one + 1) };
}

/** One request: what was decided, what became of it, what it cost. */
export function OneRequest(): JSX.Element {
  const { id } = place.value;
  const { page, problem, again } = useRequest(id);
  if (page === undefined) {
    return (
      <>
        <h1>Request {id}</h1>
        <p class="empty" role="status">
          {problem === undefined
            ? 'Loading …'
            : `${problem}. If it is still running, it appears here when it has ended.`}
        </p>
      </>
    );
  }
  const { record } = page;
  return (
    <>
      <p class="back">
        <a href={addressOf('requests')}>← Requests</a>
      </p>
      <h1>
        {record.requested} <span class="id">{record.id}</span>
      </h1>
      <Summary record={record} />
      <Decision page={page} again={again} />
      <section>
        <h2>What happened, and when</h2>
        <Waterfall record={record} />
      </section>
      <Errors record={record} />
      <Cost page={page} />
      <Copies page={page} />
      {record.status === 200 && record.format !== 'embeddings' && <Content id={record.id} />}
      <Facts record={record} />
    </>
  );
}

/** What candidates made of the same request. */
function Copies({ page: { copies = [] } }: { readonly page: RequestPage }): JSX.Element | null {
  if (copies.length === 0) return null;
  return (
    <section>
      <h2>Copies for a candidate</h2>
      <div class="table-frame">
        <table>
          <thead>
            <tr>
              <th>request</th>
              <th>model</th>
              <th>status</th>
              <th class="c-num">total</th>
              <th class="c-num">tokens</th>
              <th class="c-num">cost</th>
            </tr>
          </thead>
          <tbody>
            {copies.map((copy) => (
              <tr key={copy.id}>
                <td>
                  <a href={addressOf('requests', copy.id)}>{copy.id}</a>
                </td>
                <td>{copy.model ?? copy.requested}</td>
                <td>{copy.status}</td>
                <td class="c-num">{ms(copy.duration_ms ?? 0)}</td>
                <td class="c-num">{`${count(copy.prompt_tokens)} → ${count(copy.completion_tokens)}`}</td>
                <td class="c-num">{cost(copy.cost_nano_usd)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Hint>Their responses were not returned to the client, and their costs are not part of this request.</Hint>
    </section>
  );
}

/** Why there are no candidates. */
function whyNoPlan({ refused, status, error_type: error, cache, reason, excluded }: LedgerRecord): string {
  if (refused === true) return 'Nothing was planned: the request was refused before that.';
  if (error === undefined)
    return `Nothing was planned: ${cache === 'hit' ? 'the response cache' : 'a plugin'} answered.`;
  if (excluded.length > 0) return `No endpoint was left that could serve it, so the answer was ${status}.`;
  return `No endpoint could be tried, so the answer was ${status} ${words(error)}. ${reason ?? ''}`;
}

/** Why this endpoint: the decision as it was, beside what it would be now. */
export function Decision({
  page,
  again,
  brief = false,
}: {
  readonly page: RequestPage;
  readonly again?: () => void;
  readonly brief?: boolean;
}): JSX.Element {
  const { record, now, refused } = page;
  const several = new Set(record.candidates.map(({ endpoint }) => endpoint.split('#')[1])).size > 1;
  const left =
    now === undefined
      ? []
      : now.rejected.filter(({ tag, model }) =>
          record.candidates.some(({ endpoint }) => endpoint === `${tag}#${model}`),
        );
  return (
    <>
      <section>
        <h2>
          Why this endpoint
          {again !== undefined && (
            <button type="button" onClick={again}>
              ↻ Explain again now
            </button>
          )}
        </h2>
        {record.candidates.length === 0 ? (
          <p class="empty">{whyNoPlan(record)}</p>
        ) : (
          <Candidates
            then={candidatesThen(record)}
            now={brief || now === undefined ? undefined : candidatesNow(now)}
            answered={record.status === 200 ? record.endpoint : undefined}
            severalModels={several}
          />
        )}
        <Roll page={page} />
        {!brief && now !== undefined && (
          <Hint>
            “Now” is the plan that a request of the same model, length and preferences would get at this moment, by
            another random number, with what has been measured since. The prompt is not kept, so what depends on its
            words or on its session’s cache may differ.
          </Hint>
        )}
        {!brief && refused !== undefined && <Hint>Now it would be refused: {refused}</Hint>}
        {!brief &&
          left.map(({ tag, reason, detail }) => (
            <Hint key={tag}>
              Now left out: {tag}, because {exclusion(reason, detail)}.
            </Hint>
          ))}
      </section>
      <Excluded list={record.excluded} />
    </>
  );
}

function Errors({ record }: { readonly record: LedgerRecord }): JSX.Element | null {
  const { error_type: type, status, attempts, committed } = record;
  const failed = attempts.filter(({ outcome }) => outcome !== 'ok' && outcome !== 'superseded');
  if (type === undefined && failed.length === 0) return null;
  return (
    <section>
      <h2>{type === undefined ? 'Errors before the answer' : 'Error'}</h2>
      {type !== undefined && (
        <p>
          {record.reason !== undefined && <b>{record.reason} </b>}
          The client received <b>{status}</b> with <code>{type}</code>
          {committed === true
            ? ', after part of the stream had been sent: from then on nothing can be tried again.'
            : '.'}
        </p>
      )}
      {failed.length > 0 && (
        <div class="table-frame">
          <table>
            <caption>previous_errors: each attempt that failed, in order</caption>
            <thead>
              <tr>
                <th>attempt</th>
                <th>endpoint</th>
                <th>status</th>
                <th>what went wrong</th>
                <th class="c-num">after</th>
              </tr>
            </thead>
            <tbody>
              {failed.map((attempt) => (
                <tr key={attempt.number}>
                  <td>{attempt.number}</td>
                  <td>{tagOf(attempt.endpoint)}</td>
                  <td>{attempt.status}</td>
                  <td>✕ {words(attempt.outcome)}</td>
                  <td class="c-num">{ms(attempt.end_ms - attempt.start_ms)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <Hint>Error messages of providers are not kept: they may repeat the prompt.</Hint>
    </section>
  );
}

/** A line of the table of costs. */
interface BillLine {
  readonly name: string;
  readonly item: string;
  /** Tokens, images, requests or searches, where they were counted. */
  readonly units: number | undefined;
  /** Undefined where the price is unknown. */
  readonly nanoUsd: number | undefined;
}

function Cost({ page: { record, parts } }: { readonly page: RequestPage }): JSX.Element {
  const { attempts, plugins = [], tools = [], cost_nano_usd: total } = record;
  const lines: readonly BillLine[] = [
    ...attempts.flatMap((attempt): readonly BillLine[] => {
      const own = parts.find((one) => one.attempt === attempt.number)?.parts;
      const name = `${attempt.number}. ${tagOf(attempt.endpoint)}`;
      if (own !== undefined)
        return own.map(({ item, units, nanoUsd }) => ({ name, item: words(item), units, nanoUsd }));
      if (attempt.unpriced === true) return [{ name, item: 'price unknown', units: undefined, nanoUsd: undefined }];
      return attempt.cost_nano_usd === undefined
        ? []
        : [{ name, item: 'as charged', units: undefined, nanoUsd: attempt.cost_nano_usd }];
    }),
    ...[...plugins.map((one) => ({ ...one, name: one.id })), ...tools].flatMap(({ name, cost_nano_usd: nanoUsd }) =>
      nanoUsd === undefined ? [] : [{ name, item: 'service', units: undefined, nanoUsd }],
    ),
  ];
  return (
    <section>
      <h2>Cost</h2>
      <div class="table-frame">
        <table class="narrow">
          <thead>
            <tr>
              <th>for</th>
              <th>part</th>
              <th class="c-num">units</th>
              <th class="c-num">cost</th>
            </tr>
          </thead>
          <tbody>
            {lines.map(({ name, item, units, nanoUsd }, index) => (
              <tr key={index}>
                <td>{name}</td>
                <td>{item}</td>
                <td class="c-num">{count(units)}</td>
                <td class="c-num">{cost(nanoUsd)}</td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <td>total</td>
              <td />
              <td />
              <td class="c-num">{cost(total)}</td>
            </tr>
          </tfoot>
        </table>
      </div>
    </section>
  );
}

/** The prompt and the answer, where they are kept. Asked for when somebody wants to see them. */
function Content({ id }: { readonly id: string }): JSX.Element | null {
  const facts = useAsked<InspectorFacts>('facts');
  const [open, setOpen] = useState(false);
  const { answer, problem } = useAsked<ContentView>(open ? `requests/${encodeURIComponent(id)}/content` : undefined);
  if (facts.answer?.content !== true) return null;
  return (
    <section>
      <h2>
        Prompt and answer
        <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? '▾ Hide' : '▸ Show'}
        </button>
      </h2>
      {open && <Problem problem={problem} />}
      {open && answer?.too_long === true && <p class="empty">They were too long to be kept.</p>}
      {open && answer !== undefined && answer.too_long !== true && (
        <>
          {[...answer.messages, ...answer.choices].map((one, index) => (
            <Said key={index} said={one} />
          ))}
        </>
      )}
    </section>
  );
}

/** One message: its text, and what is not text as it was sent. */
function Said({ said }: { readonly said: unknown }): JSX.Element {
  const { message, role, content, ...others } = Object(said) as {
    readonly message?: { readonly role?: string; readonly content?: unknown };
    readonly role?: string;
    readonly content?: unknown;
  };
  const text = message?.content ?? content;
  const rest = message === undefined ? others : { ...message, content: undefined, role: undefined };
  const more = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null && value !== undefined));
  return (
    <figure class="said">
      <figcaption>{message === undefined ? (role ?? 'message') : 'answer'}</figcaption>
      <pre tabIndex={0}>
        {typeof text === 'string' ? text : JSON.stringify(text, undefined, 2)}
        {Object.keys(more).length > 0 && `\n${JSON.stringify(more, undefined, 2)}`}
      </pre>
    </figure>
  );
}

function Facts({ record }: { readonly record: LedgerRecord }): JSX.Element {
  const { usage } = record;
  const facts: readonly (readonly [string, JSX.Element | string | undefined])[] = [
    ['began', dateTime(record.at)],
    ['account', record.account],
    ['API format', `${record.format}${record.stream ? ', streaming' : ''}`],
    ['requested model', record.requested],
    [record.error_type === undefined ? 'model that answered' : 'model called last', record.model],
    ['refused because', record.reason],
    ['rules', record.applied?.rules?.join(', ')],
    ['split', record.applied?.splits?.map(({ alias, model, by }) => `${alias} → ${model}, by ${by}`).join(', ')],
    ['copied to', record.applied?.mirror?.model],
    ['strategy', record.strategy],
    ['first token', record.first_token_ms === undefined ? undefined : ms(record.first_token_ms)],
    [
      'tokens',
      usage &&
        `${count(usage.prompt_tokens)} in (${count(usage.cached_tokens ?? 0)} cached), ${count(usage.completion_tokens)} out${usage.estimated === true ? ', estimated' : ''}`,
    ],
    ['finish reason', record.finish_reason],
    ['response cache', record.cache],
    [
      'session',
      record.session && (
        <a href={addressOf('requests', undefined, new URLSearchParams({ session: record.session }))}>
          {record.session}
        </a>
      ),
    ],
    [
      record.mirror === undefined ? 'made by' : 'copy, not returned to the client, of',
      record.parent === undefined ? undefined : <a href={addressOf('requests', record.parent)}>{record.parent}</a>,
    ],
    [
      'tags',
      record.tags &&
        Object.entries(record.tags)
          .map(([name, value]) => `${name}: ${value}`)
          .join(', '),
    ],
  ];
  return (
    <section>
      <h2>Facts</h2>
      <dl>
        {facts.map(([name, value]) =>
          value === undefined || value === '' ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
        )}
      </dl>
    </section>
  );
}
