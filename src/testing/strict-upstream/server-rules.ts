/** What servers of open models refuse, whatever the template of the model. */
import * as read from '../../platform/json.ts';
import { formatOf, formatTypeOf, messagesOf, partOf, tokensOf } from './chat-body.ts';
import { type StrictRequest, type StrictRule, shown } from './rule.ts';
import { schemaWith } from './schema.ts';

const VLLM = 'vLLM, documentation "OpenAI-Compatible Server"';
const LLAMA_CPP = 'llama.cpp, README of the server, and common/chat.cpp';
const LLAMA_CPP_SEEN = 'llama.cpp, its server in wheel xllamacpp 2026.10, as it answered';
const OLLAMA = 'Ollama, documentation "OpenAI compatibility", and openai/openai.go';
const LM_STUDIO = 'LM Studio, documentation "OpenAI Compatibility Endpoints"';

/** Words of JSON Schema of which one must say what llama.cpp writes a grammar for. */
const GRAMMAR_WORDS = new Set(
  'type $ref anyOf oneOf allOf not enum const properties additionalProperties items prefixItems pattern format'.split(
    ' ',
  ),
);
const ANNOTATIONS = new Set('title description default examples $schema $id $comment $defs definitions'.split(' '));

function tooLong(
  id: string,
  words: string,
  facts: Partial<StrictRule> & Pick<StrictRule, 'source' | 'date'>,
): StrictRule {
  return {
    ...facts,
    id,
    checks: 'more than the context window holds',
    words,
    find(request) {
      const tokens = tokensOf(request);
      return tokens > request.contextTokens ? { most: request.contextTokens, tokens } : undefined;
    },
  };
}

/** A choice that forces a call or leaves it free, where there are no tools. */
function choiceWithoutTools({ body }: StrictRequest): boolean {
  const { tool_choice: choice } = body;
  const requested = choice !== undefined && choice !== null && choice !== 'none';
  return requested && read.list(body['tools']).length === 0;
}

/** Rules of vLLM. */
export const VLLM_RULES: readonly StrictRule[] = [
  {
    id: 'vllm/choice-without-tools',
    checks: 'a choice without tools',
    words: '1 validation error:\n  Value error, When using `tool_choice`, `tools` must be set.',
    source: 'vllm-project/vllm, pull request 40311',
    date: '2026-04-20',
    find: (request) => (choiceWithoutTools(request) ? {} : undefined),
  },
  {
    id: 'vllm/tools-empty',
    checks: 'an empty list of tools',
    words:
      '1 validation error:\n  Value error, `tools` must not be an empty array. Either provide at least one tool or omit the field entirely.',
    source: 'vllm-project/vllm, pull request 40311',
    date: '2026-04-20',
    find: ({ body }) => (Array.isArray(body['tools']) && body['tools'].length === 0 ? {} : undefined),
  },
  {
    id: 'vllm/arguments',
    checks: 'arguments of a call that are no JSON object, which it parses for the template',
    words: 'Expecting value: line 1 column 1 (char 0)',
    source: VLLM,
    date: '2026-11',
    find(request) {
      const wrong = messagesOf(request).find(({ calls }) =>
        calls.some((call) => typeof call.arguments !== 'string' || read.parseObject(call.arguments) === undefined),
      );
      return wrong && { at: wrong.at };
    },
  },
  tooLong(
    'vllm/too-long',
    "This model's maximum context length is {most} tokens. However, your request has {tokens} input tokens. Please reduce the length of the input messages.",
    { source: VLLM, date: '2026-11' },
  ),
];

/** Rules of SGLang. */
export const SGLANG_RULES: readonly StrictRule[] = [
  {
    id: 'sglang/choice-without-tools',
    checks: 'a forced call without tools',
    words: 'Tools cannot be empty if tool choice is set to required or a specific function.',
    source: 'SGLang, documentation "Tool Parser"',
    date: '2026-11',
    find: (request) => (choiceWithoutTools(request) && request.body['tool_choice'] !== 'auto' ? {} : undefined),
  },
  {
    id: 'sglang/last-assistant-alone',
    checks: 'a conversation of one assistant message',
    words: 'Messages must contain a message of the user.',
    source: 'sgl-project/sglang, issue 3579',
    date: '2025-02-14',
    find: (request) => (messagesOf(request).every(({ role }) => role === 'assistant') ? {} : undefined),
  },
  tooLong('sglang/too-long', "The input ({tokens} tokens) is longer than the model's context length ({most} tokens).", {
    source: 'SGLang, documentation "OpenAI APIs - Completions"',
    date: '2026-11',
  }),
];

