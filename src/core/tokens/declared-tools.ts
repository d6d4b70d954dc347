/** Writes declarations of tools as models read them, to estimate their tokens. */
import type { FunctionTool } from '../../protocol/tools.ts';
import type { JsonSchemaFormat } from '../../protocol/reasoning.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import { isText } from '../../platform/json.ts';
import * as read from '../../platform/json.ts';

type Declaration = FunctionTool['function'];

/** Schemas within schemas that are written: deeper ones are no part of any tool that people use. */
const MAX_DEPTH = 16;
/** Parts of a schema that are written: definitions that refer to each other would never end. */
const MOST_PARTS = 10_000;

/** A declaration as JSON with spaces, as the chat templates of open models write it. */
export function asSpacedJson(tool: Declaration): string {
  return JSON.stringify({ type: 'function', function: tool }, undefined, 1).replaceAll(/\n\s*/g, ' ');
}

/** A schema with what it refers to in place: definitions are no text for the model. What refers to itself ends. */
function withoutReferences(schema: JsonValue | undefined): JsonValue | undefined {
  const definitions = isJsonObject(schema) ? definitionsOf(schema) : {};
  let left = MOST_PARTS;
  const inPlace = (value: JsonValue | undefined, depth: number): JsonValue | undefined => {
    left -= 1;
    if (depth > MAX_DEPTH || left < 0) return true;
    if (Array.isArray(value)) return value.map((one: JsonValue) => inPlace(one, depth + 1) ?? true);
    if (!isJsonObject(value)) return value;
    const target = referred(value, definitions);
    if (target !== undefined) return inPlace(target, depth + 1);
    const members = Object.entries(value).filter(([name]) => name !== '$defs' && name !== 'definitions');
    return Object.fromEntries(members.map(([name, member]) => [name, inPlace(member, depth + 1) ?? true]));
  };
  return inPlace(schema, 0);
}

/** A schema that an answer must fit, as OpenAI's models read it. */
export function asOpenAiSchema({ name, description, schema }: JsonSchemaFormat): string {
  const shown = JSON.stringify(withoutReferences(schema as JsonValue), (key, value: unknown) =>
    key === 'additionalProperties' ? undefined : value,
  );
  return [name, description ?? '', shown].join('\n');
}

/** The names and descriptions of a declaration, without what holds them together. */
export function wordsOfTool({ name, description, parameters }: Declaration): string {
  const words = [name, description ?? ''];
  visit(parameters as JsonValue | undefined, (part, property) => {
    words.push(property ?? '', read.text(part['description']) ?? '', ...read.list(part['enum']).map(String));
  });
  return words.filter((word) => word !== '').join(' ');
}

/** What Gemini counts for the structure of a declaration: its properties, their descriptions, what is nested. */
export function structureOfTool({ description, parameters }: Declaration): number {
  let tokens = description == null || description === '' ? 0 : 4;
  visit(parameters as JsonValue | undefined, (part, property) => {
    tokens += property === undefined ? 10 : 10.2;
    if (part['description'] !== undefined) tokens += 4;
  });
  return tokens;
}

/** Visits the schemas within a schema, with the name of the property where one is a property. */
function visit(root: JsonValue | undefined, each: (part: JsonObject, property: string | undefined) => void): void {
  const within = (schema: JsonValue | undefined): void => {
    if (!isJsonObject(schema)) return;
    for (const [name, member] of Object.entries(read.object(schema['properties']))) {
      if (isJsonObject(member)) each(member, name);
      within(member);
    }
    for (const nested of [schema['items'], ...read.objects(schema['anyOf'])]) {
      if (isJsonObject(nested)) each(nested, undefined);
      within(nested);
    }
  };
  within(withoutReferences(root));
}

/** OpenAI's models read functions as types of TypeScript. */
export function asTypeScript({ name, description, parameters }: Declaration): string {
  const schema = withoutReferences(parameters as JsonValue | undefined);
  const comment = isText(description) ? `// ${description}\n` : '';
  const properties = isJsonObject(schema) ? read.object(schema['properties']) : {};
  const takes = Object.keys(properties).length > 0 ? `_: ${typeOf(schema)}` : '';
  return `${comment}type ${name} = (${takes}) => any;`;
}

function typeOf(schema: JsonValue | undefined): string {
  if (!isJsonObject(schema)) return 'any';
  const { enum: words, anyOf, type, items, properties } = schema;
  if (Array.isArray(words)) return words.map((word) => JSON.stringify(word)).join(' | ');
  if (Array.isArray(anyOf)) return anyOf.map((one: JsonValue) => typeOf(one)).join(' | ');
  if (type === 'array') return `${typeOf(items)}[]`;
  if (!isJsonObject(properties)) return type === 'integer' ? 'number' : (read.text(type) ?? 'any');
  const required = new Set(read.list(schema['required']));
  const members = Object.entries(properties).map(([name, member]) => {
    const { title, description, default: usual } = read.object(member);
    const heading = isText(title) ? `// ${title}\n//\n` : '';
    const comment = isText(description) ? `// ${description}\n` : '';
    const ending = usual === undefined || usual === null ? ',' : `, // default: ${JSON.stringify(usual)}`;
    return `${heading}${comment}${name}${required.has(name) ? '' : '?'}: ${typeOf(member)}${ending}`;
  });
  return `{\n${members.join('\n')}\n}`;
}

function definitionsOf(root: JsonObject): JsonObject {
  return { ...read.object(root['definitions']), ...read.object(root['$defs']) };
}

/** What a schema refers to; undefined for one that refers to nothing that is there. */
function referred(schema: JsonObject, definitions: JsonObject): JsonValue | undefined {
  const name = /^#\/(?:\$defs|definitions)\/(.+)$/.exec(read.text(schema['$ref']) ?? '')?.[1];
  return name !== undefined && Object.hasOwn(definitions, name) ? definitions[name] : undefined;
}
