/** Keeps requests of accounts with budgets within what is reserved for them. */
import type { RoutedRequest } from '../../contracts/request.ts';
import { limitedFields, notSent } from '../../core/limits/token-fields.ts';
import type { RuntimeServices } from '../chat/services.ts';

/**
 * A request without the passed-through fields by which its answer could cost more than is reserved. Those of accounts
 * without budgets stay as they are.
 */
export function withinBudget<Request extends RoutedRequest & { readonly adjustments?: readonly string[] | undefined }>(
  { spending }: Pick<RuntimeServices, 'spending'>,
  request: Request,
): Request {
  if (!hasMembers(request.extra) || !spending.holds(request.account)) return request;
  const { extra, dropped } = limitedFields(request.extra);
  if (dropped.length === 0) return request;
  return { ...request, extra, adjustments: [...(request.adjustments ?? []), ...dropped.map(notSent)] };
}

function hasMembers(extra: object): boolean {
  for (const _ in extra) return true;
  return false;
}
