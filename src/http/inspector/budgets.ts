/** The inspector's view of budgets. */
import type { InspectedRouter } from '../../config/inspector.ts';
import { usdFromNano, nanoFromUsd } from '../../catalog/cost.ts';
import type { Budget } from '../../core/limits/budget.ts';
import { ANONYMOUS } from '../../contracts/account.ts';
import type { BudgetView, BudgetViewList } from './wire.ts';

/** Accounts and keys that are shown: each is looked up in the store of amounts. */
const MOST_ACCOUNTS = 50;
const MOST_KEYS = 100;
const WEEK_MS = 7 * 86_400_000;

/** What accounts and keys may spend, and what is left of it. */
export async function budgetList(router: InspectedRouter): Promise<BudgetViewList> {
  const { config } = router.internals;
  const { everybody, tags = {}, session } = config.usage.spending;
  const keys = (await config.authenticate?.keys?.list()) ?? [];
  const own = new Map(
    keys.flatMap(({ account }) => (account.budget === undefined ? [] : [[account.id, account.budget]])),
  );
  const limited = new Map<string, Budget>();
  if (everybody !== undefined) for (const id of await accountsOf(router)) limited.set(id, everybody);
  for (const [id, budget] of own) limited.set(id, budget);
  const others = [
    ...Object.entries(tags).map(([name, budget]) => ({ of: `each value of metadata.${name}`, ...termsOf(budget) })),
    ...(session === undefined ? [] : [{ of: 'each session', ...termsOf(session) }]),
  ];
  return {
    budgets: await Promise.all([...limited].slice(0, MOST_ACCOUNTS).map(([id, budget]) => viewOf(router, id, budget))),
    keys: await Promise.all(
      keys.slice(0, MOST_KEYS).map(async ({ account, label, name, disabled, expiresAt }): Promise<BudgetView> => {
        const spent = await router.internals.services.spending.spentWith(account);
        const { limit, period } = account.keyBudget === undefined ? {} : termsOf(account.keyBudget);
        const amount = spent?.[(period ?? 'total') as keyof typeof spent];
        return { account: account.id, key: label, name, disabled, expires_at: expiresAt, limit, period, spent: amount };
      }),
    ),
    more_keys: keys.length >= MOST_KEYS,
    others,
  };
}

function termsOf({ limitUsd, period = 'total' }: Budget): { readonly limit: number; readonly period: string } {
  return { limit: limitUsd, period };
}

async function viewOf({ internals }: InspectedRouter, account: string, budget: Budget): Promise<BudgetView> {
  const { limit, period } = termsOf(budget);
  const held = { scope: 'account', limitNanoUsd: nanoFromUsd(limit), period: budget.period ?? 'total' } as const;
  try {
    const spent = await internals.config.usage.keeper.spentUnder?.(account, [held]);
    const [nanoUsd] = spent ?? [];
    return { account, limit, period, ...(nanoUsd === undefined ? {} : { spent: usdFromNano(nanoUsd) }) };
  } catch {
    // The store of amounts is away: what may be spent is known all the same.
    return { account, limit, period };
  }
}

/** Accounts of the last week, those that spent most first. */
async function accountsOf({ internals }: InspectedRouter): Promise<readonly string[]> {
  const now = internals.config.environment.wallClock();
  const from = now - WEEK_MS - ((now - WEEK_MS) % 3_600_000);
  const costs = (await internals.services.ledger?.costs({ by: 'account', from })) ?? [];
  const ids = costs.map(({ key }) => key);
  return ids.length === 0 ? [ANONYMOUS.id] : ids;
}
