import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { NativeJob, NativeState } from '../native-batches.ts';
import { textOf } from './batch-object.ts';

/** Milliseconds after its creation at which a job ends by itself: the time that is asked for. */
const WINDOW_MS = 86_400_000;

/** What is remembered of a job; undefined for one without an id. */
export function jobOf(batch: JsonObject): NativeJob | undefined {
  const id = textOf(batch['id']);
  if (id === undefined) return undefined;
  const { input_files: files } = batch;
  const file = Array.isArray(files) ? textOf(files[0]) : undefined;
  return { job: { id, file: file ?? null }, expiresAt: expiryOf(batch) };
}

/**
 * How a job stands (upstreams 5.5). States that nobody knows yet are no reason to give it up.
 *
 * @param present - Makes a text of the provider's fit to be shown.
 */
export function stateOfJob(batch: JsonObject, present: (text: string) => string | undefined): NativeState {
  switch (batch['status']) {
    case 'SUCCESS':
      return { status: 'ended', outcome: 'completed' };
    case 'TIMEOUT_EXCEEDED':
      return { status: 'ended', outcome: 'expired' };
    case 'CANCELLED':
      return { status: 'ended', outcome: 'cancelled' };
    case 'FAILED': {
      const { errors } = batch;
      const first = (Array.isArray(errors) ? errors : []).find(isJsonObject);
      const message = textOf(first?.['message']);
      return { status: 'ended', outcome: 'failed', message: message && present(message) };
    }
    default:
      return { status: 'running', expiresAt: expiryOf(batch) };
  }
}

function expiryOf({ created_at: seconds }: JsonObject): number | undefined {
  return typeof seconds === 'number' && seconds > 0 ? seconds * 1_000 + WINDOW_MS : undefined;
}
