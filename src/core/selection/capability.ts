import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ParameterName } from '../../catalog/parameters.ts';
import type { SelectionPolicy } from './world.ts';

/** Whether a set holds a value; a set that nobody declared gives the answer of the policy. */
export function supports<Value>(
  declared: ReadonlySet<Value> | undefined,
  value: Value,
  policy: SelectionPolicy,
): boolean {
  return declared === undefined ? policy.unknownCapability === 'allow' : declared.has(value);
}

/** Whether an endpoint takes a parameter. The two names of the token limit are one. */
export function takesParameter(endpoint: Endpoint, name: ParameterName, policy: SelectionPolicy): boolean {
  if (supports(endpoint.parameters, name, policy)) return true;
  const twin = TWINS[name];
  return twin !== undefined && supports(endpoint.parameters, twin, policy);
}

/** Names that mean the same ability. */
const TWINS: Readonly<Partial<Record<ParameterName, ParameterName>>> = {
  max_completion_tokens: 'max_tokens',
  max_tokens: 'max_completion_tokens',
  reasoning: 'reasoning_effort',
  reasoning_effort: 'reasoning',
};
