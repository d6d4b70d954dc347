import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ParameterName, ToolChoiceKind } from '../../catalog/parameters.ts';
import type { SelectionPolicy } from './world.ts';

/** Whether an endpoint can do something; `unknown` when nobody declared it. */
export type Capability = 'yes' | 'no' | 'unknown';

/** Whether something may be used: what is unknown gets the answer of the policy. */
export function isAllowed(capability: Capability, policy: SelectionPolicy): boolean {
  return capability === 'unknown' ? policy.unknownCapability === 'allow' : capability === 'yes';
}

/** Whether a set holds a value; of a set that nobody declared, nothing is known. */
export function capabilityIn<Value>(declared: ReadonlySet<Value> | undefined, value: Value): Capability {
  if (declared === undefined) return 'unknown';
  return declared.has(value) ? 'yes' : 'no';
}

/** Whether an endpoint takes a parameter. The two names of the token limit are one, and so are those of reasoning. */
export function parameterCapability(endpoint: Endpoint, name: ParameterName): Capability {
  const own = oneCapability(endpoint, name);
  const twin = TWINS[name];
  if (own === 'yes' || twin === undefined) return own;
  const other = oneCapability(endpoint, twin);
  return other === 'no' ? own : other;
}

function oneCapability({ parameters, unknownParameters }: Endpoint, name: ParameterName): Capability {
  return unknownParameters?.has(name) === true ? 'unknown' : capabilityIn(parameters, name);
}

/** Whether an endpoint with tools lets the caller choose among them like this. `auto` is what no choice means. */
export function toolChoiceCapability(endpoint: Endpoint, choice: ToolChoiceKind): Capability {
  if (endpoint.toolChoices !== undefined) return capabilityIn(endpoint.toolChoices, choice);
  return choice === 'auto' ? 'yes' : 'unknown';
}

/** Whether a set holds a value; a set that nobody declared gives the answer of the policy. */
export function supports<Value>(
  declared: ReadonlySet<Value> | undefined,
  value: Value,
  policy: SelectionPolicy,
): boolean {
  return isAllowed(capabilityIn(declared, value), policy);
}

/** Whether a parameter may be sent to an endpoint. */
export function takesParameter(endpoint: Endpoint, name: ParameterName, policy: SelectionPolicy): boolean {
  return isAllowed(parameterCapability(endpoint, name), policy);
}

/** Names that mean the same ability. */
const TWINS: Readonly<Partial<Record<ParameterName, ParameterName>>> = {
  max_completion_tokens: 'max_tokens',
  max_tokens: 'max_completion_tokens',
  reasoning: 'reasoning_effort',
  reasoning_effort: 'reasoning',
};
