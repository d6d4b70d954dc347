/** Decides how a Claude model is held to the requested response format. */
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { ThinkingPlan } from './plan-thinking.ts';
import { heldSchema, toolArgumentsSchema } from '../../core/schema/rewrite-schema.ts';
import type { JsonSchema } from '../../core/schema/schema-parts.ts';
import { rewritten } from '../adjustments.ts';
import type { EncodingRules } from '../taken-parameters.ts';

/** How the model is held to the form of the answer that was requested. */
export type FormatPlan =
  | { readonly type: 'none' }
  /** By the API itself. */
  | { readonly type: 'native'; readonly schema: JsonSchema }
  /** By a call of a tool whose arguments are the answer; see {@link FORMAT_TOOL}. */
  | { readonly type: 'tool'; readonly schema: JsonSchema }
  /** By being told. */
  | { readonly type: 'instruction'; readonly text: string };

/** The tool whose arguments are the answer, on models that cannot be held to a schema otherwise. */
export const FORMAT_TOOL = 'answer_in_json';

const NONE: FormatPlan = { type: 'none' };
const JSON_ONLY = 'Answer with one valid JSON object and nothing else: no words around it and no code fence.';

/** Chooses the strictest way that the model, the schema and the rest of the request allow. */
export function planFormat(
  request: NormalizedRequest,
  thinking: ThinkingPlan,
  { accepts: { schemas, parameters }, takes, note }: EncodingRules,
): FormatPlan {
  const { responseFormat: format } = request;
  if (format?.type === 'json_object') return takes('response_format') ? { type: 'instruction', text: JSON_ONLY } : NONE;
  if (format?.type !== 'json_schema') return NONE;
  const schema = (format.json_schema.schema ?? undefined) as JsonObject | undefined;
  if (schema === undefined) return { type: 'instruction', text: JSON_ONLY };
  const { formats } = schemas;
  const mayHold = formats !== undefined && formats !== 'none' && takes('structured_outputs');
  const strict = mayHold ? heldSchema(schema, formats) : undefined;
  if (strict !== undefined) {
    if (strict !== schema) note(rewritten(['response_format']));
    return { type: 'native', schema: strict };
  }
  const mayForce = parameters.forcedTools !== 'never' && !thinking.budgeted;
  if (mayForceFormat(request) && mayForce && schema['type'] === 'object') {
    note('response_format became a tool that the model must call, because answers cannot be held to its schema');
    return { type: 'tool', schema: toolArgumentsSchema(schema, schemas.tools) };
  }
  note('response_format became an instruction, because answers cannot be held to its schema');
  return { type: 'instruction', text: `${JSON_ONLY} It must follow this JSON Schema: ${JSON.stringify(schema)}` };
}

/**
 * Whether a call of {@link FORMAT_TOOL} in an answer to this request is the answer itself: with tools of the caller's
 * around, none is forced on the model.
 */
export function mayForceFormat({ responseFormat, tools, messages }: NormalizedRequest): boolean {
  if (responseFormat?.type !== 'json_schema' || tools.length > 0) return false;
  return !messages.some((message) => message.role === 'assistant' && (message.tool_calls ?? []).length > 0);
}
