/** What Groq refuses. */
import * as read from '../../platform/json.ts';
import { formatOf, formatTypeOf, memberOutside, messagesOf, tokensOf, toolsOf } from './chat-body.ts';
import type { StrictRule } from './rule.ts';
import { isObjectSchema, schemaWith } from './schema.ts';

const REFERENCE = 'Groq, API reference "Create chat completion"';
const COMPATIBILITY = 'Groq, page "OpenAI Compatibility"';

const PARAMETERS = new Set(
  (
    'model messages citation_options compound_custom disable_tool_validation documents store ' +
    'frequency_penalty function_call functions include_reasoning max_completion_tokens max_tokens ' +
    'metadata n parallel_tool_calls presence_penalty reasoning_effort reasoning_format seed ' +
    'response_format search_settings service_tier stop stream stream_options temperature tool_choice ' +
    'tools top_p user'
  ).split(' '),
);
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  system: ['role', 'content', 'name'],
  developer: ['role', 'content', 'name'],
  user: ['role', 'content', 'name'],
  assistant: ['role', 'content', 'name', 'tool_calls', 'function_call'],
  tool: ['role', 'content', 'tool_call_id'],
};
const TIERS = new Set(['auto', 'on_demand', 'flex', 'performance']);
const MOST_TOOLS = 128;
const MOST_STOPS = 4;

/** Efforts of the models that take them; other models refuse the parameter. */
function effortsOf(model: string): readonly string[] {
  if (/gpt-oss/.test(model)) return ['low', 'medium', 'high'];
  return /qwen3/.test(model) ? ['none', 'default'] : [];
}

/** Whether a model has structured outputs. */
function takesSchemas(model: string): boolean {
  return /gpt-oss|llama-4|kimi-k2/.test(model);
}

