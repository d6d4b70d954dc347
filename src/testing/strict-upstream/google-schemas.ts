/** What Google refuses in functions, schemas and formats of `generateContent` and `streamGenerateContent`. */
import * as read from '../../platform/json.ts';
import { configOf, declarationsOf, isFrom3 } from './google-body.ts';
import { type Finding, type StrictRequest, type StrictRule, shown } from './rule.ts';
import { schemaWith, wordOutside } from './schema.ts';

const CONFIG = 'Google, API reference "GenerationConfig"';

/** Words of JSON Schema that `responseJsonSchema` takes. */
const JSON_SCHEMA_WORDS = new Set(
  (
    '$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems ' +
    'minimum maximum anyOf oneOf properties additionalProperties required propertyOrdering'
  ).split(' '),
);

/** Words of the OpenAPI subset that `parameters` and `responseSchema` take. */
const OPENAPI_WORDS = new Set(
  (
    'type format title description nullable enum maxItems minItems properties required minProperties ' +
    'maxProperties minLength maxLength pattern example anyOf propertyOrdering default items minimum ' +
    'maximum'
  ).split(' '),
);
const NAME = /^[a-zA-Z_][\w.:-]{0,63}$/;

function inOpenApi(request: StrictRequest): Finding | undefined {
  const schemas = [
    ...declarationsOf(request).map(({ tool, at, fields }) => ({
      place: `tools[${tool}].function_declarations[${at}].parameters`,
      schema: fields['parameters'],
    })),
    { place: 'generation_config.response_schema', schema: configOf(request)['responseSchema'] },
  ];
  for (const { place, schema } of schemas) {
    const found = schema === undefined ? undefined : wordOutside(read.object(schema), OPENAPI_WORDS);
    if (found !== undefined) return { place, word: found.word };
  }
  return undefined;
}

