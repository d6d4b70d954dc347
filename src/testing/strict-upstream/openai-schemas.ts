/** What OpenAI refuses in tools and response formats, on chat completions and on Responses alike. */
import type { JsonObject } from '../../protocol/json.ts';
import * as read from '../../platform/json.ts';
import type { Finding, StrictRequest, StrictRule } from './rule.ts';
import { type InnerSchema, isObjectSchema, schemaWith } from './schema.ts';

/** A function that a request offers on either wire. */
interface Offered {
  readonly name: string;
  readonly namePath: string;
  readonly schemaPath: string;
  readonly parameters: JsonObject | undefined;
  readonly strict: boolean;
}

function offered({ body, path }: StrictRequest): readonly Offered[] {
  const flat = path.includes('/responses');
  return read.objects(body['tools']).flatMap((tool, at) => {
    if (tool['type'] !== 'function') return [];
    const fields = flat ? tool : read.object(tool['function']);
    const prefix = flat ? `tools[${at}]` : `tools[${at}].function`;
    const { parameters } = fields;
    return [
      {
        name: read.string(fields['name']) ?? '',
        namePath: `${prefix}.name`,
        schemaPath: `${prefix}.parameters`,
        parameters: parameters === undefined || parameters === null ? undefined : read.object(parameters),
        strict: fields['strict'] === true,
      },
    ];
  });
}

/** The response format of either wire. */
function formatted({
  body,
  path,
}: StrictRequest): { name: string; schema: JsonObject; strict: boolean; param: string } | undefined {
  const flat = path.includes('/responses');
  const format = read.object(flat ? read.object(body['text'])['format'] : body['response_format']);
  if (format['type'] !== 'json_schema') return undefined;
  const fields = flat ? format : read.object(format['json_schema']);
  return {
    name: read.string(fields['name']) ?? '',
    schema: read.object(fields['schema']),
    // Responses are strict where nothing is said; chat completions are not.
    strict: flat ? fields['strict'] !== false : fields['strict'] === true,
    param: flat ? 'text.format.schema' : 'response_format',
  };
}

/** A schema that must satisfy the strict mode. */
interface StrictSchema {
  readonly schema: JsonObject;
  readonly of: string;
  readonly param: string;
  readonly code: string;
}

/** Everything with a schema that must satisfy the strict mode, with what the error calls it. */
function strictSchemas(request: StrictRequest): readonly StrictSchema[] {
  const format = formatted(request);
  return [
    ...offered(request).flatMap(({ strict, parameters, name, schemaPath }) =>
      strict && parameters !== undefined
        ? [{ schema: parameters, of: `function '${name}'`, param: schemaPath, code: FUNCTIONS }]
        : [],
    ),
    ...(format?.strict === true
      ? [{ schema: format.schema, of: `response_format '${format.name}'`, param: format.param, code: '' }]
      : []),
  ];
}

function inStrict(
  request: StrictRequest,
  fits: (inner: InnerSchema) => Readonly<Record<string, string>> | undefined,
): Finding | undefined {
  for (const { schema, of, param, code } of strictSchemas(request)) {
    let found: Readonly<Record<string, string>> | undefined;
    const inner = schemaWith(schema, (one) => (found = fits(one)) !== undefined);
    if (inner !== undefined && found !== undefined) return { of, param, code, context: contextOf(inner), ...found };
  }
  return undefined;
}

function inTools(
  request: StrictRequest,
  fits: (parameters: JsonObject) => InnerSchema | undefined,
): Finding | undefined {
  for (const { name, parameters, schemaPath } of offered(request)) {
    const inner = parameters === undefined ? undefined : fits(parameters);
    if (inner !== undefined) return { name, param: schemaPath, context: contextOf(inner) };
  }
  return undefined;
}

/** A path as OpenAI writes it: a tuple of Python. */
function contextOf({ path }: InnerSchema): string {
  const steps = path.map((step) => `'${step}'`);
  return `(${steps.join(', ')}${steps.length === 1 ? ',' : ''})`;
}

