/** Which parameters of a request an endpoint takes, by its record and by what a program declares, on every wire. */
import type { Endpoint } from '../catalog/endpoint.ts';
import { ALL_PARAMETERS, type ParameterName } from '../catalog/model.ts';
import type { Accepts } from '../core/accepts.ts';
import type { NormalizedRequest } from '../contracts/request.ts';
import { leftOut, type Note } from './adjustments.ts';
import { EncodeError } from './codec.ts';

/** Whether an endpoint takes a parameter; one that nobody declared may be taken. */
export type Takes = (name: ParameterName) => boolean;

/** What a request is written by: what its model accepts, which parameters it takes, and where changes are noted. */
export interface EncodingRules {
  readonly accepts: Accepts;
  readonly takes: Takes;
  readonly note: Note;
}

/** What of a request says which parameters it has, and whether it must have them. */
interface RequestedParameters extends Pick<NormalizedRequest, 'parameters'> {
  readonly preferences: Pick<NormalizedRequest['preferences'], 'requireParameters'>;
  readonly needs: Pick<NormalizedRequest['needs'], 'parameters'>;
}

/** A request that has no parameters, and requires none. */
const ANY_REQUEST: RequestedParameters = {
  preferences: { requireParameters: false },
  needs: { parameters: [] },
  parameters: {},
};

/** What the parameters that are taken depend on besides the record of the model. */
interface ParameterUse {
  /** Whether the request makes the model reason. */
  readonly reasons: boolean;
  /** Parameters that a server has no words for. Default: what the record says. */
  readonly unsupported?: readonly ParameterName[] | undefined;
}

/**
 * Which parameters an endpoint takes: what a program declares of it counts before what the record of its vendor says of
 * the model.
 *
 * @throws {@link EncodeError} for a request that requires all of its parameters, when the model refuses one of them.
 */
export function parametersTaken(
  { preferences, needs, parameters: requested }: RequestedParameters,
  endpoint: Endpoint,
  { parameters }: Accepts,
  { reasons, unsupported = NONE }: ParameterUse,
): Takes {
  const { refused, refusedWhileReasoning, exclusive } = parameters;
  const isRefused = (name: ParameterName): boolean =>
    (refused.includes(name) || (reasons && refusedWhileReasoning.includes(name))) && !isDeclared(endpoint, name);
  if (preferences.requireParameters) {
    const missing = needs.parameters.find(isRefused);
    if (missing !== undefined) throw new EncodeError(`The model does not take the parameter ${missing}`);
  }
  const takes: Takes = (name) =>
    !unsupported.includes(name) && endpoint.parameters?.has(name) !== false && !isRefused(name);
  if (exclusive.length === 0) return takes;
  const excluded = exclusive.filter(([first]) => first in requested && takes(first));
  return excluded.length === 0 ? takes : (name) => takes(name) && !excluded.some(([, second]) => second === name);
}

const NONE: readonly ParameterName[] = [];

/**
 * The parameters that an endpoint does not take of a request that requires none of them; undefined where one of them
 * excludes another, so that it depends on the request.
 */
export function untakenParameters(
  endpoint: Endpoint,
  accepts: Accepts,
  use: ParameterUse,
): ReadonlySet<ParameterName> | undefined {
  if (accepts.parameters.exclusive.length > 0) return undefined;
  const takes = parametersTaken(ANY_REQUEST, endpoint, accepts, use);
  return new Set(ALL_PARAMETERS.filter((name) => !takes(name)));
}

function isDeclared({ parameters, unknownParameters }: Endpoint, name: ParameterName): boolean {
  return parameters?.has(name) === true && unknownParameters?.has(name) !== true;
}

/** Whether reasoning can be requested. */
export function takesReasoning(takes: Takes): boolean {
  return takes('reasoning') || takes('reasoning_effort');
}

/** Whether a limit of tokens can be given. */
export function takesLimit(takes: Takes): boolean {
  return takes('max_tokens') || takes('max_completion_tokens');
}

/** Notes what of a request is not sent. */
export function noteLeftOut(request: NormalizedRequest, takes: Takes, note: Note): void {
  for (const name in request.parameters) {
    const isTaken = name === 'max_completion_tokens' ? takesLimit(takes) : takes(name as ParameterName);
    if (!isTaken) note(leftOut(name));
  }
  noteOthersLeftOut(request, takes, note);
}

/** The same for all but the plain parameters. */
export function noteOthersLeftOut(
  { tools, toolChoice, reasoning, responseFormat: format }: NormalizedRequest,
  takes: Takes,
  note: Note,
): void {
  if (reasoning !== undefined && !takesReasoning(takes)) note(leftOut('reasoning'));
  if (tools.length > 0 && !takes('tools')) note(leftOut('tools'));
  else if (tools.length > 0 && toolChoice !== undefined && !takes('tool_choice')) note(leftOut('tool_choice'));
  if (format === undefined || format.type === 'text') return;
  const isHeld = format.type === 'json_schema' && takes('structured_outputs');
  if (!isHeld && !takes('response_format')) note(leftOut('response_format'));
}
