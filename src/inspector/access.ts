import type { InspectedRouter, InspectorCall } from '../config/inspector.ts';
import { authorize } from '../http/authorize.ts';
import { isLocalCaller } from '../http/local-caller.ts';
import { RouterError } from '../protocol/router-error.ts';
import { warn } from '../runtime/chat/events.ts';
import type { InspectorOptions } from './inspector.ts';

/**
 * Lets in whoever may see requests of all accounts: by the host's own check, from this machine where the router has no
 * authentication (`allowAnonymous` is about models, and does not open this), or by a key with the scope `management`.
 *
 * @throws {@link RouterError} 401 or 403 for everybody else.
 */
export async function admit(
  { internals }: InspectedRouter,
  call: InspectorCall,
  allow: InspectorOptions['allow'],
): Promise<void> {
  if (allow !== undefined && (await isAllowed(internals, call, allow))) return;
  const { authenticate, anonymous, cors } = internals.config;
  if (authenticate !== undefined) {
    await authorize(call, 'management', internals);
    return;
  }
  if (anonymous !== 'nobody' && isLocalCaller(call, cors)) return;
  throw new RouterError({
    status: 401,
    errorType: 'authentication',
    message:
      'The inspector answers this machine only, and none behind a proxy. For others, give createRouter authenticate, ' +
      'and use a key with the scope management; or give inspector() a check of your own: allow.',
  });
}

async function isAllowed(
  { services }: InspectedRouter['internals'],
  { header }: InspectorCall,
  allow: NonNullable<InspectorOptions['allow']>,
): Promise<boolean> {
  try {
    // Programs in JavaScript may give anything; only a plain yes lets somebody in.
    const allowed: unknown = await allow({ header });
    return allowed === true;
  } catch (error) {
    const reason = error instanceof Error ? error.name : typeof error;
    warn(services.events, { code: 'inspector_allow', message: `allow of inspector() failed (${reason})` });
    return false;
  }
}

/** Set by the page on everything that changes something; no other site can make a browser send it. */
export const PAGE_HEADER = 'x-signalbox-inspector';

/** @throws {@link RouterError} 403 when a change was not asked for by the page itself. */
export function refuseForeignPages({ header }: InspectorCall): void {
  if (header(PAGE_HEADER) !== undefined) return;
  const message = `Changes need the header ${PAGE_HEADER}, which only the inspector's own page sends`;
  throw new RouterError({ status: 403, errorType: 'permission_denied', message });
}
