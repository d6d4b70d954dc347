import { BODY_FAULTS } from './body-faults.ts';
import { CONNECTION_FAULTS } from './connection-faults.ts';
import { ENCODING_FAULTS } from './encoding-faults.ts';
import type { Fault } from './fault.ts';
import { FRAMING_FAULTS } from './framing-faults.ts';
import { STATUS_FAULTS } from './status-faults.ts';
import { TIMING_FAULTS } from './timing-faults.ts';

/** Number of a fault; a part behind the number tells its variants apart. */
export type FaultId =
  | keyof typeof BODY_FAULTS
  | keyof typeof CONNECTION_FAULTS
  | keyof typeof ENCODING_FAULTS
  | keyof typeof FRAMING_FAULTS
  | keyof typeof STATUS_FAULTS
  | keyof typeof TIMING_FAULTS;

/**
 * Every fault that a {@link startFaultUpstream | fault upstream} can play, by number, with one sentence on what it
 * does. Faults of an address (no such host, nobody there, a black hole) have helpers of their own.
 */
export const FAULTS: Readonly<Record<FaultId, Fault>> = {
  ...CONNECTION_FAULTS,
  ...FRAMING_FAULTS,
  ...TIMING_FAULTS,
  ...STATUS_FAULTS,
  ...BODY_FAULTS,
  ...ENCODING_FAULTS,
};
