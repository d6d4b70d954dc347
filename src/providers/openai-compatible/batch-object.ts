import { failure } from '../../core/fallback/failure.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { NativeReply, NativeState } from '../native-batches.ts';

/** A word that is there: servers write an empty one, or null, for none. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** An answer of the batch API that is not what it should be. */
export function badAnswer(what: string): NativeReply<never> {
  return { ok: false, failure: failure('bad_response', `The provider sent ${what}`) };
}

/** When a batch ends by itself, in epoch milliseconds. */
export function expiryOf({ expires_at: seconds }: JsonObject): number | undefined {
  return typeof seconds === 'number' && seconds > 0 ? seconds * 1_000 : undefined;
}

/**
 * How a batch stands (upstreams 5.5). States that nobody knows yet are no reason to give it up.
 *
 * @param present - Makes a text of the provider's fit to be shown.
 */
export function stateOf(batch: JsonObject, present: (text: string) => string | undefined): NativeState {
  const { status } = batch;
  switch (status) {
    case 'completed':
    case 'expired':
    case 'cancelled':
      return { status: 'ended', outcome: status };
    case 'failed':
      return { status: 'ended', outcome: status, message: reasonOf(batch, present) };
    default:
      return { status: 'running', expiresAt: expiryOf(batch) };
  }
}

/** What a batch that failed as a whole failed for: the first of its errors. */
function reasonOf({ errors }: JsonObject, present: (text: string) => string | undefined): string | undefined {
  const data: unknown = isJsonObject(errors) ? errors['data'] : undefined;
  const first = (Array.isArray(data) ? data : []).find(isJsonObject);
  const message = textOf(first?.['message']) ?? textOf(first?.['code']);
  if (message === undefined) return undefined;
  const line = first?.['line'];
  return present(typeof line === 'number' ? `${message} (request ${line})` : message);
}
