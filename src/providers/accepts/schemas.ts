/**
 * Which words of JSON Schema providers take, in tools and where answers are held to a schema. Allow-lists: a word that is
 * not in here is rewritten or told in a description (`core/schema/rewrite-schema.ts`).
 */
import type { HeldSchemaRules, SchemaRules } from '../../core/schema/schema-rules.ts';

/** Words of JSON Schema in all of its drafts; others are of OpenAPI, or of whoever made the schema. */
const STANDARD_WORDS: readonly string[] = (
  '$schema $id $ref $defs $anchor $dynamicRef $dynamicAnchor $comment $vocabulary definitions type enum const title ' +
  'description default examples deprecated readOnly writeOnly format pattern minLength maxLength minimum maximum ' +
  'exclusiveMinimum exclusiveMaximum multipleOf properties required additionalProperties patternProperties propertyNames ' +
  'minProperties maxProperties dependentRequired dependentSchemas dependencies unevaluatedProperties items prefixItems ' +
  'additionalItems contains minItems maxItems minContains maxContains uniqueItems unevaluatedItems anyOf oneOf allOf not if ' +
  'then else contentEncoding contentMediaType contentSchema'
).split(' ');

function standardWordsWithout(...refused: readonly string[]): ReadonlySet<string> {
  const words = new Set(STANDARD_WORDS);
  for (const word of refused) words.delete(word);
  return words;
}

/** Whatever the schema says. */
export const ANY_SCHEMA: SchemaRules = {};

/** Formats of text that both OpenAI and Anthropic hold answers to. */
const FORMATS = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']);

/** Words that both take where answers are held to a schema. */
const HELD_WORDS = [
  '$ref',
  '$defs',
  'definitions',
  'additionalProperties',
  'anyOf',
  'const',
  'description',
  'enum',
  'format',
  'items',
  'minItems',
  'pattern',
  'properties',
  'required',
  'title',
  'type',
] as const;

/**
 * The schema of a tool at Anthropic: JSON Schema of 2020-12, but for unions at the root. The refusal reads "input_schema
 * does not support oneOf, allOf, or anyOf at the top level" (github.com/anthropics/claude-code/issues/27337, 2026-11).
 */
export const CLAUDE_TOOLS: SchemaRules = { notAtRoot: new Set(['anyOf', 'oneOf', 'allOf']) };

