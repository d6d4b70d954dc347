import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { BatchErrorCounts, BatchView, BatchViewList } from '../../src/http/inspector/wire.ts';
import { ask } from './api.ts';
import { useAsked } from './asked.ts';
import { Meter } from './charts.tsx';
import { count, dateTime, ms, percent, words } from './format.ts';
import { Problem } from './problem.tsx';

const EVERY_MS = 2_000;
/** Time over which the pace of a batch is measured. */
const PACE_MS = 20_000;
const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'expired', 'cancelled']);
const SIGNS: Readonly<Record<string, string>> = {
  completed: '✓',
  failed: '✕',
  expired: '✕',
  cancelled: '⊘',
  cancelling: '⊘',
};

/** How many requests had an outcome at a time. */
interface Seen {
  readonly at: number;
  readonly done: number;
}

/** How a batch stands. One that has come to its end may have answered nothing. */
function statusOf({ status, request_counts: counts }: BatchView): string {
  if (status !== 'completed' || counts.failed === 0) return `${SIGNS[status] ?? '…'} ${words(status)}`;
  return counts.completed === 0 ? '✕ completed, all failed' : `⚠ completed, ${count(counts.failed)} failed`;
}

/** Batches of all accounts. */
export function Batches(): JSX.Element {
  const { answer, problem, again } = useAsked<BatchViewList>('batches', EVERY_MS);
  const seen = useRef(new Map<string, readonly Seen[]>());
  return (
    <>
      <h1>Batches</h1>
      <Problem problem={problem} />
      {answer?.data.length === 0 && <p class="empty">No account has batches.</p>}
      <ul class="cards wide">
        {answer?.data.map((batch) => (
          <Card
            key={batch.account + batch.id}
            batch={batch}
            now={answer.now}
            pace={paceOf(seen.current, batch, answer.now)}
            again={again}
          />
        ))}
      </ul>
    </>
  );
}

/** Outcomes per second lately, from what this page has seen. */
function paceOf(
  seen: Map<string, readonly Seen[]>,
  { id, request_counts: counts }: BatchView,
  now: number,
): number | undefined {
  const before = (seen.get(id) ?? []).filter(({ at }) => at > now - PACE_MS);
  const done = counts.completed + counts.failed;
  if (before.at(-1)?.at !== now) seen.set(id, [...before, { at: now, done }]);
  const [first] = before;
  return first === undefined || now - first.at < 1_000 ? undefined : ((done - first.done) * 1_000) / (now - first.at);
}

function Card({
  batch,
  now,
  pace,
  again,
}: {
  readonly batch: BatchView;
  readonly now: number;
  readonly pace: number | undefined;
  readonly again: () => void;
}): JSX.Element {
  const {
    id,
    account,
    model,
    endpoint,
    status,
    request_counts: counts,
    created_at: created,
    finalized_at: finalized,
    expires_at: expires,
    error,
    provider,
  } = batch;
  const done = counts.completed + counts.failed;
  const ended = ENDED.has(status);
  const tookMs = ((finalized ?? now / 1_000) - created) * 1_000;
  const left = counts.total - done;
  return (
    <li class="card">
      <h2>
        <span class="id">{id}</span> <span class={`badge ${counts.failed > 0 ? 'bad' : ''}`}>{statusOf(batch)}</span>
      </h2>
      <Meter
        share={done / Math.max(1, counts.total)}
        text={`${count(done)} of ${count(counts.total)} (${percent(done / Math.max(1, counts.total))})`}
      />
      <dl>
        <div>
          <dt>completed</dt>
          <dd>{count(counts.completed)}</dd>
        </div>
        <div>
          <dt>failed</dt>
          <dd>{count(counts.failed)}</dd>
        </div>
        <div>
          <dt>{ended ? 'took' : 'running for'}</dt>
          <dd>{ms(tookMs)}</dd>
        </div>
        <div>
          <dt>pace</dt>
          <dd>
            {ended
              ? `${(done / Math.max(1, tookMs / 1_000)).toFixed(1)} a second`
              : pace === undefined
                ? 'measuring …'
                : `${pace.toFixed(1)} a second${pace > 0 ? `, ${ms((left / pace) * 1_000)} to go` : ''}`}
          </dd>
        </div>
        <div>
          <dt>account</dt>
          <dd>{account}</dd>
        </div>
        <div>
          <dt>model</dt>
          <dd>{model}</dd>
        </div>
        <div>
          <dt>operation</dt>
          <dd>{endpoint}</dd>
        </div>
        <div>
          <dt>provider</dt>
          <dd>{provider ?? 'chosen for each request'}</dd>
        </div>
        <div>
          <dt>began</dt>
          <dd>{dateTime(created * 1_000)}</dd>
        </div>
        {!ended && expires !== null && (
          <div>
            <dt>expires</dt>
            <dd>{dateTime(expires * 1_000)}</dd>
          </div>
        )}
      </dl>
      {error !== null && <p class="problem">✕ {error.message}</p>}
      {counts.failed > 0 && <Errors batch={batch} />}
      {!ended && status !== 'cancelling' && <Cancel batch={batch} again={again} />}
    </li>
  );
}

/** Errors by kind, looked for when somebody wants to know. */
function Errors({ batch }: { readonly batch: BatchView }): JSX.Element {
  const [open, setOpen] = useState(false);
  const { answer, problem } = useAsked<BatchErrorCounts>(
    open ? `batches/${encodeURIComponent(batch.id)}/errors?account=${encodeURIComponent(batch.account)}` : undefined,
  );
  return (
    <>
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? '▾ Errors by kind' : '▸ Errors by kind'}
      </button>
      {open && <Problem problem={problem} />}
      {open && answer !== undefined && (
        <div class="table-frame">
          <table class="narrow">
            <thead>
              <tr>
                <th>kind</th>
                <th class="c-num">requests</th>
                <th>for example</th>
              </tr>
            </thead>
            <tbody>
              {answer.kinds.map(({ kind, count: number, example }) => (
                <tr key={kind}>
                  <td>{words(kind)}</td>
                  <td class="c-num">{count(number)}</td>
                  <td>{example}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

/** Ends a batch before its time, when it was confirmed. */
function Cancel({ batch, again }: { readonly batch: BatchView; readonly again: () => void }): JSX.Element {
  const [asked, setAsked] = useState(false);
  const [problem, setProblem] = useState<Error>();
  if (!asked) {
    return (
      <button type="button" onClick={() => setAsked(true)}>
        Cancel this batch …
      </button>
    );
  }
  const cancel = async (): Promise<void> => {
    try {
      await ask(`batches/${encodeURIComponent(batch.id)}/cancel?account=${encodeURIComponent(batch.account)}`, {
        method: 'POST',
      });
      setAsked(false);
      again();
    } catch (error) {
      setProblem(error as Error);
    }
  };
  return (
    <div role="alertdialog" aria-label="Cancel this batch" class="confirm">
      <p>Requests that are completed stay, and are charged. The others are not run. This cannot be undone.</p>
      <button type="button" class="danger" onClick={() => void cancel()}>
        ⊘ Yes, cancel it
      </button>
      <button type="button" autofocus onClick={() => setAsked(false)}>
        No, let it run
      </button>
      <Problem problem={problem} />
    </div>
  );
}
