/** What OpenAI refuses in the parameters of chat completions and of Responses. */
import * as read from '../../platform/json.ts';
import { memberOutside, outside, toolsOf } from './chat-body.ts';
import { openaiFamily } from './openai-models.ts';
import type { Finding, StrictRequest, StrictRule } from './rule.ts';

const REFERENCE = 'OpenAI, API reference "Create chat completion"';

/** Parameters of chat completions, as the reference lists them. */
const CHAT_PARAMETERS = new Set(
  (
    'model messages audio frequency_penalty function_call functions logit_bias logprobs ' +
    'max_completion_tokens max_tokens metadata modalities moderation n parallel_tool_calls ' +
    'prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention ' +
    'reasoning_effort response_format safety_identifier seed service_tier stop store stream ' +
    'stream_options temperature tool_choice tools top_logprobs top_p user verbosity ' +
    'web_search_options'
  ).split(' '),
);

/** Parameters of Responses, as the reference lists them. */
const RESPONSES_PARAMETERS = new Set(
  (
    'background context_management conversation include input instructions max_output_tokens ' +
    'max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt ' +
    'prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier ' +
    'service_tier store stream stream_options temperature text tool_choice tools top_logprobs top_p ' +
    'truncation user'
  ).split(' '),
);

const SAMPLING = ['top_p', 'logprobs', 'top_logprobs', 'presence_penalty', 'frequency_penalty', 'logit_bias'];
const TIERS = ['auto', 'default', 'flex', 'scale', 'priority', 'fast'];
const RANGES: Readonly<Record<string, readonly [least: number, most: number]>> = {
  temperature: [0, 2],
  top_p: [0, 1],
  presence_penalty: [-2, 2],
  frequency_penalty: [-2, 2],
  top_logprobs: [0, 20],
  n: [1, 128],
};
const MOST_STOPS = 4;
const MOST_TOOLS = 128;
const SHORTEST_OUTPUT = 16;
const MOST_METADATA = 16;

function isResponses({ path }: StrictRequest): boolean {
  return path.includes('/responses');
}