/** Structured outputs of Anthropic (docs.claude.com/en/docs/build-with-claude/structured-outputs, 2026-08). */
export const CLAUDE_HELD: HeldSchemaRules = {
  words: new Set([...HELD_WORDS, 'default']),
  formats: new Set([...FORMATS, 'uri']),
  // Neither references back, nor looking around, nor edges of words.
  refusedPatterns: /\\[1-9bBk]|\(\?(?!:)/,
  mostMinItems: 1,
  held: { mostOptional: 24, mostUnions: 16, mostDepth: 32 },
};

/** The schema of a strict tool at Anthropic. */
export const CLAUDE_STRICT_TOOLS: HeldSchemaRules = { ...CLAUDE_HELD, notAtRoot: CLAUDE_TOOLS.notAtRoot };

/**
 * The schema of a function at OpenAI. Refusals read "object schema missing properties", "array schema missing items", and
 * "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level"
 * (github.com/langchain-ai/langchain-mcp-adapters/issues/137, github.com/openai/codex/issues/4176, 2026-11).
 */
export const OPENAI_TOOLS: SchemaRules = {
  notAtRoot: new Set(['anyOf', 'oneOf', 'allOf', 'enum', 'not']),
  complete: true,
};

/** Structured outputs of OpenAI (platform.openai.com/docs/guides/structured-outputs, 2026-11). */
export const OPENAI_HELD: HeldSchemaRules = {
  ...OPENAI_TOOLS,
  words: new Set([
    ...HELD_WORDS,
    'exclusiveMaximum',
    'exclusiveMinimum',
    'maxItems',
    'maxLength',
    'maximum',
    'minLength',
    'minimum',
    'multipleOf',
  ]),
  formats: FORMATS,
  refusedPatterns: /\(\?[=!<]/,
  lonelyReferences: true,
  held: { allRequired: true, typed: true, recursion: true, mostDepth: 10 },
};

/**
 * Schemas at Google, of functions and of answers alike (API reference of `GenerationConfig.responseJsonSchema`:
 * ai.google.dev/api/generate-content, 2026-11). Nothing but other words with a `$` may be beside a `$ref`.
 */
export const GOOGLE_FORMATS: SchemaRules = {
  words: new Set(
    (
      '$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum maximum anyOf ' +
      'oneOf properties additionalProperties required propertyOrdering'
    ).split(' '),
  ),
  lonelyReferences: true,
};

/** The schema of a function at Google: one object. */
export const GOOGLE_TOOLS: SchemaRules = { ...GOOGLE_FORMATS, notAtRoot: new Set() };

/**
 * Schemas at xAI, which holds the arguments of every tool and every answer in a form to theirs, `strict` or not. Lengths of
 * texts and lists are refused, of `allOf` more than one member, and an object that does not say that it is open is closed (docs.x.ai/developers/model-capabilities/text/
 * structured-outputs, openclaw#32080, 2026-11).
 */
export const XAI_FORMATS: SchemaRules = {
  words: standardWordsWithout('minLength', 'maxLength', 'minItems', 'maxItems', 'minContains', 'maxContains', 'allOf'),
  complete: true,
  saysOpen: true,
};

/** The schema of a tool at xAI. */
export const XAI_TOOLS: SchemaRules = { ...XAI_FORMATS, notAtRoot: new Set() };

/**
 * The schema of a tool, and one that answers are not held to, at Groq and Mistral: JSON Schema, checked before use
 * (console.groq.com/docs/structured-outputs, docs.mistral.ai/capabilities/structured_output/custom, 2026-11).
 */
export const STANDARD: SchemaRules = { words: standardWordsWithout(), complete: true };

/**
 * Structured outputs of Groq. Its refusals read "minItems is not supported", and "`additionalProperties:false` and all
 * properties in `required` must be set on every object" (console.groq.com/docs/structured-outputs, beeai-framework#1215,
 * presenton#165, 2026-11).
 */
export const GROQ_HELD: HeldSchemaRules = {
  words: new Set(
    [...HELD_WORDS, 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'].filter(
      (word) => word !== 'minItems',
    ),
  ),
  formats: FORMATS,
  complete: true,
  held: { allRequired: true, typed: true, recursion: true, mostDepth: 10 },
};

/** Structured outputs of Mistral: JSON Schema whose objects are closed (docs.mistral.ai, mistralai/client-python, 2026-11). */
export const MISTRAL_HELD: HeldSchemaRules = {
  words: standardWordsWithout('allOf', 'not', 'if', 'then', 'else', 'dependentSchemas', 'unevaluatedProperties'),
  complete: true,
  held: { recursion: true, mostDepth: 32 },
};

/**
 * The schema of a strict tool at DeepSeek. Its refusals read "unknown variant `uri`", "An object with no properties is not
 * allowed", and "missing field `type`" (api-docs.deepseek.com/guides/tool_calls, weave-os/router#163, Codewhale#938, 2026-11).
 */
export const DEEPSEEK_HELD: HeldSchemaRules = {
  words: new Set([
    '$ref',
    '$defs',
    'additionalProperties',
    'anyOf',
    'const',
    'default',
    'description',
    'enum',
    'exclusiveMaximum',
    'exclusiveMinimum',
    'format',
    'items',
    'maximum',
    'minimum',
    'multipleOf',
    'pattern',
    'properties',
    'required',
    'title',
    'type',
  ]),
  formats: new Set(['email', 'hostname', 'ipv4', 'ipv6', 'uuid']),
  notAtRoot: new Set(['anyOf']),
  complete: true,
  held: { allRequired: true, typed: true, fullObjects: true, recursion: true, mostDepth: 32 },
};

/** What is demanded of no schema that a server takes, and of some by those that check them. It does no harm anywhere. */
export const COMPLETED: SchemaRules = { complete: true };

/** The schema of a tool for Claude behind the chat completions API of somebody else. */
export const CLAUDE_ELSEWHERE: SchemaRules = { ...CLAUDE_TOOLS, ...COMPLETED };
