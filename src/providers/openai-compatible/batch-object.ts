import { failure } from '../../core/fallback/failure.ts';
import type { NativeReply } from '../native-batches.ts';

/** A word that is there: servers write an empty one, or null, for none. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** An answer of the batch API that is not what it should be. */
export function badAnswer(what: string): NativeReply<never> {
  return { ok: false, failure: failure('bad_response', `The provider sent ${what}`) };
}
