import { ANONYMOUS } from '../core/account.ts';
import type { RequestContext } from '../core/normalize/normalize.ts';
import { traceContextOf } from '../core/trace-context.ts';
import type { OpenOptions } from './router.ts';
import type { RuntimeServices } from '../runtime/chat/services.ts';

/** What comes with a request besides its body: who asks, its id, its time. */
export async function contextOf(
  services: RuntimeServices,
  user: string | null | undefined,
  options: OpenOptions,
): Promise<RequestContext> {
  const { environment, endUsers } = services;
  const account = options.account ?? ANONYMOUS;
  services.checkAccount(account);
  const standIn = endUsers.standIn(account.id, user);
  const created = Math.floor(environment.wallClock() / 1_000);
  return {
    id: `${options.batch === true ? 'gen-batch' : 'gen'}-${created}-${environment.randomText(20)}`,
    created,
    account,
    endUser: typeof standIn === 'string' ? standIn : await standIn,
    sessionHeader: options.sessionId,
    wantsMetadata: options.metadata ?? false,
    anthropicBeta: options.anthropicBeta,
    traceContext:
      options.traceContext && traceContextOf(options.traceContext.traceparent, options.traceContext.tracestate),
  };
}