/** Rules of llama.cpp. */
export const LLAMA_CPP_RULES: readonly StrictRule[] = [
  {
    id: 'llama.cpp/prefill-thinking',
    checks: 'a conversation that ends with an assistant, for a template that thinks',
    words: 'Assistant response prefill is incompatible with enable_thinking.',
    source: 'ggml-org/llama.cpp, issue 20861 and issue 21889; anomalyco/opencode, issue 27920',
    date: '2026-05-16',
    find: (request) =>
      messagesOf(request).at(-1)?.role === 'assistant' &&
      (request.template === 'qwen' || request.template === 'deepseek') &&
      read.object(request.body['chat_template_kwargs'])['enable_thinking'] !== false
        ? {}
        : undefined,
  },
  {
    id: 'llama.cpp/prefill-twice',
    checks: 'a conversation that ends with two assistants',
    words: 'Cannot have 2 or more assistant messages at the end of the list.',
    source: `${LLAMA_CPP}; ggml-org/llama.cpp, pull request 13174`,
    date: '2025-04-29',
    find(request) {
      const last = messagesOf(request).slice(-2);
      return last.length === 2 && last.every(({ role }) => role === 'assistant') ? {} : undefined;
    },
  },
  {
    id: 'llama.cpp/assistant-empty',
    checks: 'an assistant without content and calls',
    words: "Assistant message must contain either 'content' or 'tool_calls'!",
    source: LLAMA_CPP_SEEN,
    date: '2026-11',
    find(request) {
      const wrong = messagesOf(request).find(
        ({ role, content, calls }) =>
          role === 'assistant' && (content === null || content === undefined) && calls.length === 0,
      );
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'llama.cpp/content-missing',
    checks: 'no content in a message other than an assistant’s',
    words: "All non-assistant messages must contain 'content'",
    source: LLAMA_CPP,
    date: '2026-11',
    find(request) {
      const wrong = messagesOf(request).find(
        ({ role, content }) => role !== 'assistant' && (content === null || content === undefined),
      );
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'llama.cpp/part-type',
    checks: 'another part than text, pictures and audio',
    words: 'unsupported content[].type',
    source: LLAMA_CPP,
    date: '2026-11',
    find: (request) =>
      partOf(messagesOf(request), ({ type }) => !['text', 'image_url', 'input_audio'].includes(shown(type))),
  },
  {
    id: 'llama.cpp/schema',
    checks: 'a response format with a schema that no grammar can be written for',
    words:
      'Unable to generate parser for this template. Automatic parser generation failed: JSON schema error at #: Unrecognized schema: {schema}',
    source: 'llama.cpp, grammars/README.md, JSON Schemas; common/json-schema-to-grammar.cpp',
    date: '2026-11',
    find(request) {
      const format = formatOf(request);
      const found =
        format &&
        schemaWith(format.schema, ({ schema }) => {
          const words = Object.keys(schema).filter((word) => !ANNOTATIONS.has(word));
          return words.length > 0 && !words.some((word) => GRAMMAR_WORDS.has(word));
        });
      return found && { schema: JSON.stringify(found.schema) };
    },
  },
  {
    id: 'llama.cpp/tools-with-grammar',
    checks: 'a response format together with tools',
    words: 'Cannot use custom grammar constraints with tools.',
    source: 'ggml-org/llama.cpp, pull request 13174 (the words); common/chat.cpp',
    date: '2025-04-29',
    find: ({ body }) => (body['grammar'] !== undefined && read.list(body['tools']).length > 0 ? {} : undefined),
  },
  {
    id: 'llama.cpp/image',
    status: 500,
    checks: 'a picture, for a model without a file that reads pictures',
    words: 'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
    source: LLAMA_CPP_SEEN,
    date: '2026-11',
    type: 'server_error',
    find: (request) => partOf(messagesOf(request), ({ type }) => type === 'image_url'),
  },
  {
    id: 'llama.cpp/arguments',
    status: 500,
    checks: 'arguments of a call that are no JSON, which it parses for the template',
    words: 'Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at line 1',
    source: LLAMA_CPP_SEEN,
    date: '2026-11',
    type: 'server_error',
    find(request) {
      const wrong = messagesOf(request).find(({ calls }) =>
        calls.some((call) => typeof call.arguments !== 'string' || read.parse(call.arguments) === undefined),
      );
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'llama.cpp/logprobs-with-tools',
    checks: 'log probabilities in a stream with tools',
    words: 'logprobs is not supported with tools + stream',
    source: LLAMA_CPP_SEEN,
    date: '2026-11',
    find: ({ body }) =>
      body['logprobs'] === true && body['stream'] === true && read.list(body['tools']).length > 0 ? {} : undefined,
  },
  {
    id: 'llama.cpp/top-logprobs-alone',
    checks: 'a number of log probabilities where none are requested',
    words: 'top_logprobs requires logprobs to be set to true',
    source: LLAMA_CPP_SEEN,
    date: '2026-11',
    find: ({ body }) => (Number(body['top_logprobs'] ?? 0) > 0 && body['logprobs'] !== true ? {} : undefined),
  },
  tooLong(
    'llama.cpp/too-long',
    'request ({tokens} tokens) exceeds the available context size ({most} tokens), try increasing it',
    { source: 'earendil-works/pi, issue 4943', date: '2026-07', type: 'exceed_context_size_error' },
  ),
];

/** Rules of Ollama. */
export const OLLAMA_RULES: readonly StrictRule[] = [
  {
    id: 'ollama/content-null',
    checks: 'no content in a message without calls',
    words: 'invalid message content type: <nil>',
    source: OLLAMA,
    date: '2026-11',
    find(request) {
      const wrong = messagesOf(request).find(
        ({ content, calls, fields }) =>
          (content === null || content === undefined) && calls.length === 0 && !read.isText(fields['reasoning']),
      );
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'ollama/part-type',
    checks: 'another part than text and pictures',
    words: 'invalid message format',
    source: `${OLLAMA}; tombii/better-ccflare, issue 141`,
    date: '2026-08-27',
    find: (request) => partOf(messagesOf(request), ({ type }) => type !== 'text' && type !== 'image_url'),
  },
  {
    id: 'ollama/image-address',
    checks: 'a picture by its address',
    words: 'invalid image input',
    source: `${OLLAMA}; ollama/ollama, documentation "Vision"`,
    date: '2026-11',
    find: (request) =>
      partOf(
        messagesOf(request),
        ({ type, image_url: image }) =>
          type === 'image_url' && !(read.string(read.object(image)['url']) ?? '').startsWith('data:image/'),
      ),
  },
  {
    id: 'ollama/arguments',
    checks: 'arguments of a call that are no JSON object',
    words: 'invalid tool call arguments',
    source: OLLAMA,
    date: '2026-11',
    find(request) {
      const wrong = messagesOf(request).find(({ calls }) =>
        calls.some((call) => typeof call.arguments !== 'string' || read.parseObject(call.arguments) === undefined),
      );
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'ollama/effort',
    checks: 'an effort that it does not have',
    words: 'invalid reasoning value: \'{effort}\' (must be "high", "medium", "low", "max", or "none")',
    source: OLLAMA,
    date: '2026-11',
    find({ body }) {
      const effort = read.text(body['reasoning_effort']) ?? read.text(read.object(body['reasoning'])['effort']);
      return effort === undefined || ['high', 'medium', 'low', 'max', 'none'].includes(effort) ? undefined : { effort };
    },
  },
];

/** Rules of LM Studio. */
export const LM_STUDIO_RULES: readonly StrictRule[] = [
  {
    id: 'lmstudio/content-missing',
    checks: 'no content, or an empty one, in a message without calls',
    words: "'messages' array must only contain objects with a 'content' field that is not empty.",
    source: 'microsoft/autogen, issue 1521 and issue 2887; lmstudio-ai/lmstudio-bug-tracker, issue 261',
    date: '2024-12-20',
    find(request) {
      const wrong = messagesOf(request).find(
        ({ role, content, parts, calls }) =>
          role !== 'tool' && calls.length === 0 && !read.isText(content) && parts.length === 0,
      );
      return wrong && { at: wrong.at };
    },
  },
  {
    id: 'lmstudio/part-type',
    checks: 'another part than text and pictures',
    words: "Invalid 'content': 'content' objects must have a 'type' field that is either 'text' or 'image_url'.",
    source: LM_STUDIO,
    date: '2026-11',
    find: (request) => partOf(messagesOf(request), ({ type }) => type !== 'text' && type !== 'image_url'),
  },
  {
    id: 'lmstudio/image-address',
    checks: 'a picture by its address',
    words: "Invalid 'content': 'url' field must be a base64 encoded image.",
    source: LM_STUDIO,
    date: '2026-11',
    find: (request) =>
      partOf(
        messagesOf(request),
        ({ type, image_url: image }) =>
          type === 'image_url' && !(read.string(read.object(image)['url']) ?? '').startsWith('data:image/'),
      ),
  },
  {
    id: 'lmstudio/choice-object',
    checks: 'a choice of one function by its name',
    words: "Invalid tool_choice type: 'object'. Supported string values: none, auto, required",
    source: `${LM_STUDIO}, tool_choice`,
    date: '2026-11',
    find: ({ body }) => (typeof body['tool_choice'] === 'object' && body['tool_choice'] !== null ? {} : undefined),
  },
  {
    id: 'lmstudio/format-type',
    checks: 'the response format json_object',
    words: "'response_format.type' must be 'json_schema' or 'text'",
    source: `${LM_STUDIO}, structured output`,
    date: '2026-11',
    find: (request) => (['text', 'json_schema'].includes(formatTypeOf(request)) ? undefined : {}),
  },
  tooLong(
    'lmstudio/too-long',
    'Trying to keep the first {tokens} tokens when context the overflows. However, the model is loaded with context length of only {most} tokens, which is not enough.',
    { source: 'earendil-works/pi, issue 5930', date: '2026-07' },
  ),
];
