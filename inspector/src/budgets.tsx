import type { JSX } from 'preact';
import type { BudgetView, BudgetViewList } from '../../src/http/inspector/wire.ts';
import { addressOf } from './address.ts';
import { useAsked } from './asked.ts';
import { Hint, Meter } from './charts.tsx';
import { dateTime, percent, usd } from './format.ts';
import { Problem } from './problem.tsx';

const EVERY_MS = 10_000;

/** What accounts and keys may spend, and what is left. */
export function Budgets(): JSX.Element {
  const { answer, problem } = useAsked<BudgetViewList>('budgets', EVERY_MS);
  return (
    <>
      <h1>Budgets and keys</h1>
      <Problem problem={problem} />
      {answer !== undefined && (
        <>
          <section>
            <h2>Accounts</h2>
            {answer.budgets.length === 0 ? (
              <p class="empty">No account has a budget. The option budgets.default gives each account one.</p>
            ) : (
              <Table rows={answer.budgets} />
            )}
            {answer.others.map(({ of, limit, period }) => (
              <Hint key={of}>
                Beside these, {of} may spend {usd(limit)} {periodOf(period)}.
              </Hint>
            ))}
            <Hint>
              Accounts with requests in the last week, those that spent most first. Calls whose price is unknown are in
              no budget.
            </Hint>
          </section>
          <section>
            <h2>Keys</h2>
            {answer.keys.length === 0 ? (
              <p class="empty">No keys are stored. Those of the configuration are not listed here.</p>
            ) : (
              <Table rows={answer.keys} />
            )}
            {answer.more_keys && <Hint>There are more keys; GET /keys lists them all.</Hint>}
          </section>
        </>
      )}
    </>
  );
}

function periodOf(period: string | undefined): string {
  return period === undefined || period === 'total' ? 'in all' : `a ${period}`;
}

function Table({ rows }: { readonly rows: readonly BudgetView[] }): JSX.Element {
  const isOfKeys = rows.some(({ key }) => key !== undefined);
  return (
    <div class="table-frame">
      <table class="stacked">
        <thead>
          <tr>
            {isOfKeys && <th>key</th>}
            <th>account</th>
            <th class="c-meter">left</th>
            <th class="c-num">spent</th>
            <th class="c-num">limit</th>
            {isOfKeys && <th>state</th>}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.account} ${row.key}`}>
              {isOfKeys && (
                <td>
                  {row.name} <span class="id">{row.key}</span>
                </td>
              )}
              <td>
                <a href={addressOf('requests', undefined, new URLSearchParams({ account: row.account }))}>
                  {row.account}
                </a>
              </td>
              <td class="c-meter" data-label="left">
                {leftOf(row)}
              </td>
              <td class="c-num" data-label="spent">
                {row.spent === undefined ? 'not counted' : usd(row.spent)}
              </td>
              <td class="c-num" data-label="limit">
                {row.limit === undefined ? 'no limit' : `${usd(row.limit)} ${periodOf(row.period)}`}
              </td>
              {isOfKeys && <td>{stateOf(row)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function leftOf({ limit, spent }: BudgetView): JSX.Element | string {
  if (limit === undefined) return '–';
  if (spent === undefined) return 'not known';
  const left = Math.max(0, limit - spent);
  const share = limit === 0 ? 0 : left / limit;
  return <Meter share={share} text={`${usd(left)}, ${percent(share)}`} />;
}

function stateOf({ disabled, expires_at: expires }: BudgetView): string {
  if (disabled === true) return '⊘ disabled';
  if (expires === undefined) return '✓ in use';
  return expires <= Date.now() ? `✕ expired ${dateTime(expires)}` : `✓ until ${dateTime(expires)}`;
}
