import type { RefusedRequest } from '../../core/ledger/draft.ts';
import { type MaybePromise, orElse } from '../../platform/wait.ts';
import { CALLER_GONE, errorOfUnknown } from '../chat/router-errors.ts';
import type { RuntimeServices } from '../chat/services.ts';

/**
 * Begins a request. Where that fails the ledger notes that it was refused; without a ledger, nothing is done.
 *
 * @param signal - Of the client: one that has disconnected was not refused.
 * @param refused - What is known of the request; undefined where somebody else notes it.
 */
export function notingRefusal<Begun>(
  { ledger, environment, facts }: Pick<RuntimeServices, 'ledger' | 'environment' | 'facts'>,
  signal: AbortSignal | undefined,
  begin: () => MaybePromise<Begun>,
  refused: () => RefusedRequest | undefined,
): MaybePromise<Begun> {
  if (ledger === undefined) return begin();
  const startedAt = environment.now();
  return orElse(begin, (error) => {
    const request = refused();
    const told = signal?.aborted === true ? CALLER_GONE : errorOfUnknown(error);
    if (request !== undefined) ledger.refused(facts, startedAt, request, told);
    throw error;
  });
}
