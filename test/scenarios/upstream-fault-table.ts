import type { FaultId } from 'signalbox/testing';

/** What a client sees of a fault. */
export type Outcome =
  /** The full answer of the provider with the fault, as if nothing had happened. */
  | { readonly type: 'answered' }
  /** Another provider answers; with none left, this status. */
  | { readonly type: 'falls back'; readonly status: number; readonly retryAfter?: string }
  /** This status, and no other provider is asked. */
  | { readonly type: 'refused'; readonly status: number }
  /** Content has been sent: an error chunk with this code. */
  | { readonly type: 'breaks off'; readonly code: number };

/** When in an answer the fault happens. */
export type Phase = 'whole' | 'stream before commit' | 'stream after commit';

/** One fault and its outcome in each phase for which the table of faults defines one. */
export interface FaultRow {
  readonly fault: FaultId;
  readonly outcomes: Readonly<Partial<Record<Phase, Outcome>>>;
  /** The fault is that something takes too long, so the router's patience is short. */
  readonly impatient?: boolean;
}

const answered: Outcome = { type: 'answered' };

function fallsBack(status: number, retryAfter?: string): Outcome {
  return { type: 'falls back', status, ...(retryAfter === undefined ? {} : { retryAfter }) };
}

function refused(status: number): Outcome {
  return { type: 'refused', status };
}

function breaksOff(code: number): Outcome {
  return { type: 'breaks off', code };
}

/** The same before a commit, whether the answer is whole or streamed; and something else after it. */
function row(fault: FaultId, before: Outcome, after?: Outcome): FaultRow {
  return { fault, outcomes: { whole: before, 'stream before commit': before, ...(after && afterCommit(after)) } };
}

function onlyWhole(fault: FaultId, whole: Outcome): FaultRow {
  return { fault, outcomes: { whole } };
}

function onlyStreamed(fault: FaultId, before: Outcome | undefined, after?: Outcome): FaultRow {
  return { fault, outcomes: { ...(before && { 'stream before commit': before }), ...(after && afterCommit(after)) } };
}

function afterCommit(outcome: Outcome): FaultRow['outcomes'] {
  return { 'stream after commit': outcome };
}

function impatient(one: FaultRow): FaultRow {
  return { ...one, impatient: true };
}

/**
 * The table of upstream faults. Rows that are no fault of an upstream's answers stand in tests of their own: addresses
 * that lead nowhere (U-01 to U-05), another model (U-28), open breakers (U-68) and adapters (U-69, U-70). U-59 cannot
 * happen: the transport never speaks HTTP/2.
 */
