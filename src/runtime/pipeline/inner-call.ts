import { RouterError } from '../../errors.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { ChatRequest } from '../../protocol/chat-request.ts';
import type { ChatResult } from '../../protocol/chat-result.ts';
import type { RuntimeServices } from '../services.ts';
import type { Ledger } from './ledger.ts';

/** How deep in calls of plugins a request stands; 0 for one from outside. */
export function depthOf({ within }: NormalizedRequest): number {
  return within?.depth ?? 0;
}

/**
 * Lets a plugin or server tool ask the router. What it costs is put in the ledger of the outer request.
 *
 * @throws {@link RouterError} when the call fails, or 422 when it is too deep.
 */
export async function callWithin(
  services: RuntimeServices,
  outer: { readonly request: NormalizedRequest; readonly ledger: Ledger; readonly signal: AbortSignal },
  id: string,
  request: ChatRequest,
): Promise<ChatResult> {
  const depth = depthOf(outer.request) + 1;
  if (depth > services.maxPluginDepth) {
    throw new RouterError({
      status: 422,
      errorType: 'unprocessable',
      message: `"${id}" asks the router within a call that a plugin made; that goes at most ${services.maxPluginDepth} deep`,
    });
  }
  const { account, id: parent } = outer.request;
  const result = await services.callWithin(request, { account, signal: outer.signal, depth, parent });
  outer.ledger.called(id, result);
  return result;
}