/** The effort that a request requires, on either wire. */
function effortOf(request: StrictRequest): string | undefined {
  const { body } = request;
  return read.text(isResponses(request) ? read.object(body['reasoning'])['effort'] : body['reasoning_effort']);
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isSamplingFixed(request: StrictRequest): boolean {
  const { fixedSampling, isNoneByDefault } = openaiFamily(request.model);
  const effort = effortOf(request) ?? (isNoneByDefault ? 'none' : undefined);
  return fixedSampling === 'always' || (fixedSampling === 'while reasoning' && effort !== 'none');
}

/** The function that a choice names, on either wire. */
function chosenTool(request: StrictRequest): string | undefined {
  const choice = read.object(request.body['tool_choice']);
  if (choice['type'] !== 'function') return undefined;
  return read.string(isResponses(request) ? choice['name'] : read.object(choice['function'])['name']);
}

function toolNames(request: StrictRequest): readonly string[] {
  return isResponses(request)
    ? read.objects(request.body['tools']).map(({ name }) => read.string(name) ?? '')
    : toolsOf(request).map(({ name }) => name);
}

function unknownMember(request: StrictRequest): Finding | undefined {
  const name = memberOutside(request.body, isResponses(request) ? RESPONSES_PARAMETERS : CHAT_PARAMETERS);
  return name === undefined ? undefined : { name };
}

/** Rules of parameters. */
export const OPENAI_PARAMETER_RULES: readonly StrictRule[] = [
  {
    id: 'openai/parameter-unknown',
    checks: 'a parameter that it does not have',
    words: "Unknown parameter: '{name}'.",
    code: 'unknown_parameter',
    param: '{name}',
    source: 'teabranch/open-responses-server, issue 41; ClaudeCodeUsage/ClaudeCodeUsage, issue 94',
    date: '2026-08-28',
    find: unknownMember,
  },
  {
    id: 'openai/max-tokens',
    checks: 'max_tokens for a model that reasons',
    words: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    code: 'unsupported_parameter',
    param: 'max_tokens',
    source: 'MaximeRivest/riddle, issue 7',
    date: '2026-07-07',
    find: ({ body, model }) => (isSet(body['max_tokens']) && openaiFamily(model).efforts.length > 0 ? {} : undefined),
  },
  {
    id: 'openai/output-limit-least',
    checks: 'a limit of output below 1, or below 16 on Responses',
    words: "Invalid '{name}': integer below minimum value. Expected a value >= {least}, but got {value} instead.",
    code: 'integer_below_min_value',
    param: '{name}',
    source: 'OpenAI, API reference "Create a model response", max_output_tokens',
    date: '2026-11',
    find(request) {
      for (const name of ['max_output_tokens', 'max_completion_tokens', 'max_tokens']) {
        const value = read.number(request.body[name]);
        const least = isResponses(request) ? SHORTEST_OUTPUT : 1;
        if (value !== undefined && value < least) return { name, least, value };
      }
      return undefined;
    },
  },
  {
    id: 'openai/temperature-fixed',
    checks: 'another temperature than 1 for a model that reasons',
    words:
      "Unsupported value: 'temperature' does not support {value} with this model. Only the default (1) value is supported.",
    code: 'unsupported_value',
    param: 'temperature',
    source: 'johny-b/llmcomp, issue 69; tmc/langchaingo, issue 1355',
    date: '2026-04-20',
    find(request) {
      const value = read.number(request.body['temperature']);
      return value !== undefined && value !== 1 && isSamplingFixed(request) ? { value } : undefined;
    },
  },
  {
    id: 'openai/sampling-fixed',
    checks: 'top_p, log probabilities, penalties or biases for a model that reasons',
    words: "Unsupported parameter: '{name}' is not supported with this model.",
    code: 'unsupported_parameter',
    param: '{name}',
    source: 'QwenLM/qwen-code, issue 921; OpenHands/software-agent-sdk, issue 1837',
    date: '2026-01',
    find(request) {
      const name = SAMPLING.find((one) => isSet(request.body[one]) && request.body[one] !== false);
      return name !== undefined && isSamplingFixed(request) ? { name } : undefined;
    },
  },
  {
    id: 'openai/stop-refused',
    checks: 'stop sequences for a model that reasons',
    words: "Unsupported parameter: 'stop' is not supported with this model.",
    code: 'unsupported_parameter',
    param: 'stop',
    source: `${REFERENCE}, stop; EleutherAI/lm-evaluation-harness, pull request 3247`,
    date: '2026-11',
    find: ({ body, model }) => (isSet(body['stop']) && openaiFamily(model).refusesStop ? {} : undefined),
  },
  {
    id: 'openai/effort-unknown-parameter',
    checks: 'an effort for a model that does not reason',
    words: "Unsupported parameter: '{name}' is not supported with this model.",
    code: 'unsupported_parameter',
    param: '{name}',
    source: 'generative-computing/mellea, issue 270',
    date: '2025-12-24',
    find(request) {
      if (effortOf(request) === undefined || openaiFamily(request.model).efforts.length > 0) return undefined;
      return { name: isResponses(request) ? 'reasoning.effort' : 'reasoning_effort' };
    },
  },
  {
    id: 'openai/effort-value',
    checks: 'an effort that the model does not take',
    words: "Unsupported value: '{name}' does not support '{effort}' with this model. Supported values are: {known}.",
    code: 'unsupported_value',
    param: '{name}',
    source: 'kaitranntt/ccs, issue 344; Kilo-Org/cloud, pull request 3807 (the words)',
    date: '2026-06-08',
    find(request) {
      const { efforts } = openaiFamily(request.model);
      const effort = effortOf(request);
      if (effort === undefined || efforts.length === 0 || efforts.includes(effort)) return undefined;
      const name = isResponses(request) ? 'reasoning.effort' : 'reasoning_effort';
      return { name, effort, known: efforts.map((one) => `'${one}'`).join(', ') };
    },
  },
  {
    id: 'openai/tools-need-responses',
    checks: 'functions on chat completions for a model whose functions work with an effort on Responses only',
    words:
      "Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. Please use /v1/responses or set reasoning_effort to 'none'.",
    param: 'reasoning_effort',
    source: 'openai/openai-openapi, issue 541; BerriAI/litellm, issue 34569',
    date: '2026-08',
    find: (request) =>
      !isResponses(request) &&
      openaiFamily(request.model).toolsOnResponses &&
      toolsOf(request).length > 0 &&
      effortOf(request) !== 'none'
        ? { model: request.model }
        : undefined,
  },
  {
    id: 'openai/tools-empty',
    checks: 'an empty list of tools',
    words: "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    code: 'empty_array',
    param: 'tools',
    source: 'vllm-project/vllm, pull request 40311',
    date: '2026-04-20',
    find: (request) =>
      !isResponses(request) && Array.isArray(request.body['tools']) && request.body['tools'].length === 0
        ? {}
        : undefined,
  },
  {
    id: 'openai/tools-most',
    checks: 'more than 128 tools',
    words:
      "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length {length} instead.",
    code: 'array_above_max_length',
    param: 'tools',
    source: '0x4m4/hexstrike-ai, issue 29',
    date: '2025-08-22',
    find({ body }) {
      const { length } = read.list(body['tools']);
      return length > MOST_TOOLS ? { length } : undefined;
    },
  },
  {
    id: 'openai/choice-without-tools',
    checks: 'tool_choice or parallel_tool_calls without tools, on chat completions',
    words: "Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified.",
    param: '{name}',
    source: 'vllm-project/vllm, pull request 40311; openai/swarm, issue 30',
    date: '2026-04-20',
    find(request) {
      if (isResponses(request) || isSet(request.body['tools'])) return undefined;
      const name = ['tool_choice', 'parallel_tool_calls'].find((one) => isSet(request.body[one]));
      return name === undefined ? undefined : { name };
    },
  },
  {
    id: 'openai/choice-unknown',
    checks: 'a choice of a function that is not offered',
    words: "Tool choice '{name}' not found in 'tools' parameter.",
    code: 'invalid_value',
    param: 'tool_choice',
    source: REFERENCE,
    date: '2026-11',
    find(request) {
      const name = chosenTool(request);
      return name !== undefined && !toolNames(request).includes(name) ? { name } : undefined;
    },
  },
  {
    id: 'openai/stop-most',
    checks: 'more than four stop sequences',
    words:
      "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length {length} instead.",
    code: 'array_above_max_length',
    param: 'stop',
    source: REFERENCE,
    date: '2026-11',
    find({ body }) {
      const { length } = read.list(body['stop']);
      return length > MOST_STOPS ? { length } : undefined;
    },
  },
  {
    id: 'openai/stream-options',
    checks: 'stream_options without a stream',
    words: "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
    param: 'stream_options',
    source: REFERENCE,
    date: '2026-11',
    find: ({ body }) => (isSet(body['stream_options']) && body['stream'] !== true ? {} : undefined),
  },
  {
    id: 'openai/top-logprobs-alone',
    checks: 'top_logprobs without logprobs, on chat completions',
    words: "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.",
    param: 'top_logprobs',
    source: REFERENCE,
    date: '2026-11',
    find: (request) =>
      !isResponses(request) && isSet(request.body['top_logprobs']) && request.body['logprobs'] !== true
        ? {}
        : undefined,
  },
  {
    id: 'openai/range',
    checks: 'a number outside the range of its parameter',
    words:
      "Invalid '{name}': decimal outside of range. Expected a value between {least} and {most}, but got {value} instead.",
    code: 'decimal_above_max_value',
    param: '{name}',
    source: REFERENCE,
    date: '2026-11',
    find({ body }) {
      for (const [name, [least, most]] of Object.entries(RANGES)) {
        const value = read.number(body[name]);
        if (value !== undefined && (value < least || value > most)) return { name, least, most, value };
      }
      return undefined;
    },
  },
  {
    id: 'openai/service-tier',
    checks: 'a service tier that it does not have',
    words: "Invalid value: '{tier}'. Supported values are: 'auto', 'default', 'flex', 'scale', 'priority', and 'fast'.",
    code: 'invalid_value',
    param: 'service_tier',
    source: REFERENCE,
    date: '2026-11',
    find({ body }) {
      const tier = outside([read.text(body['service_tier']) ?? 'auto'], TIERS);
      return tier === undefined ? undefined : { tier };
    },
  },
  {
    id: 'openai/metadata-most',
    checks: 'more than 16 pairs of metadata',
    words:
      "Invalid 'metadata': too many properties. Expected an object with at most 16 properties, but got an object with {length} properties instead.",
    code: 'object_above_max_properties',
    param: 'metadata',
    source: REFERENCE,
    date: '2026-11',
    find({ body }) {
      const { length } = Object.keys(read.object(body['metadata']));
      return length > MOST_METADATA ? { length } : undefined;
    },
  },
];
