import type { Account } from '../core/account.ts';
import type { RouterInternals } from '../router/router.ts';
import type { Slot } from '../runtime/chat/concurrency.ts';
import { readJsonBody } from './body.ts';
import type { HttpCall } from './exchange.ts';

/** A body that was read, and the place among the requests that are handled. */
export interface Received {
  readonly body: unknown;
  /** Long texts of the body that need no escape; see `readJsonBody`. */
  readonly verbatim?: readonly string[] | undefined;
  /** To be left when the request is answered: the bytes of the body are in hand until then. */
  readonly slot: Slot;
}

/**
 * Reads the body of a call and takes a place for it. Who sends slowly holds no place, and who would find neither a place
 * nor room for the body is not made to send it.
 *
 * @param tokens - Numbers that may be in the body on top of `limits.nodes`.
 * @throws {@link RouterError} what `readJsonBody` throws, and 503 when no place is free.
 */
export async function receive(
  { config, admission, bytesInHand }: RouterInternals,
  call: HttpCall,
  account: Account,
  tokens = 0,
): Promise<Received> {
  const { limits } = config;
  admission.check();
  const declared = Number(call.header('content-length') ?? 0) || 0;
  bytesInHand.check(account.id, Math.min(declared, limits.bodyBytes));
  const hold = bytesInHand.open(account.id);
  try {
    const { value: body, verbatim } = await readJsonBody(call, { ...limits, nodes: limits.nodes + tokens }, hold);
    const slot = admission.enter();
    return {
      body,
      verbatim,
      slot: {
        leave() {
          hold.release();
          slot.leave();
        },
      },
    };
  } catch (error) {
    hold.release();
    throw error;
  }
}
