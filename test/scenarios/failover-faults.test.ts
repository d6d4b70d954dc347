import { describe, expect, it } from 'vitest';
import { FAULTS, runFault, SHORT, VARIANTS, type Verdict } from '../../bench/failover/faults.ts';

/** Faults that are not met by the whole answer as the router comes: no option is set. */
const BY_DEFAULT: Readonly<Record<string, Verdict>> = {
  // What was sent cannot be taken back, and nobody has said that another may go on with it.
  S08: 'safe',
  S09: 'safe',
  S10: 'safe',
  S14: 'safe',
  // Moderated models fall back.
  S13: 'partial',
};

const WITH_BOTH: Readonly<Record<string, Verdict>> = {};

describe.each([
  ['by default', BY_DEFAULT],
  ['with both options', WITH_BOTH],
] as const)('the sixteen faults of FailoverBench, %s', (variant, expected) => {
  it.concurrent.each(FAULTS.map((fault) => [fault.id, fault.title, fault] as const))(
    '%s: %s',
    async (id, _title, fault) => {
      const { verdict, reason } = await runFault(fault, VARIANTS[variant] ?? {}, SHORT);
      expect({ verdict, reason }).toEqual({ verdict: expected[id] ?? 'pass', reason: expect.any(String) as string });
    },
    60_000,
  );
});
