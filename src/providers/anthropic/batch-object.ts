import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { NativeState } from '../native-batches.ts';

/** When a batch ends by itself, in epoch milliseconds. */
export function expiryOf({ expires_at: date }: JsonObject): number | undefined {
  const time = typeof date === 'string' ? Date.parse(date) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

/**
 * How a batch stands (upstreams 5.5). Its counts do not move before it ends, and an end has no word for how it came:
 * the counts tell. Some requests that expired among others that were answered do not make the whole expire.
 */
export function stateOf(batch: JsonObject): NativeState {
  if (batch['processing_status'] !== 'ended') return { status: 'running', expiresAt: expiryOf(batch) };
  const counts = isJsonObject(batch['request_counts']) ? batch['request_counts'] : {};
  const count = (name: string): number => (typeof counts[name] === 'number' ? counts[name] : 0);
  if (batch['cancel_initiated_at'] != null && count('canceled') > 0) return { status: 'ended', outcome: 'cancelled' };
  const nothingDone = count('succeeded') + count('errored') === 0;
  return { status: 'ended', outcome: nothingDone && count('expired') > 0 ? 'expired' : 'completed' };
}
