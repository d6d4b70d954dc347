/**
 * Places in the life of a batch at which a process may die or be paused, by name. A crash test stops here; nobody else
 * does anything at them.
 */
export const FAIL_POINTS = [
  /** Part of the requests is in the draft, the rest is still coming. */
  'create.reading',
  /** All requests are in the draft, which is no batch yet. */
  'create.written',
  /** The batch is there, and nobody has been told. */
  'create.published',
  /** In the middle of the validation. */
  'validate.reading',
  /** All requests were found good, and that is not written yet. */
  'validate.done',
  /** The batch is in progress, and no request was claimed. */
  'run.started',
  /** Requests are claimed, none was sent. */
  'run.claimed',
  /** A request is about to be sent. */
  'run.sending',
  /** An answer is there, and not stored. */
  'run.answered',
  /** Outcomes are stored. */
  'run.stored',
  /** Every request has its outcome, and the batch does not know. */
  'run.drained',
  /** The batch's time is over, and what is left is about to be marked. */
  'run.expiring',
  /** A provider has the batch, and that is not written yet. */
  'run.submitted',
  /** In the middle of adding up. */
  'finalize.reading',
  /** Everything is added up, and not written. */
  'finalize.done',
  /** A batch is being cancelled, and its requests are not marked yet. */
  'stop.started',
  /** Its requests are marked, and the batch is not cancelled yet. */
  'stop.marked',
  /** A batch has ended, and nobody was told. */
  'notify.started',
  /** The receiver was told, and that is not written yet. */
  'notify.sent',
  /** Another try is planned. */
  'notify.deferred',
] as const;

/** Name of a fail point. */
export type FailPoint = (typeof FAIL_POINTS)[number];

/** Called at every fail point; may wait, throw, or end the process. */
export type ReachFailPoint = (name: FailPoint) => Promise<void> | void;

/** What happens at fail points outside of crash tests. */
export const NO_FAIL_POINT: ReachFailPoint = () => {};
