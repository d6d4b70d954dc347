import type { LedgerAttempt, LedgerRecord } from '../../src/contracts/ledger.ts';

/** What a test says of a record; the rest is as in any other. */
export type RecordParts = Partial<LedgerRecord> & { readonly id: string };

/** Noon of the first of January 2026 in UTC. */
export const NOON = Date.UTC(2026, 0, 1, 12);

/** A record of one call that was answered, at 100 nano-dollars. */
export function ledgerRecord(parts: RecordParts): LedgerRecord {
  const attempts = parts.attempts ?? [ledgerAttempt()];
  const last = attempts.at(-1)?.endpoint;
  const [provider, model] = last === undefined ? [] : last.split('#');
  return {
    version: 1,
    at: NOON,
    duration_ms: 12.5,
    account: 'ada',
    format: 'chat',
    stream: false,
    requested: 'acme/one',
    strategy: 'direct',
    status: 200,
    ...(last === undefined ? {} : { endpoint: last, provider, model }),
    cost_nano_usd: attempts.reduce((sum, { cost_nano_usd: cost = 0 }) => sum + cost, 0),
    candidates: [],
    excluded: [],
    ...parts,
    attempts,
  };
}

/** A call that was answered. */
export function ledgerAttempt(parts: Partial<LedgerAttempt> = {}): LedgerAttempt {
  return {
    number: 1,
    endpoint: 'acme#acme/one',
    start_ms: 0,
    end_ms: 12.5,
    outcome: 'ok',
    status: 200,
    usage: { prompt_tokens: 10, completion_tokens: 5, cached_tokens: 2 },
    cost_nano_usd: 100,
    ...parts,
  };
}
