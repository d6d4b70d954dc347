/** What Anthropic refuses in parameters, tools and formats of the Messages API. */
import * as read from '../../platform/json.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { anthropicFamily, ownTools, thinkingOf } from './anthropic-body.ts';
import { memberOutside } from './chat-body.ts';
import { type Finding, type StrictRequest, type StrictRule, shown } from './rule.ts';
import { type InnerSchema, isObjectSchema, isRecursive, schemaWith, wordOutside } from './schema.ts';

const REFERENCE = 'Anthropic, API reference "Create a Message"';
const STRUCTURED = 'Anthropic, page "Structured outputs", section "JSON Schema limitations"';
const THINKING = 'Anthropic, page "Building with extended thinking"';

const PARAMETERS = new Set(
  (
    'model messages max_tokens system metadata stop_sequences stream temperature top_p top_k tools ' +
    'tool_choice thinking output_config service_tier cache_control speed container inference_geo ' +
    'diagnostics context_management mcp_servers fallbacks'
  ).split(' '),
);
const TOOL_MEMBERS = new Set(
  (
    'name description input_schema cache_control strict type input_examples defer_loading ' +
    'eager_input_streaming allowed_callers'
  ).split(' '),
);
const NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const LEAST_BUDGET = 1_024;

/** Words of JSON Schema that structured outputs take. */
const WORDS = new Set(
  (
    'type properties required additionalProperties items enum const anyOf allOf $ref $defs ' +
    'definitions default format pattern minItems title description $schema $id'
  ).split(' '),
);
const FORMATS = new Set('date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '));

/** Schemas that must satisfy the limits of structured outputs: the format, and strict tools. */
function strictSchemas({ body }: StrictRequest): readonly { readonly of: string; readonly schema: JsonObject }[] {
  const format = read.object(read.object(body['output_config'])['format']);
  return [
    ...(format['type'] === 'json_schema'
      ? [{ of: 'output_config.format.schema', schema: read.object(format['schema']) }]
      : []),
    ...ownTools({ body }).flatMap(({ at, fields }) =>
      fields['strict'] === true
        ? [{ of: `tools.${at}.custom.input_schema`, schema: read.object(fields['input_schema']) }]
        : [],
    ),
  ];
}

function inStrict(
  request: StrictRequest,
  fits: (inner: InnerSchema, root: JsonObject) => Finding | undefined,
): Finding | undefined {
  for (const { of, schema } of strictSchemas(request)) {
    let found: Finding | undefined;
    schemaWith(schema, (inner) => (found = fits(inner, schema)) !== undefined);
    if (found !== undefined) return { of, ...found };
  }
  return undefined;
}

function toolWith(request: StrictRequest, fits: (fields: JsonObject) => boolean): Finding | undefined {
  const wrong = ownTools(request).find(({ fields }) => fits(fields));
  return wrong && { at: wrong.at };
}

function isThinking(request: StrictRequest): boolean {
  return ['enabled', 'adaptive'].includes(thinkingOf(request) ?? '');
}

function choiceOf({ body }: StrictRequest): string | undefined {
  return read.string(read.object(body['tool_choice'])['type']);
}

