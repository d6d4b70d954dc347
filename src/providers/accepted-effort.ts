import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import { REASONING_EFFORTS, type ReasoningEffort } from '../protocol/reasoning.ts';
import { nearestEffort } from './openai-compatible/encode-request.ts';

/**
 * A client's own body with the nearest effort that its provider takes, where that has refused another one before; the same
 * body otherwise.
 *
 * @param place - The member that holds `effort`.
 * @param accepted - Efforts that the provider has named. Undefined: it has refused none.
 */
export function withAcceptedEffort(
  body: JsonObject,
  place: string,
  accepted: readonly ReasoningEffort[] | undefined,
): JsonObject {
  const holder = body[place];
  if (accepted === undefined || !isJsonObject(holder)) return body;
  const wanted = REASONING_EFFORTS.find((effort) => effort === holder['effort']);
  if (wanted === undefined || accepted.includes(wanted)) return body;
  return { ...body, [place]: { ...holder, effort: nearestEffort(wanted, accepted) } };
}
