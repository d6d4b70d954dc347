import type { ParameterName } from '../../catalog/model.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import type { ModelRules, ThinkingPlan } from './plan-thinking.ts';
import * as read from '../../platform/json.ts';

/** How the model is held to the form of the answer that was asked for. */
export type FormatPlan =
  | { readonly type: 'none' }
  /** By the API itself. */
  | { readonly type: 'native'; readonly schema: JsonObject }
  /** By a call of a tool whose arguments are the answer; see {@link FORMAT_TOOL}. */
  | { readonly type: 'tool'; readonly schema: JsonObject }
  /** By being told. */
  | { readonly type: 'instruction'; readonly text: string };

/** The tool whose arguments are the answer, on models that cannot be held to a schema otherwise. */
export const FORMAT_TOOL = 'answer_in_json';

const NONE: FormatPlan = { type: 'none' };
const JSON_ONLY = 'Answer with one valid JSON object and nothing else: no words around it and no code fence.';

/** Chooses the strictest way that the model, the schema and the rest of the request allow. */
export function planFormat(
  request: NormalizedRequest,
  rules: ModelRules,
  thinking: ThinkingPlan,
  takes: (name: ParameterName) => boolean,
): FormatPlan {
  const { responseFormat: format } = request;
  if (format?.type === 'json_object') return takes('response_format') ? { type: 'instruction', text: JSON_ONLY } : NONE;
  if (format?.type !== 'json_schema') return NONE;
  const schema = (format.json_schema.schema ?? undefined) as JsonObject | undefined;
  if (schema === undefined) return { type: 'instruction', text: JSON_ONLY };
  const strict = rules.structuredOutputs && takes('structured_outputs') ? strictSchema(schema) : undefined;
  if (strict !== undefined) return { type: 'native', schema: strict };
  if (mayForceFormat(request) && rules.forcedTools && !thinking.budgeted && schema['type'] === 'object') {
    return { type: 'tool', schema };
  }
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

/** Keywords that the API refuses; what they say is kept in the description, where the model reads it. */
const UNSUPPORTED = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
]);

/** Keywords that hold a schema, several, or several by name. */
const INNER = new Set(['items', 'not', 'if', 'then', 'else', 'contains', 'propertyNames']);
const INNER_LISTS = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const INNER_MAPS = new Set(['properties', '$defs', 'definitions']);

/** Optional properties in one request. */
const MOST_OPTIONAL = 24;
/** Levels of nesting; deeper schemas are too complex anyway. */
const MOST_DEPTH = 32;

/**
 * Rewrites a JSON Schema so that the API can hold an answer to it, or gives undefined when it cannot: schemas that
 * refer to themselves or to other documents, objects that are open to any property, and ones that are too large.
 */
export function strictSchema(schema: JsonObject): JsonObject | undefined {
  if (refersToItself(schema)) return undefined;
  const state = { optional: 0, impossible: false };
  const rewritten = rewrite(schema, state, 0);
  return state.impossible || state.optional > MOST_OPTIONAL ? undefined : rewritten;
}

interface State {
  optional: number;
  impossible: boolean;
}

function rewrite(schema: JsonObject, state: State, depth: number): JsonObject {
  if (depth > MOST_DEPTH) state.impossible = true;
  if (state.impossible) return {};
  const kept: Record<string, JsonValue | undefined> = {};
  const told: string[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    if (UNSUPPORTED.has(keyword) || (keyword === 'minItems' && Number(value) > 1)) {
      told.push(`${keyword}: ${JSON.stringify(value)}`);
    } else {
      kept[keyword] = rewriteMember(keyword, value, state, depth + 1);
    }
  }
  if (told.length > 0) kept['description'] = [schema['description'], told.join(', ')].filter(read.isText).join('. ');
  if (isObjectSchema(schema)) close(schema, kept, state);
  return kept;
}

function rewriteMember(
  keyword: string,
  value: JsonValue | undefined,
  state: State,
  depth: number,
): JsonValue | undefined {
  if (keyword === '$ref' && !(typeof value === 'string' && value.startsWith('#'))) state.impossible = true;
  if (INNER.has(keyword) && isJsonObject(value)) return rewrite(value, state, depth);
  if (INNER_LISTS.has(keyword) && Array.isArray(value)) {
    return value.map((one: JsonValue) => (isJsonObject(one) ? rewrite(one, state, depth) : one));
  }
  if (!INNER_MAPS.has(keyword) || !isJsonObject(value)) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([name, one]) => [name, isJsonObject(one) ? rewrite(one, state, depth) : one]));
}

/** Objects must be closed; one that is open on purpose would lose everything it is for. */
function close(schema: JsonObject, kept: Record<string, JsonValue | undefined>, state: State): void {
  const { properties, required, additionalProperties: more, patternProperties: patterns } = schema;
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  const open =
    more === true || isJsonObject(more) || patterns !== undefined || (more === undefined && names.length === 0);
  if (open) state.impossible = true;
  const needed = new Set(read.list(required));
  state.optional += names.filter((name) => !needed.has(name)).length;
  kept['additionalProperties'] = false;
}

function isObjectSchema({ type, properties }: JsonObject): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || properties !== undefined;
}

/** Follows the references inside a schema; a way that comes back to where it was is a circle. */
function refersToItself(root: JsonObject): boolean {
  const done = new Set<unknown>();
  const visit = (value: JsonValue | undefined, trail: ReadonlySet<unknown>): boolean => {
    if (Array.isArray(value)) return value.some((one: JsonValue) => visit(one, trail));
    if (!isJsonObject(value) || done.has(value)) return false;
    if (trail.has(value) || trail.size > 2 * MOST_DEPTH) return true;
    const inner = new Set(trail).add(value);
    const { $ref: reference } = value;
    const target = typeof reference === 'string' ? resolve(root, reference) : undefined;
    const circular = visit(target, inner) || Object.values(value).some((one) => visit(one, inner));
    done.add(value);
    return circular;
  };
  return visit(root, new Set());
}

function resolve(root: JsonObject, reference: string): JsonValue | undefined {
  let place: JsonValue | undefined = root;
  for (const step of reference.split('/').slice(1)) {
    if (!isJsonObject(place)) return undefined;
    place = place[step.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return place;
}
