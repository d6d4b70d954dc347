/** The batch state machine: `transition(batch, event)` is the next state and the effects. */
import { BATCH_ENDS, type BatchStatus } from '../../protocol/batch.ts';
import { canonical } from '../../platform/json.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { BatchRecord, BatchEffect, WebhookState, BatchFault } from '../../contracts/batch-record.ts';
import type { Usage } from '../../protocol/usage.ts';

/** Something that happened to a batch. */
export type BatchEvent =
  /** Every request is well formed. */
  | { readonly type: 'validated'; readonly expiresAt?: number | undefined }
  /** A request is not, or the batch as a whole cannot run. */
  | ({ readonly type: 'rejected' } & BatchFault)
  /** A provider took the batch into its own batch API, or tells more about it. */
  | {
      readonly type: 'assigned';
      readonly provider: string;
      readonly expiresAt?: number | undefined;
      readonly upstream?: JsonObject | undefined;
      /** What is known of it so far, where more becomes known: parts of a batch are handed over one by one. */
      readonly replaces?: JsonObject | undefined;
    }
  /** Its requests are run one by one, by whoever has time. */
  | { readonly type: 'shared' }
  /** Every request has its outcome. */
  | { readonly type: 'drained' }
  /** Everything is added up. */
  | {
      readonly type: 'finalized';
      readonly usage: Usage;
      readonly provider?: string | undefined;
      readonly fileBytes?: BatchRecord['fileBytes'];
    }
  /** Its time is over. */
  | { readonly type: 'expired' }
  /** Its owner wants it to stop. */
  | { readonly type: 'cancel_requested' }
  /** Nothing of it runs any more. */
  | { readonly type: 'cancelled' }
  /** Somebody was told of its end, or was not. */
  | { readonly type: 'webhook_delivered'; readonly webhook: WebhookState }
  /** Its owner wants the end to be told again. */
  | { readonly type: 'redelivery_requested' };

/** What an event came to. */
interface BatchTransition {
  readonly batch: BatchRecord;
  readonly effects: readonly BatchEffect[];
  /** False when the event means nothing in this state; then the batch is the one that was given. */
  readonly applied: boolean;
}

/** What is to be done with a new batch. */
export const INITIAL_EFFECTS: readonly BatchEffect[] = ['validate'];

const TERMINAL: ReadonlySet<BatchStatus> = new Set(BATCH_ENDS);

/** Which events mean something in which state, what the state becomes, and what follows. The rest is ignored. */
const TABLE: Readonly<
  Record<
    BatchStatus,
    Partial<Record<BatchEvent['type'], { readonly to: BatchStatus; readonly effects: readonly BatchEffect[] }>>
  >
> = {
  validating: {
    validated: { to: 'in_progress', effects: ['run'] },
    rejected: { to: 'failed', effects: ['notify'] },
    cancel_requested: { to: 'cancelling', effects: ['stop'] },
  },
  in_progress: {
    assigned: { to: 'in_progress', effects: [] },
    shared: { to: 'in_progress', effects: [] },
    rejected: { to: 'failed', effects: ['notify'] },
    drained: { to: 'finalizing', effects: ['finalize'] },
    expired: { to: 'expired', effects: ['notify'] },
    cancel_requested: { to: 'cancelling', effects: ['stop'] },
  },
  finalizing: {
    finalized: { to: 'completed', effects: ['notify'] },
    rejected: { to: 'failed', effects: ['notify'] },
    cancel_requested: { to: 'cancelling', effects: ['stop'] },
  },
  cancelling: {
    assigned: { to: 'cancelling', effects: [] },
    cancelled: { to: 'cancelled', effects: ['notify'] },
  },
  completed: afterTheEnd('completed'),
  failed: afterTheEnd('failed'),
  expired: afterTheEnd('expired'),
  cancelled: afterTheEnd('cancelled'),
};

/** Nothing changes a batch that has ended, but what is known of telling it. */
function afterTheEnd(to: BatchStatus): (typeof TABLE)[BatchStatus] {
  return { webhook_delivered: { to, effects: [] }, redelivery_requested: { to, effects: ['notify'] } };
}

/** True when nothing changes the batch any more. */
export function isTerminal(status: BatchStatus): boolean {
  return TERMINAL.has(status);
}

/** What an event makes of a batch (contract: states and transitions; gaps 8.4). */
export function transition(batch: BatchRecord, event: BatchEvent, now: number): BatchTransition {
  const move = TABLE[batch.status][event.type];
  if (move === undefined || isSecondJob(batch, event) || isSharedTwice(batch, event))
    return { batch, effects: [], applied: false };
  const next: BatchRecord = {
    ...batch,
    ...changesOf(event),
    status: move.to,
    revision: batch.revision + 1,
    ...(isTerminal(move.to) && !isTerminal(batch.status) ? timesOfEnd(batch, now) : {}),
  };
  const silent = batch.callbackUrl === undefined;
  return {
    batch: next,
    effects: move.effects.filter((effect) => effect !== 'notify' || !silent),
    applied: true,
  };
}

/** Times that the end of a batch sets. What it ends in is kept from then on, however long it ran. */
function timesOfEnd(
  { createdAt, deleteAt, outputKeptMs = Infinity }: BatchRecord,
  now: number,
): Pick<BatchRecord, 'finalizedAt' | 'deleteAt'> {
  const finalizedAt = Math.max(now, createdAt);
  return { finalizedAt, deleteAt: Math.min(deleteAt, finalizedAt + outputKeptMs) };
}

/** A batch is at a provider once: of two processes that handed it over, the first one to say so has done it. */
function isSecondJob({ upstream }: BatchRecord, event: BatchEvent): boolean {
  if (event.type !== 'assigned' || event.upstream === undefined || upstream === undefined) return false;
  return event.replaces === undefined || canonical(event.replaces) !== canonical(upstream);
}

function isSharedTwice({ shared }: BatchRecord, { type }: BatchEvent): boolean {
  return shared === true && type === 'shared';
}

function changesOf(event: BatchEvent): Partial<BatchRecord> {
  switch (event.type) {
    case 'validated':
      return event.expiresAt === undefined ? {} : { expiresAt: event.expiresAt };
    case 'rejected': {
      const { type: _, ...fault } = event;
      return { error: fault };
    }
    case 'assigned': {
      const { provider, expiresAt, upstream } = event;
      return {
        provider,
        ...(expiresAt === undefined ? {} : { expiresAt }),
        ...(upstream === undefined ? {} : { upstream }),
      };
    }
    case 'finalized':
      return {
        usage: event.usage,
        ...(event.provider === undefined ? {} : { provider: event.provider }),
        ...(event.fileBytes === undefined ? {} : { fileBytes: event.fileBytes }),
      };
    case 'shared':
      return { shared: true };
    case 'webhook_delivered':
      return { webhook: event.webhook };
    case 'redelivery_requested':
    case 'drained':
    case 'expired':
    case 'cancel_requested':
    case 'cancelled':
      return {};
  }
}