export const UPSTREAM_FAULT_TABLE: readonly FaultRow[] = [
  row('U-06-self-signed', fallsBack(502)),
  row('U-06-expired', fallsBack(502)),
  row('U-06-wrong-host', fallsBack(502)),
  impatient(row('U-07', fallsBack(524))),
  row('U-08', fallsBack(502)),
  row('U-09', fallsBack(502)),
  row('U-10', fallsBack(502)),
  row('U-12', fallsBack(502)),
  onlyWhole('U-13', fallsBack(502)),
  onlyStreamed('U-14', fallsBack(502), breaksOff(502)),
  row('U-15', fallsBack(502), breaksOff(502)),
  row('U-16-longer', fallsBack(502)),
  row('U-16-shorter', fallsBack(502)),
  impatient(row('U-17-endless', fallsBack(524))),
  impatient(row('U-17-slow', fallsBack(524))),
  row('U-18-large', fallsBack(502)),
  row('U-18-many', fallsBack(502)),
  impatient(row('U-19', fallsBack(524))),
  impatient(onlyStreamed('U-20', undefined, breaksOff(524))),
  row('U-21', answered, answered),
  row('U-22', answered, answered),
  row('U-23', answered, answered),
  onlyStreamed('U-24', fallsBack(502), breaksOff(502)),
  row('U-25', answered, answered),
  impatient(row('U-26', fallsBack(524), breaksOff(524))),
  row('U-27', refused(400)),
  row('U-28', refused(400)),
  row('U-29-401', fallsBack(502)),
  row('U-29-403', fallsBack(502)),
  row('U-30', fallsBack(502)),
  row('U-31', refused(403), breaksOff(403)),
  row('U-32', fallsBack(404)),
  row('U-33', fallsBack(524)),
  row('U-34-409', fallsBack(502)),
  row('U-34-425', fallsBack(502)),
  row('U-35', refused(413)),
  row('U-36', refused(422)),
  row('U-37', fallsBack(429, '2'), breaksOff(429)),
  row('U-38', fallsBack(502)),
  row('U-39-429', fallsBack(429)),
  row('U-39-400', refused(400)),
  row('U-39-unknown', fallsBack(502)),
  row('U-40-empty', fallsBack(502)),
  row('U-40-object', fallsBack(502)),
  row('U-40-no-choices', fallsBack(502)),
  row('U-41-invalid', fallsBack(502)),
  row('U-41-truncated', fallsBack(502)),
  row('U-41-two-values', fallsBack(502)),
  row('U-41-byte-order-mark', answered),
  row('U-42', fallsBack(502)),
  onlyStreamed('U-43', answered),
  onlyWhole('U-44', answered),
  row('U-45-204', fallsBack(502)),
  row('U-45-205', fallsBack(502)),
  row('U-46-301', fallsBack(502)),
  row('U-46-302', fallsBack(502)),
  row('U-46-303', fallsBack(502)),
  row('U-46-307', fallsBack(502)),
  row('U-46-308', fallsBack(502)),
  row('U-47-continue', answered),
  row('U-47-early-hints', answered),
  row('U-48', fallsBack(502)),
  row('U-49-500', fallsBack(502)),
  row('U-49-501', fallsBack(502)),
  row('U-49-505', fallsBack(502)),
  row('U-50-502', fallsBack(502)),
  row('U-50-504', fallsBack(524)),
  row('U-51', fallsBack(503, '30')),
  row('U-52-520', fallsBack(502)),
  row('U-52-521', fallsBack(502)),
  row('U-52-522', fallsBack(502)),
  row('U-52-523', fallsBack(502)),
  row('U-52-524', fallsBack(524)),
  row('U-52-525', fallsBack(502)),
  row('U-52-526', fallsBack(502)),
  row('U-52-527', fallsBack(502)),
  row('U-53', fallsBack(529), breaksOff(529)),
  row('U-54-000', fallsBack(502)),
  row('U-54-099', fallsBack(502)),
  row('U-54-99', fallsBack(502)),
  row('U-54-600', fallsBack(502)),
  row('U-54-999', fallsBack(502)),
  row('U-54-text', fallsBack(502)),
  row('U-55-gzip', fallsBack(502), breaksOff(502)),
  row('U-55-brotli', fallsBack(502), breaksOff(502)),
  row('U-55-double', fallsBack(502), breaksOff(502)),
  row('U-56-six', fallsBack(502)),
  row('U-56-unknown', fallsBack(502)),
  row('U-56-plain', fallsBack(502)),
  row('U-56-truncated', fallsBack(502), breaksOff(502)),
  row('U-57-second-response', answered, answered),
  row('U-57-extra-bytes', answered, answered),
  row('U-58-both-lengths', fallsBack(502)),
  row('U-58-bad-chunk', fallsBack(502), breaksOff(502)),
  row('U-58-huge-chunk', fallsBack(502), breaksOff(502)),
  row('U-60', answered, answered),
  row('U-61', refused(413)),
  impatient(row('U-62', fallsBack(524))),
  row('U-63-past', fallsBack(429, '0')),
  row('U-63-far', fallsBack(429, '3600')),
  row('U-64-negative', fallsBack(429)),
  row('U-64-fraction', fallsBack(429, '2')),
  row('U-64-hexadecimal', fallsBack(429)),
  row('U-64-exponent', fallsBack(429)),
  row('U-64-infinity', fallsBack(429)),
  row('U-64-list', fallsBack(429)),
  row('U-64-word', fallsBack(429)),
  row('U-64-empty', fallsBack(429)),
  row('U-64-huge', fallsBack(429, '3600')),
  row('U-64-rfc-850', fallsBack(429, '0')),
  row('U-64-asctime', fallsBack(429, '0')),
  row('U-64-spaces', fallsBack(429, '7')),
  row('U-65', answered, answered),
  row('U-66', fallsBack(502), breaksOff(502)),
  row('U-67-5000', fallsBack(502), breaksOff(502)),
  row('U-67-100000', fallsBack(502), breaksOff(502)),
];

/**
 * Rows that models of the AI SDK answer in another way, because the SDK reads the wire itself: in streams it takes no
 * whole answers and no errors in disguise, and it tells the end of a stream only when the connection ends.
 */
export const AI_SDK_DEVIATIONS: readonly FaultRow[] = [
  onlyWhole('U-25', answered),
  { fault: 'U-39-429', outcomes: { whole: fallsBack(429), 'stream before commit': fallsBack(502) } },
  { fault: 'U-39-400', outcomes: { whole: refused(400), 'stream before commit': fallsBack(502) } },
  onlyStreamed('U-43', fallsBack(502)),
  onlyWhole('U-44', fallsBack(502)),
];

/** Node's own `fetch` closes a connection on which 100 Continue comes unasked, and cannot be told otherwise. */
export const FETCH_DEVIATIONS: readonly FaultRow[] = [row('U-47-continue', fallsBack(502))];
