import { RouterError } from '../../protocol/router-error.ts';
import type { NormalizedRequest } from '../normalize/normalized-request.ts';

/**
 * A request that endpoints get in the chat form, because the caller's own body no longer says what it says.
 *
 * @param because - What changes the request or its answer, for the error.
 * @throws {@link RouterError} 400 when the caller's body says something that only its dialect can say.
 */
export function withoutNative(request: NormalizedRequest, because: string): NormalizedRequest {
  const { native, ...rest } = request;
  if (native === undefined) return request;
  if (native.requiredBy === undefined) return rest;
  throw new RouterError({
    status: 400,
    errorType: 'invalid_request',
    message: `${native.requiredBy} goes to a provider as it is, so it cannot be combined with ${because}`,
    metadata: { path: native.requiredBy },
  });
}