/** Rules of functions, schemas and formats. */
export const GOOGLE_SCHEMA_RULES: readonly StrictRule[] = [
  {
    id: 'google/function-name',
    checks: 'a function name that does not begin with a letter or an underscore, or has more than 64 characters',
    words:
      '* GenerateContentRequest.tools[{tool}].function_declarations[{at}].name: Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:) or dashes (-), with a maximum length of 64.\n',
    source: 'google-gemini/gemini-cli, issue 6704; mrexodia/ida-pro-mcp, issue 129',
    date: '2025-09-06',
    find(request) {
      const wrong = declarationsOf(request).find(({ fields: { name } }) => !NAME.test(shown(name)));
      return wrong && { tool: wrong.tool, at: wrong.at };
    },
  },
  {
    id: 'google/function-names-unique',
    checks: 'two functions of one name',
    words: 'Duplicate function declaration found: {name}',
    source: 'Google, page "Function calling"',
    date: '2026-11',
    find(request) {
      const names = declarationsOf(request).map(({ fields }) => shown(fields['name']));
      const name = names.find((one, index) => names.indexOf(one) !== index);
      return name === undefined ? undefined : { name };
    },
  },
  {
    id: 'google/schema-unknown-word',
    checks: 'in parameters or responseSchema, a word outside the subset of OpenAPI',
    words: 'Invalid JSON payload received. Unknown name "{word}" at \'{place}\': Cannot find field.',
    source: 'pizza-bot-app/pizza-bot, issue 62; openswarm-ai/openswarm, issue 24; zed-industries/zed, issue 44875',
    date: '2026-09-07',
    find: inOpenApi,
  },
  {
    id: 'google/schema-enum',
    checks: 'in parameters or responseSchema, an enum of another type than string',
    words: '* GenerateContentRequest.{place}.enum: only allowed for STRING type\n',
    source: 'directus/directus, issue 27100; decolua/9router, issue 359',
    date: '2026-04-12',
    find(request) {
      for (const { tool, at, fields } of declarationsOf(request)) {
        const found = schemaWith(
          read.object(fields['parameters']),
          ({ schema: { enum: values, type } }) => values !== undefined && shown(type).toLowerCase() !== 'string',
        );
        if (found !== undefined) return { place: `tools[${tool}].function_declarations[${at}].parameters` };
      }
      return undefined;
    },
  },
  {
    id: 'google/schema-empty-object',
    checks: 'in parameters, an object without properties',
    words:
      '* GenerateContentRequest.tools[{tool}].function_declarations[{at}].parameters.properties: should be non-empty for OBJECT type\n',
    source: 'Google, page "Function calling"',
    date: '2026-11',
    find(request) {
      const wrong = declarationsOf(request).find(({ fields: { parameters } }) => {
        const { type, properties } = read.object(parameters);
        return shown(type).toLowerCase() === 'object' && Object.keys(read.object(properties)).length === 0;
      });
      return wrong && { tool: wrong.tool, at: wrong.at };
    },
  },
  {
    id: 'google/schemas-both',
    checks: 'two spellings of one schema',
    words: 'Only one of parameters and parameters_json_schema can be set.',
    source: 'Google, API reference "FunctionDeclaration"',
    date: '2026-11',
    find(request) {
      const { responseSchema: one, responseJsonSchema: other } = configOf(request);
      const both = declarationsOf(request).some(
        ({ fields }) => fields['parameters'] !== undefined && fields['parametersJsonSchema'] !== undefined,
      );
      return both || (one !== undefined && other !== undefined) ? {} : undefined;
    },
  },
  {
    id: 'google/function-schema-root',
    checks: 'a schema of a function whose root is not of type object',
    words:
      '* GenerateContentRequest.tools[{tool}].function_declarations[{at}].parameters_json_schema: functionDeclaration parameters schema should be of type OBJECT.\n',
    source: 'Google, API reference "FunctionDeclaration"',
    date: '2026-11',
    find(request) {
      const wrong = declarationsOf(request).find(
        ({ fields: { parametersJsonSchema: schema } }) =>
          schema !== undefined && read.object(schema)['type'] !== 'object',
      );
      return wrong && { tool: wrong.tool, at: wrong.at };
    },
  },
  {
    id: 'google/format-words',
    checks: 'in responseJsonSchema, a word that it does not take',
    words: '* GenerateContentRequest.generation_config.response_json_schema: keyword "{word}" is not supported\n',
    source: `${CONFIG}, responseJsonSchema; tetsuo-ai/agenc-core, issue 1890`,
    date: '2026-08-31',
    find(request) {
      const { responseJsonSchema: schema } = configOf(request);
      const found = schema === undefined ? undefined : wordOutside(read.object(schema), JSON_SCHEMA_WORDS);
      return found && { word: found.word };
    },
  },
  {
    id: 'google/format-reference',
    checks: 'in responseJsonSchema, a reference with other words beside it',
    words:
      '* GenerateContentRequest.generation_config.response_json_schema: if $ref is set, no other properties may be set, except for those starting with $\n',
    source: `${CONFIG}, responseJsonSchema`,
    date: '2026-11',
    find(request) {
      const found = schemaWith(
        read.object(configOf(request)['responseJsonSchema']),
        ({ schema }) => '$ref' in schema && Object.keys(schema).some((word) => !word.startsWith('$')),
      );
      return found && {};
    },
  },
  {
    id: 'google/format-without-type',
    checks: 'a response schema without the MIME type of JSON',
    words:
      '* GenerateContentRequest.generation_config.response_mime_type: must be set to application/json when response schema is set\n',
    source: CONFIG,
    date: '2026-11',
    find(request) {
      const { responseSchema, responseJsonSchema, responseMimeType: type } = configOf(request);
      return (responseSchema ?? responseJsonSchema) !== undefined && type !== 'application/json' ? {} : undefined;
    },
  },
  {
    id: 'google/format-with-functions',
    checks: 'JSON together with functions, before Gemini 3',
    words: "Function calling with a response mime type: 'application/json' is unsupported",
    source: 'googleapis/python-genai, issue 867; symfony/ai, issue 1777',
    date: '2026-03-16',
    find: (request) =>
      configOf(request)['responseMimeType'] === 'application/json' &&
      declarationsOf(request).length > 0 &&
      !isFrom3(request.model)
        ? {}
        : undefined,
  },
  {
    id: 'google/search-with-functions',
    checks: 'a tool of Google together with functions, before Gemini 3',
    words: 'Tool use with function calling is unsupported',
    source: 'symfony/ai, issue 803',
    date: '2025-10-22',
    find: (request) =>
      declarationsOf(request).length > 0 &&
      !isFrom3(request.model) &&
      read.objects(request.body['tools']).some((tool) => !('functionDeclarations' in tool))
        ? {}
        : undefined,
  },
  {
    id: 'google/choice-names',
    checks: 'allowed function names with another mode than ANY and VALIDATED, or that no function has',
    words:
      'Please set allowed_function_names only when function calling mode is ANY or VALIDATED, and to names of declared functions.',
    source: 'Google, API reference "FunctionCallingConfig"',
    date: '2026-11',
    find(request) {
      const { mode, allowedFunctionNames: names } = read.object(
        read.object(request.body['toolConfig'])['functionCallingConfig'],
      );
      if (names === undefined) return undefined;
      const declared = new Set(declarationsOf(request).map(({ fields }) => fields['name']));
      const right = mode === 'ANY' || mode === 'VALIDATED';
      return right && read.list(names).every((name) => declared.has(shown(name))) ? undefined : {};
    },
  },
  {
    id: 'google/choice-without-functions',
    checks: 'a mode of calling without functions',
    words: 'Function calling config is set without function_declarations.',
    source: 'Google, page "Function calling"',
    date: '2026-11',
    find: (request) =>
      read.object(request.body['toolConfig'])['functionCallingConfig'] !== undefined &&
      declarationsOf(request).length === 0
        ? {}
        : undefined,
  },
];
