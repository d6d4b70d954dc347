import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { isError, isErrorBody } from '../error-shape.ts';

/**
 * The error in a chunk or an answer that came with a good status, in the places where servers put it: at the top, in
 * Groq's extension, or inside a choice that broke off. Undefined where there is none.
 */
export function errorInside(body: JsonObject): unknown {
  if (isErrorBody(body)) return body;
  if (isError(body['error'])) return { error: body['error'] };
  const groq = body['x_groq'];
  if (isJsonObject(groq) && isError(groq['error'])) return { error: groq['error'] };
  const choices = Array.isArray(body['choices']) ? body['choices'] : [];
  const broken: unknown = choices.find((choice) => isJsonObject(choice) && isError(choice['error']));
  return isJsonObject(broken) ? { error: broken['error'] } : undefined;
}