/** Rules of chat completions. */
export const GROQ_RULES: readonly StrictRule[] = [
  {
    id: 'groq/parameter-unknown',
    checks: 'a parameter that it does not have, such as top_k, logprobs and logit_bias',
    words: "property '{name}' is unsupported",
    source: `${COMPATIBILITY}; ${REFERENCE}`,
    date: '2026-11',
    find({ body }) {
      const name = memberOutside(body, PARAMETERS);
      return name === undefined ? undefined : { name };
    },
  },
  {
    id: 'groq/message-member',
    checks: 'a member of a message that it does not have, such as reasoning_content',
    words:
      "'messages.{at}' : for 'role:{role}' the following must be satisfied[('messages.{at}' : property '{member}' is unsupported)]",
    source: 'tashfeenahmed/freellmapi, issue 1070; karthink/gptel, issue 774; vercel/ai, pull request 8057',
    date: '2026-08-30',
    find(request) {
      for (const { at, role, fields } of messagesOf(request)) {
        const known = new Set(MEMBERS[role] ?? Object.keys(fields));
        // Models that reason take their own reasoning back.
        if (role === 'assistant' && effortsOf(request.model).length > 0) known.add('reasoning');
        const member = memberOutside(fields, known);
        if (member !== undefined) return { at, role, member };
      }
      return undefined;
    },
  },
  {
    id: 'groq/part-member',
    checks: 'a mark for caching on a part',
    words:
      "'messages.{at}' : for 'role:{role}' the following must be satisfied[('messages.{at}.content.{part}' : property 'cache_control' is unsupported)]",
    source: REFERENCE,
    date: '2026-11',
    find(request) {
      for (const { at, role, parts } of messagesOf(request)) {
        const part = parts.findIndex((one) => 'cache_control' in one || 'prompt_cache_breakpoint' in one);
        if (part >= 0) return { at, role, part };
      }
      return undefined;
    },
  },
  {
    id: 'groq/candidates',
    checks: 'another n than 1',
    words: "'n' : number must be at most 1",
    source: COMPATIBILITY,
    date: '2026-11',
    find: ({ body }) => ((read.number(body['n']) ?? 1) === 1 ? undefined : {}),
  },
  {
    id: 'groq/effort-refused',
    checks: 'an effort for a model that takes none',
    words: '`reasoning_effort` is not supported with this model',
    source: `Groq, page "Reasoning"; ${REFERENCE}`,
    date: '2026-11',
    find: ({ body, model }) =>
      read.isText(body['reasoning_effort']) && effortsOf(model).length === 0 ? {} : undefined,
  },
  {
    id: 'groq/effort-value',
    checks: 'an effort that the model does not take',
    words: '`reasoning_effort` must be one of {known}',
    source: 'Groq, page "Reasoning"',
    date: '2026-11',
    find({ body, model }) {
      const known = effortsOf(model);
      const effort = read.text(body['reasoning_effort']);
      if (effort === undefined || known.length === 0 || known.includes(effort)) return undefined;
      return { known: known.map((one) => `\`${one}\``).join(', ') };
    },
  },
  {
    id: 'groq/json-with-tools',
    checks: 'JSON mode together with functions',
    words: 'json mode cannot be combined with tool/function calling',
    source: 'Groq, page "Structured Outputs", JSON Object Mode',
    date: '2026-11',
    find: (request) => (formatTypeOf(request) === 'json_object' && toolsOf(request).length > 0 ? {} : undefined),
  },
  {
    id: 'groq/schema-refused',
    checks: 'the response format json_schema for a model without structured outputs',
    words:
      'This model does not support response format `json_schema`. See supported models at https://console.groq.com/docs/structured-outputs#supported-models',
    source: 'Groq, page "Structured Outputs", supported models',
    date: '2026-11',
    find: (request) => (formatTypeOf(request) === 'json_schema' && !takesSchemas(request.model) ? {} : undefined),
  },
  {
    id: 'groq/schema-strict',
    checks: 'in a strict format, an object that is not closed or does not require all of its properties',
    words:
      "invalid JSON schema for response_format: '{name}': {place}: `additionalProperties:false` and all properties in `required` must be set on every object",
    source: 'Groq, page "Structured Outputs", strict mode requirements',
    date: '2026-11',
    find(request) {
      const format = formatOf(request);
      if (format === undefined || !format.strict) return undefined;
      const found = schemaWith(format.schema, ({ schema }) => {
        const required = read.list(schema['required']);
        const closed = schema['additionalProperties'] === false;
        return (
          isObjectSchema(schema) &&
          (!closed || Object.keys(read.object(schema['properties'])).some((one) => !required.includes(one)))
        );
      });
      return found && { name: format.name, place: `/${found.path.join('/')}` };
    },
  },
  {
    id: 'groq/service-tier',
    checks: 'a service tier that it does not have',
    words: "'service_tier' : value must be one of [auto, on_demand, flex, performance]",
    source: REFERENCE,
    date: '2026-11',
    find({ body }) {
      const tier = read.text(body['service_tier']);
      return tier === undefined || TIERS.has(tier) ? undefined : {};
    },
  },
  {
    id: 'groq/tools-most',
    checks: 'more than 128 functions',
    words: "'tools' : maximum number of items is 128",
    source: REFERENCE,
    date: '2026-11',
    find: ({ body }) => (read.list(body['tools']).length > MOST_TOOLS ? {} : undefined),
  },
  {
    id: 'groq/stops-most',
    checks: 'more than four stop sequences',
    words: "'stop' : maximum number of items is 4",
    source: REFERENCE,
    date: '2026-11',
    find: ({ body }) => (read.list(body['stop']).length > MOST_STOPS ? {} : undefined),
  },
  {
    id: 'groq/choice-without-tools',
    checks: 'a forced call without tools',
    words: "'tool_choice' : tool_choice is only allowed when tools are specified",
    source: REFERENCE,
    date: '2026-11',
    find({ body }) {
      const { tool_choice: choice } = body;
      const forced = choice !== undefined && choice !== null && choice !== 'auto' && choice !== 'none';
      return forced && read.list(body['tools']).length === 0 ? {} : undefined;
    },
  },
  {
    id: 'groq/too-long',
    checks: 'more than the context window holds',
    words: 'Please reduce the length of the messages or completion.',
    code: 'context_length_exceeded',
    param: 'messages',
    source: 'Groq, page "Error codes"; anomalyco/opencode, issue 50574',
    date: '2026-08',
    find: (request) => (tokensOf(request) > request.contextTokens ? {} : undefined),
  },
];
