/**
 * Which words of JSON Schema providers take, in tools and where answers are held to a schema. Allow-lists: a word that is
 * not in here is rewritten or told in a description (`core/schema/rewrite-schema.ts`).
 */
import type { HeldSchemaRules, SchemaRules } from '../../core/schema/schema-rules.ts';

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

/** What is demanded of no schema that a server takes, and of some by those that check them. It does no harm anywhere. */
export const COMPLETED: SchemaRules = { complete: true };

/** The schema of a tool for Claude behind the chat completions API of somebody else. */
export const CLAUDE_ELSEWHERE: SchemaRules = { ...CLAUDE_TOOLS, ...COMPLETED };
