/** Decides when an endpoint is shown in which way an answer did not fit its schema, and how that is said. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Mismatch } from '../../contracts/failure.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { Attempt } from './attempt.ts';
import { mayNameFault, misfitsOf } from './misfits.ts';

/** Longer answers are not shown again: their prompt would be another one than the route was planned for. */
const MAX_SHOWN_LENGTH = 100_000;

/**
 * The fault that the next call of an endpoint names. The second endpoint is asked as the first was, because another
 * model may simply not make the mistake; the third is shown it, and so is an endpoint that made it itself.
 */
export function faultToName(attempts: readonly Attempt[], { id }: Pick<Endpoint, 'id'>): Mismatch | undefined {
  if (!mayNameFault(attempts)) return undefined;
  const misfits = misfitsOf(attempts);
  const isAgain = attempts.some(
    ({ step, outcome }) => step.endpoint.id === id && !outcome.ok && outcome.failure.mismatch !== undefined,
  );
  return misfits.length > 1 || isAgain ? misfits.at(-1) : undefined;
}

/** The request with an answer that did not fit at its end, and what is wrong with it. */
export function withFault(request: NormalizedRequest, { path, problem, answer }: Mismatch): NormalizedRequest {
  const place = path === '$' ? 'The JSON as a whole' : `The value at ${path}`;
  const fault =
    'Your answer does not fit the JSON schema that was given. ' +
    `${place} ${problem}. Answer again with all of the JSON, so that it fits the schema, and nothing else.`;
  const shown = answer.trim() === '' || answer.length > MAX_SHOWN_LENGTH ? [] : [assistant(answer)];
  return { ...request, messages: [...request.messages, ...shown, { role: 'user', content: fault }] };
}

/** What a request fails with because no answer fits: the caller has paid for the last one, and may use it all the same. */
export function mismatchError({ path, problem, answer }: Mismatch): { message: string; metadata: JsonObject } {
  return {
    message: `No answer fits the JSON schema of the request: ${path} ${problem}. The last answer is in error.metadata.schema_mismatch`,
    metadata: { schema_mismatch: { path, problem, answer } },
  };
}

function assistant(content: string): NormalizedRequest['messages'][number] {
  return { role: 'assistant', content };
}
