/** The periods of budgets, and when each begins anew. */
import type { BudgetPeriod } from '../../options/spending.ts';
import { unixSecondsOfDay } from '../../catalog/price-at.ts';

export { BUDGET_PERIODS } from '../../options/spending.ts';
export type { Budget, BudgetPeriod } from '../../options/spending.ts';

/** One turn of a period. */
interface PeriodTurn {
  /** Names it among the turns of all periods. */
  readonly id: string;
  /** Epoch milliseconds; undefined for `total`. */
  readonly endsAt?: number | undefined;
}

const DAY_MS = 86_400_000;

/** The turn of a period that a time belongs to. */
export function turnAt(period: BudgetPeriod, now: number): PeriodTurn {
  const day = Math.floor(now / DAY_MS);
  switch (period) {
    case 'day':
      return { id: `day ${day}`, endsAt: (day + 1) * DAY_MS };
    case 'week': {
      // The first day of 1970 was a Thursday.
      const week = Math.floor((day + 3) / 7);
      return { id: `week ${week}`, endsAt: ((week + 1) * 7 - 3) * DAY_MS };
    }
    case 'month': {
      const { year, month } = monthOfDay(day);
      const next = month === 12 ? monthName(year + 1, 1) : monthName(year, month + 1);
      return { id: `month ${monthName(year, month)}`, endsAt: (unixSecondsOfDay(next) ?? 0) * 1_000 };
    }
    default:
      return { id: 'total' };
  }
}

function monthName(year: number, month: number): string {
  return `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}`;
}

/** The calendar month of a day counted from 1970. Years are 365 or 366 days, so the first guess is at most one off. */
function monthOfDay(day: number): { readonly year: number; readonly month: number } {
  const begins = (year: number, month: number): number =>
    (unixSecondsOfDay(monthName(year, month)) ?? 0) / (DAY_MS / 1_000);
  let year = 1_970 + Math.floor(day / 365.25);
  if (begins(year + 1, 1) <= day) year += 1;
  if (begins(year, 1) > day) year -= 1;
  let month = 1;
  while (month < 12 && begins(year, month + 1) <= day) month += 1;
  return { year, month };
}