const NAME = /^[a-zA-Z0-9_-]+$/;
const LONGEST_NAME = 64;
const AT_ROOT = ['oneOf', 'anyOf', 'allOf', 'enum', 'not'];
const NOT_STRICT = [
  'allOf',
  'contains',
  'dependentRequired',
  'dependentSchemas',
  'else',
  'if',
  'maxContains',
  'maxProperties',
  'minContains',
  'minProperties',
  'not',
  'oneOf',
  'patternProperties',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
  'uniqueItems',
];
const FORMATS = new Set('date-time time date duration email hostname ipv4 ipv6 uuid'.split(' '));
const GUIDE = 'OpenAI, guide "Structured model outputs", section "Supported schemas"';
const FUNCTIONS = 'invalid_function_parameters';

/** Rules of tools and response formats. */
export const OPENAI_SCHEMA_RULES: readonly StrictRule[] = [
  {
    id: 'openai/tool-name-pattern',
    checks: 'a function name with other characters than letters, digits, underscores and dashes',
    words:
      "Invalid '{param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    code: 'invalid_value',
    param: '{param}',
    source: 'nanbingxyz/5ire, issue 33; brekkylab/ailoy, pull request 109',
    date: '2025-06-09',
    find(request) {
      const wrong = offered(request).find(({ name }) => !NAME.test(name));
      return wrong === undefined ? undefined : { param: wrong.namePath };
    },
  },
  {
    id: 'openai/tool-name-length',
    checks: 'a function name of more than 64 characters',
    words:
      "Invalid '{param}': string too long. Expected a string with maximum length 64, but got a string with length {length} instead.",
    code: 'string_above_max_length',
    param: '{param}',
    source: 'OpenAI, API reference "Create chat completion", tools.function.name',
    date: '2026-11',
    find(request) {
      const wrong = offered(request).find(({ name }) => name.length > LONGEST_NAME);
      return wrong === undefined ? undefined : { param: wrong.namePath, length: wrong.name.length };
    },
  },
  {
    id: 'openai/schema-root-type',
    checks: 'parameters whose root is not of type object',
    words:
      "Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"', got 'type: {type}'.",
    code: FUNCTIONS,
    param: '{param}',
    source: 'chatanywhere/GPT_API_free, issue 403',
    date: '2025-06-19',
    find(request) {
      const wrong = offered(request).find(
        ({ parameters }) => parameters !== undefined && parameters['type'] !== 'object',
      );
      if (wrong === undefined) return undefined;
      const type = wrong.parameters?.['type'] ?? null;
      return { name: wrong.name, param: wrong.schemaPath, type: JSON.stringify(type) };
    },
  },
  {
    id: 'openai/schema-root-union',
    checks: 'parameters with a union, an enum or a negation at the root',
    words:
      "Invalid schema for function '{name}': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
    code: FUNCTIONS,
    param: '{param}',
    source: 'nspady/google-calendar-mcp, issue 39; langchain-ai/langchainjs, issue 9804',
    date: '2026-01-14',
    find: (request) =>
      inTools(request, (schema) => (AT_ROOT.some((word) => word in schema) ? { schema, path: [] } : undefined)),
  },
  {
    id: 'openai/schema-properties-missing',
    checks: 'parameters of type object without properties',
    words: "Invalid schema for function '{name}': In context={context}, object schema missing properties.",
    code: FUNCTIONS,
    param: '{param}',
    source: 'langchain-ai/langchain-mcp-adapters, issue 137; grafana/mcp-grafana, issue 390',
    date: '2025-09',
    find: (request) =>
      inTools(request, (schema) => (schema['properties'] === undefined ? { schema, path: [] } : undefined)),
  },
  {
    id: 'openai/schema-items-missing',
    checks: 'a schema of an array without items',
    words: "Invalid schema for function '{name}': In context={context}, array schema missing items.",
    code: FUNCTIONS,
    param: '{param}',
    source: 'streamnative/streamnative-mcp-server, issue 26; digitalocean-labs/mcp-digitalocean, issue 265',
    date: '2026-02-14',
    find: (request) =>
      inTools(request, (root) =>
        schemaWith(
          root,
          ({ schema }) => schema['type'] === 'array' && !('items' in schema) && !('prefixItems' in schema),
        ),
      ),
  },
  {
    id: 'openai/format-name',
    checks: 'a name of a response format with other characters, or of more than 64',
    words:
      "Invalid 'response_format.json_schema.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    code: 'invalid_value',
    param: 'response_format.json_schema.name',
    source: 'OpenAI, API reference "Create chat completion", response_format',
    date: '2026-11',
    find(request) {
      const format = formatted(request);
      return format === undefined || (NAME.test(format.name) && format.name.length <= LONGEST_NAME) ? undefined : {};
    },
  },
  {
    id: 'openai/format-root-type',
    checks: 'a response format whose root is not of type object, or is a union',
    words:
      "Invalid schema for response_format '{name}': schema must be a JSON Schema of 'type: \"object\"', got 'type: {type}'.",
    code: '{code}',
    param: '{param}',
    source: GUIDE,
    date: '2026-11',
    find(request) {
      const format = formatted(request);
      if (format === undefined || !format.strict) return undefined;
      if (format.schema['type'] === 'object' && !('anyOf' in format.schema)) return undefined;
      return { name: format.name, param: format.param, code: '', type: JSON.stringify(format.schema['type'] ?? null) };
    },
  },
  {
    id: 'openai/strict-closed',
    checks: 'in strict mode, an object that is not closed',
    words:
      "Invalid schema for {of}: In context={context}, 'additionalProperties' is required to be supplied and to be false.",
    code: '{code}',
    param: '{param}',
    source: GUIDE,
    date: '2026-11',
    find: (request) =>
      inStrict(request, ({ schema }) =>
        isObjectSchema(schema) && schema['additionalProperties'] !== false ? {} : undefined,
      ),
  },
  {
    id: 'openai/strict-all-required',
    checks: 'in strict mode, a property that is not required',
    words:
      "Invalid schema for {of}: In context={context}, 'required' is required to be supplied and to be an array including every key in properties. Missing '{missing}'.",
    code: '{code}',
    param: '{param}',
    source: `${GUIDE}; langchain-ai/langmem, issue 113`,
    date: '2026-11',
    find: (request) =>
      inStrict(request, ({ schema }) => {
        const required = read.list(schema['required']);
        const missing = Object.keys(read.object(schema['properties'])).find((name) => !required.includes(name));
        return missing === undefined ? undefined : { missing };
      }),
  },
  {
    id: 'openai/strict-words',
    checks: 'in strict mode, a word of JSON Schema that it does not take',
    words: "Invalid schema for {of}: In context={context}, '{word}' is not permitted.",
    code: '{code}',
    param: '{param}',
    source: `${GUIDE}; makenotion/notion-mcp-server, issue 102; mastra-ai/mastra, issue 23321`,
    date: '2026-11',
    find: (request) =>
      inStrict(request, ({ schema }) => {
        const word = NOT_STRICT.find((one) => one in schema);
        return word === undefined ? undefined : { word };
      }),
  },
  {
    id: 'openai/strict-format',
    checks: 'in strict mode, a format of texts that it does not take',
    words: "Invalid schema for {of}: In context={context}, '{format}' is not a valid format.",
    code: '{code}',
    param: '{param}',
    source: `${GUIDE}; can1357/oh-my-pi, issue 206`,
    date: '2026-02-28',
    find: (request) =>
      inStrict(request, ({ schema: { format } }) =>
        typeof format !== 'string' || FORMATS.has(format) ? undefined : { format },
      ),
  },
  {
    id: 'openai/strict-type-missing',
    checks: 'in strict mode, a schema that says neither type, union, reference nor values',
    words: "Invalid schema for {of}: In context={context}, schema must have a 'type' key.",
    code: '{code}',
    param: '{param}',
    source: GUIDE,
    date: '2026-11',
    find: (request) =>
      inStrict(request, ({ schema }) =>
        ['type', 'anyOf', '$ref', 'enum', 'const'].some((word) => word in schema) ? undefined : {},
      ),
  },
  {
    id: 'openai/strict-reference-alone',
    checks: 'in strict mode, a reference with other words beside it',
    words: "Invalid schema for {of}: context={context}, $ref cannot have keywords {'{word}'}.",
    code: '{code}',
    param: '{param}',
    source: 'camel-ai/camel, issue 3001; vectorize-io/hindsight, pull request 3944',
    date: '2026-08-31',
    find: (request) =>
      inStrict(request, ({ schema }) => {
        if (!('$ref' in schema)) return undefined;
        const word = Object.keys(schema).find((one) => !['$ref', '$defs', 'definitions'].includes(one));
        return word === undefined ? undefined : { word };
      }),
  },
];