/** Rules of parameters, tools and formats. */
export const ANTHROPIC_PARAMETER_RULES: readonly StrictRule[] = [
  {
    id: 'anthropic/parameter-unknown',
    checks: 'a parameter that it does not have',
    words: '{name}: Extra inputs are not permitted',
    source: `${REFERENCE}; ttlequals0/MinusPod, release 2.101.10 (the words)`,
    date: '2026-10',
    find({ body }) {
      const name = memberOutside(body, PARAMETERS);
      return name === undefined ? undefined : { name };
    },
  },
  {
    id: 'anthropic/max-tokens-missing',
    checks: 'no max_tokens, or less than 1',
    words: 'max_tokens: Field required',
    source: REFERENCE,
    date: '2026-08',
    find: ({ body }) => ((read.number(body['max_tokens']) ?? 0) >= 1 ? undefined : {}),
  },
  {
    id: 'anthropic/max-tokens-most',
    checks: 'more max_tokens than the model writes',
    words: 'max_tokens: {value} > {most}, which is the maximum allowed number of output tokens for {model}',
    source: 'Anthropic, page "Models overview"',
    date: '2026-08',
    find({ body, model }) {
      const { mostOutput: most } = anthropicFamily(model);
      const value = read.number(body['max_tokens']) ?? 0;
      return value > most ? { value, most, model } : undefined;
    },
  },
  {
    id: 'anthropic/temperature-range',
    checks: 'a temperature outside 0 to 1',
    words: 'temperature: range: 0..1',
    source: REFERENCE,
    date: '2026-08',
    find({ body }) {
      const value = read.number(body['temperature']);
      return value !== undefined && (value < 0 || value > 1) ? {} : undefined;
    },
  },
  {
    id: 'anthropic/sampling-refused',
    checks: 'temperature, top_p or top_k for a model that takes none of them',
    words: '`{name}` is deprecated for this model.',
    source: 'UKGovernmentBEIS/inspect_ai, issue 3721; pollinations/pollinations, pull request 11319',
    date: '2026-05-27',
    find({ body, model }) {
      const name = ['temperature', 'top_p', 'top_k'].find((one) => body[one] !== undefined);
      return name !== undefined && anthropicFamily(model).sampling === 'none' ? { name } : undefined;
    },
  },
  {
    id: 'anthropic/sampling-both',
    checks: 'temperature and top_p together, for models since 4.1',
    words: '`temperature` and `top_p` cannot both be specified for this model. Please use only one.',
    source: 'SalesforceAIResearch/MCP-Universe, issue 49; aws-samples/bedrock-chat, pull request 979',
    date: '2026-01-26',
    find: ({ body, model }) =>
      body['temperature'] !== undefined && body['top_p'] !== undefined && anthropicFamily(model).sampling === 'one'
        ? {}
        : undefined,
  },
  {
    id: 'anthropic/sampling-while-thinking',
    checks: 'another temperature than 1, or top_k, while thinking',
    words: '`{name}` may only be set to 1 when thinking is enabled.',
    source: `${THINKING}; unslothai/unsloth, pull request 5412`,
    date: '2026-05-13',
    find(request) {
      const { temperature, top_k: topK } = request.body;
      if (!isThinking(request)) return undefined;
      if (temperature !== undefined && temperature !== 1) return { name: 'temperature' };
      return topK === undefined ? undefined : { name: 'top_k' };
    },
  },
  {
    id: 'anthropic/thinking-type',
    checks: 'a type of thinking that the model does not take',
    words:
      '"thinking.type.{type}" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    source: 'Kilo-Org/kilocode, issue 10729; tetsuo-ai/agenc-core, issue 2101',
    date: '2026-09-04',
    find(request) {
      const type = thinkingOf(request);
      return type === undefined || anthropicFamily(request.model).thinking.includes(type) ? undefined : { type };
    },
  },
  {
    id: 'anthropic/budget-least',
    checks: 'a budget of thinking below 1024 tokens',
    words: 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024',
    source: THINKING,
    date: '2026-08',
    find(request) {
      const budget = read.number(read.object(request.body['thinking'])['budget_tokens']) ?? 0;
      return thinkingOf(request) === 'enabled' && budget < LEAST_BUDGET ? {} : undefined;
    },
  },
  {
    id: 'anthropic/budget-most',
    checks: 'a budget of thinking that is not below max_tokens',
    words: '`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation.',
    source: THINKING,
    date: '2026-08',
    find(request) {
      const budget = read.number(read.object(request.body['thinking'])['budget_tokens']) ?? 0;
      const most = read.number(request.body['max_tokens']) ?? 0;
      return thinkingOf(request) === 'enabled' && budget >= most ? {} : undefined;
    },
  },
  {
    id: 'anthropic/effort',
    checks: 'an effort that the model does not take',
    words: 'This model does not support the effort parameter "{effort}".',
    source: 'Anthropic, page "Effort"; charmbracelet/catwalk, pull request 195',
    date: '2026-08',
    find({ body, model }) {
      const effort = read.text(read.object(body['output_config'])['effort']);
      return effort === undefined || anthropicFamily(model).efforts.includes(effort) ? undefined : { effort };
    },
  },
  {
    id: 'anthropic/forced-while-thinking',
    checks: 'a forced call together with a budget of thinking',
    words: 'Thinking may not be enabled when tool_choice forces tool use.',
    source: `${THINKING}; srtab/daiv, issue 527`,
    date: '2026-08',
    find: (request) =>
      thinkingOf(request) === 'enabled' && ['any', 'tool'].includes(choiceOf(request) ?? '') ? {} : undefined,
  },
  {
    id: 'anthropic/forced-refused',
    checks: 'a forced call for a model that takes none',
    words: 'tool_choice: `{type}` is not supported for this model.',
    source: 'Anthropic, page "Models overview", newest models; @ai-sdk/anthropic 4.0.105',
    date: '2026-11',
    find(request) {
      const type = choiceOf(request) ?? '';
      return ['any', 'tool'].includes(type) && !anthropicFamily(request.model).takesForcedTool ? { type } : undefined;
    },
  },
  {
    id: 'anthropic/choice-without-tools',
    checks: 'a choice without tools',
    words: 'tool_choice: tool_choice may only be specified while providing tools',
    source: REFERENCE,
    date: '2026-08',
    find: (request) =>
      request.body['tool_choice'] !== undefined && read.list(request.body['tools']).length === 0 ? {} : undefined,
  },
  {
    id: 'anthropic/choice-unknown',
    checks: 'a choice of a tool that is not offered',
    words: "Tool '{name}' not found in provided tools",
    source: REFERENCE,
    date: '2026-08',
    find(request) {
      const { type, name } = read.object(request.body['tool_choice']);
      const names = read.objects(request.body['tools']).map((tool) => tool['name']);
      return type === 'tool' && name !== undefined && !names.includes(name) ? { name: shown(name) } : undefined;
    },
  },
  {
    id: 'anthropic/tool-name',
    checks: 'a tool name with other characters than letters, digits, underscores and dashes, or of more than 128',
    words: "tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    source: REFERENCE,
    date: '2026-08',
    find: (request) => toolWith(request, ({ name }) => !NAME.test(shown(name))),
  },
  {
    id: 'anthropic/tool-names-unique',
    checks: 'two tools of one name',
    words: 'tools: Tool names must be unique.',
    source: 'eclipse-theia/theia, issue 16122; microsoft/vscode, issue 278073',
    date: '2025-11-18',
    find({ body }) {
      const names = read.objects(body['tools']).map(({ name }) => name);
      return new Set(names).size === names.length ? undefined : {};
    },
  },
  {
    id: 'anthropic/tool-member',
    checks: 'a member that a tool does not have',
    words: 'tools.{at}.custom.{member}: Extra inputs are not permitted',
    source: REFERENCE,
    date: '2026-08',
    find(request) {
      for (const { at, fields } of ownTools(request)) {
        const member = memberOutside(fields, TOOL_MEMBERS);
        if (member !== undefined) return { at, member };
      }
      return undefined;
    },
  },
  {
    id: 'anthropic/schema-type',
    checks: 'a schema of a tool whose root is not of type object',
    words: 'tools.{at}.custom.input_schema.type: Field required',
    source: REFERENCE,
    date: '2026-08',
    find: (request) => toolWith(request, ({ input_schema: schema }) => read.object(schema)['type'] !== 'object'),
  },
  {
    id: 'anthropic/schema-root-union',
    checks: 'a schema of a tool with oneOf, allOf or anyOf at the root',
    words: 'tools.{at}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level',
    source: 'anthropics/claude-code, issue 5878 and issue 44788; anomalyco/opencode, issue 35516',
    date: '2026-04-07',
    find: (request) =>
      toolWith(request, ({ input_schema: schema }) =>
        ['oneOf', 'allOf', 'anyOf'].some((word) => word in read.object(schema)),
      ),
  },
  {
    id: 'anthropic/structured-refused',
    checks: 'a format, for a model without structured outputs',
    words: 'output_config.format: Extra inputs are not permitted',
    source: 'Anthropic, page "Structured outputs"; laurent22/joplin, pull request 15801',
    date: '2026-07-02',
    find: ({ body, model }) =>
      'format' in read.object(body['output_config']) && !anthropicFamily(model).structured ? {} : undefined,
  },
  {
    id: 'anthropic/structured-closed',
    checks: 'in a format or a strict tool, an object that is not closed',
    words: "{of}: For 'object' type, 'additionalProperties' must be explicitly set to false",
    source: `${STRUCTURED}; ax-llm/ax, issue 458; BerriAI/litellm, issue 35808`,
    date: '2026-08-04',
    find: (request) =>
      inStrict(request, ({ schema }) =>
        isObjectSchema(schema) && schema['additionalProperties'] !== false ? {} : undefined,
      ),
  },
  {
    id: 'anthropic/structured-words',
    checks: 'in a format or a strict tool, a word of JSON Schema that it does not take',
    words: "{of}: For '{type}' type, property '{word}' is not supported",
    source: `${STRUCTURED}; agentjido/req_llm, issue 302; laravel/ai, issue 715; BerriAI/litellm, issue 34319`,
    date: '2026-06-16',
    find(request) {
      for (const { of, schema } of strictSchemas(request)) {
        const found = wordOutside(schema, WORDS);
        if (found !== undefined) return { of, word: found.word, type: shown(found.schema['type'] ?? 'object') };
      }
      return undefined;
    },
  },
  {
    id: 'anthropic/structured-min-items',
    checks: 'in a format or a strict tool, minItems above 1',
    words: "{of}: For 'array' type, 'minItems' values other than 0 or 1 are not supported",
    source: `${STRUCTURED}; ghostlobster/memorize-everything, issue 93`,
    date: '2026-05-01',
    find: (request) => inStrict(request, ({ schema }) => ((read.number(schema['minItems']) ?? 0) > 1 ? {} : undefined)),
  },
  {
    id: 'anthropic/structured-format',
    checks: 'in a format or a strict tool, a format of texts that it does not take',
    words: "{of}: For 'string' type, 'format' value '{format}' is not supported",
    source: STRUCTURED,
    date: '2026-08',
    find: (request) =>
      inStrict(request, ({ schema: { format } }) =>
        typeof format !== 'string' || FORMATS.has(format) ? undefined : { format },
      ),
  },
  {
    id: 'anthropic/structured-recursive',
    checks: 'in a format or a strict tool, a schema that contains itself',
    words: '{of}: Recursive schemas are not supported',
    source: STRUCTURED,
    date: '2026-08',
    find: (request) => inStrict(request, ({ path }, root) => (path.length === 0 && isRecursive(root) ? {} : undefined)),
  },
  {
    id: 'anthropic/stop-blank',
    checks: 'a stop sequence of white space alone',
    words: 'stop_sequences: each stop sequence must contain non-whitespace',
    source: 'BerriAI/litellm, issue 3286',
    date: '2024-04-25',
    find: ({ body }) =>
      read.list(body['stop_sequences']).some((one) => typeof one !== 'string' || one.trim() === '') ? {} : undefined,
  },
  {
    id: 'anthropic/service-tier',
    checks: 'a service tier that it does not have',
    words: "service_tier: Input should be 'auto' or 'standard_only'",
    source: REFERENCE,
    date: '2026-08',
    find: ({ body }) =>
      [undefined, 'auto', 'standard_only'].includes(read.string(body['service_tier'])) ? undefined : {},
  },
  {
    id: 'anthropic/system-empty',
    checks: 'an empty block of text in system',
    words: 'system: text content blocks must be non-empty',
    source: 'anthropics/claude-code, issue 62396',
    date: '2026-05',
    find: ({ body }) =>
      read.objects(body['system']).some(({ text }) => (read.string(text) ?? '').trim() === '') ? {} : undefined,
  },
  {
    id: 'anthropic/too-long',
    checks: 'more than the context window holds',
    words: 'prompt is too long: {tokens} tokens > {most} maximum',
    source: 'Anthropic, page "Errors"',
    date: '2026-08',
    find({ length, contextTokens: most }) {
      const tokens = Math.ceil(length / 4);
      return tokens > most ? { tokens, most } : undefined;
    },
  },
];
