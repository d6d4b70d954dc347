import { ANONYMOUS } from '../core/account.ts';
import type { RequestContext } from '../core/normalize/normalize.ts';
import { traceContextOf } from '../core/trace-context.ts';
import type { OpenOptions } from './router.ts';
import { andThen, type MaybePromise } from '../platform/wait.ts';
import type { RuntimeServices } from '../runtime/chat/services.ts';

/** What comes with a request besides its body: who asks, its id, its time. */
export function contextOf(
  services: RuntimeServices,
  user: string | null | undefined,
  options: OpenOptions,
): MaybePromise<RequestContext> {
  const { environment, endUsers } = services;
  const account = options.account ?? ANONYMOUS;
  services.checkAccount(account);
  const created = Math.floor(environment.wallClock() / 1_000);
  return andThen(endUsers.standIn(account.id, user), (endUser) => ({
    id: `${options.batch === true ? 'gen-batch' : 'gen'}-${created}-${environment.randomText(20)}`,
    created,
    account,
    endUser,
    sessionHeader: options.sessionId,
    wantsMetadata: options.metadata ?? false,
    batch: options.batch,
    anthropicBeta: options.anthropicBeta,
    verbatim: options.verbatim,
    traceContext:
      options.traceContext && traceContextOf(options.traceContext.traceparent, options.traceContext.tracestate),
  }));
}
