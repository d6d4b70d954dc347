import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ParameterName } from '../../catalog/parameters.ts';
import type { RoutedRequest } from '../normalize/normalized-request.ts';
import { takesParameter } from './capability.ts';
import type { SelectionPolicy } from './world.ts';

/** Abilities that are preferred: used when some endpoint has them, given up when none does (gaps 3.4). */
const PREFERRED: readonly ParameterName[] = ['response_format', 'structured_outputs', 'verbosity'];

/** The endpoints that have every preferred ability the request uses, or all of them where none has one. */
export function preferCapable(
  endpoints: readonly Endpoint[],
  { needs }: RoutedRequest,
  policy: SelectionPolicy,
): readonly Endpoint[] {
  let left = endpoints;
  const wanted = policy.toolSupport === 'prefer' && needs.tools ? [...PREFERRED, 'tools' as const] : PREFERRED;
  for (const name of wanted) {
    if (name !== 'tools' && !needs.parameters.includes(name)) continue;
    const able = left.filter((endpoint) => takesParameter(endpoint, name, policy));
    if (able.length > 0) left = able;
  }
  return left;
}
