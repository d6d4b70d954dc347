/** The one table of how providers word their refusals. */
import type { ErrorType } from '../../protocol/error.ts';
import type { FailureKind } from '../../contracts/failure.ts';

/** What a provider's refusal is about. Only the first three say something about other requests. */
type Concern = 'account' | 'model' | 'address' | 'request';

/** How a provider words a kind of refusal. A row matches by its code or by its message. */
export interface Wording {
  /** Who words it so; several where they share it. */
  readonly vendor: string;
  /** Statuses with which it comes. */
  readonly statuses: readonly number[];
  /** Words in the codes of an error body, its type and reasons included. */
  readonly code?: RegExp;
  /**
   * Words in its message. Messages repeat what callers sent, so whatever concerns more than the request must stand at
   * the beginning of one.
   */
  readonly message?: RegExp;
  readonly kind: FailureKind;
  readonly concerns: Concern;
  /** The message for callers, where that is more than the kind says (gaps 7.3). */
  readonly errorType?: ErrorType;
  /** Where the wording was seen. */
  readonly source: string;
}

const OPENAI = 'platform.openai.com/docs/guides/error-codes';
const GOOGLE = 'ai.google.dev/gemini-api/docs/troubleshooting';
const ANTHROPIC = 'docs.anthropic.com/en/api/errors';
const ALIBABA = 'alibabacloud.com/help/en/model-studio/error-code';
const DEEPSEEK = 'api-docs.deepseek.com/quick_start/error_codes';

/**
 * What providers say when they refuse, the most specific first. Whatever is not in here is about the request that was
 * refused, as far as anybody knows (faults U-27 to U-32).
 */
export const VENDOR_WORDINGS: readonly Wording[] = [
  {
    // Where it is the context that an answer of that length has no room in, a longer one may have it.
    vendor: 'OpenAI, Anthropic, vLLM',
    statuses: [400, 422],
    code: /max_(?:completion_|output_)?tokens_(?:exceeded|too_large)/i,
    message:
      /max_(?:completion_|output_)?tokens\b.{0,60}(?:too large|too high|exceeds|must be (?:less|at most))|max_tokens: \d+ > \d+/i,
    kind: 'context_length',
    errorType: 'max_tokens_exceeded',
    concerns: 'request',
    source: `${OPENAI}, ${ANTHROPIC}, github.com/vllm-project/vllm/blob/main/vllm/entrypoints/openai`,
  },
  {
    vendor: 'Azure, GitHub Models',
    statuses: [400, 413, 422],
    code: /tokens?_limit_(?:exceeded|reached)/i,
    message: /^\W*(?:tokens? limit exceeded|request body too large for .{1,60} max size: \d+ tokens)/i,
    kind: 'context_length',
    errorType: 'token_limit_exceeded',
    concerns: 'request',
    source: 'learn.microsoft.com/azure/ai-foundry/model-inference/reference',
  },
  {
    vendor: 'OpenAI',
    statuses: [400, 422],
    code: /string_above_max_length|string_too_long/i,
    message: /string too long\. expected a string with maximum length/i,
    kind: 'invalid_request',
    errorType: 'string_too_long',
    concerns: 'request',
    source: OPENAI,
  },
  {
    // Models that reason refuse prompts with this code, and say nothing about which of their rules.
    vendor: 'OpenAI',
    statuses: [400],
    code: /^invalid_prompt\b/i,
    message: /^\W*invalid prompt: your prompt was flagged/i,
    kind: 'content_policy',
    errorType: 'refusal',
    concerns: 'request',
    source: OPENAI,
  },
  {
    vendor: 'OpenAI, Google, Anthropic',
    statuses: [400, 422],
    code: /image_download_failed|failed_to_download_image/i,
    message:
      /^\W*(?:(?:error|timeout|failed) while downloading|(?:failed|unable) to (?:download|fetc.) (?:the )?(?:image|file|content)|cannot fetc. content|could not (?:download|fetc.))/i,
    kind: 'invalid_request',
    errorType: 'image_download_failed',
    concerns: 'request',
    source: `${OPENAI}, ${GOOGLE}, ${ANTHROPIC}`,
  },
  {
    vendor: 'OpenAI, Anthropic',
    statuses: [400, 422],
    code: /unsupported_image|invalid_image_format|unsupported_image_media_type|image_format/i,
    message:
      /unsupported image|(?:image|media) (?:format|type) (?:is )?not (?:supported|valid)|make sure your image (?:is in|has of) one of/i,
    kind: 'invalid_request',
    errorType: 'unsupported_image_format',
    concerns: 'request',
    source: `${OPENAI}, ${ANTHROPIC}`,
  },
  {
    vendor: 'OpenAI, Anthropic',
    statuses: [400, 413, 422],
    code: /image_(?:file_)?too_large/i,
    message: /image (?:is too large|exceeds|size exceeds|dimensions exceed|file size .{0,30}exceed)/i,
    kind: 'invalid_request',
    errorType: 'image_too_large',
    concerns: 'request',
    source: `${OPENAI}, ${ANTHROPIC}`,
  },
  {
    vendor: 'OpenAI, Alibaba',
    statuses: [400, 422],
    code: /image_too_small/i,
    message: /image (?:is too small|(?:length and )?width .{0,40}(?:larger than|at least))/i,
    kind: 'invalid_request',
    errorType: 'image_too_small',
    concerns: 'request',
    source: `${OPENAI}, ${ALIBABA}`,
  },
  {
    vendor: 'OpenAI',
    statuses: [400, 404],
    code: /image_(?:file_)?not_found/i,
    message: /^\W*image (?:file )?not found/i,
    kind: 'invalid_request',
    errorType: 'image_not_found',
    concerns: 'request',
    source: OPENAI,
  },
  {
    vendor: 'OpenAI, Anthropic, Google',
    statuses: [400, 422],
    code: /invalid_(?:base64_)?image|image_parse_error|failed_to_decode_image/i,
    message:
      /^\W*(?:could not proces. image|unable to proces. input image|invalid image|the image data you provided|image does not represent|provided image is not valid)/i,
    kind: 'invalid_request',
    errorType: 'invalid_image',
    concerns: 'request',
    source: `${OPENAI}, ${ANTHROPIC}, ${GOOGLE}`,
  },
  {
    // Its limit is one of memory, which is declared nowhere: any other server may have room.
    vendor: 'llama.cpp',
    statuses: [400, 413, 500],
    message: /^\W*input \(\d+ tokens\) is (?:too large to proces.|larger than the (?:max|maximum) context size)/i,
    kind: 'unsupported_parameter',
    errorType: 'context_length_exceeded',
    concerns: 'request',
    source: 'github.com/ggml-org/llama.cpp/tree/master/tools/server',
  },
  {
    // It answers 500 and 501 where others answer 400: nothing is wrong with the server.
    vendor: 'llama.cpp',
    statuses: [500, 501],
    code: /\bnot_supported_error\b/,
    message:
      /^\W*(?:(?:image|audio|video|multimodal)(?: input)? is not supported\b|failed to parse (?:tool call arguments|messages|tools)\b|unsupported content\[\]\.type|(?:tools|tool_choice) param requires --jinja|cannot use (?:both )?(?:custom )?grammar|json schema (?:conversion failed|error)|unable to generate parser for this template)/i,
    kind: 'unsupported_parameter',
    concerns: 'request',
    source: 'github.com/ggml-org/llama.cpp/tree/master/tools/server',
  },
  {
    // The rest of the same, in a row of its own.
    vendor: 'llama.cpp',
    statuses: [500, 501],
    message:
      /^\W*(?:(?:this|the current) server does not support\b|all non-assistant messages must|assistant (?:message must|response prefill)|cannot have 2 or more assistant|(?:top_)?logprobs (?:is|are|requires) )/i,
    kind: 'unsupported_parameter',
    concerns: 'request',
    source: 'github.com/ggml-org/llama.cpp/tree/master/tools/server',
  },
  {
    // Each server has words of its own for a prompt that is too long for it. Codes and types are surer than sentences.
    vendor: 'llama.cpp, Kimi, Z.ai, xAI, Alibaba, Together, Bedrock, vLLM, GitHub Copilot, LM Studio',
    statuses: [400, 413, 422],
    code: /exceed_context_size|exceeded_model_token_limit|context_window_exceeded|context_overflow/i,
    message:
      /available context size|maximum prompt length is \d|exceeded model token limit|range of input length should be|`?inputs`? (?:tokens \+ `?max_new_tokens|must have less than)|input is too long for (?:the )?requested model|longer than the maximum model length|prompt token count of \d+ exceeds|prompt exceeds max length|tokens in request more than max|context the overflows|reduce the length of the (?:messages|prompt|input)/i,
    kind: 'context_length',
    concerns: 'request',
    source:
      'github.com/earendil-works/pi/issues/4943, github.com/earendil-works/pi/issues/5930, github.com/anomalyco/opencode/issues/50574, ' +
      'github.com/ggml-org/llama.cpp/tree/master/tools/server',
  },
  {
    vendor: 'OpenAI, Anthropic and compatible servers',
    statuses: [400, 413, 422],
    code: /context_length|prompt_too_long/i,
    message:
      /context length|context window|context limit|prompt is too long|too many tokens|input token count|maximum.{0,40}tokens/i,
    kind: 'context_length',
    concerns: 'request',
    source: `${OPENAI}, ${ANTHROPIC}`,
  },
  {
    vendor: 'OpenAI, Azure',
    statuses: [400, 403, 422],
    code: /content_filter|content_policy|responsibleai|moderation|safety/i,
    message: /content management policy|content filtering policy|safety system|flagged|moderation/i,
    kind: 'content_policy',
    concerns: 'request',
    source: `${OPENAI}, learn.microsoft.com/azure/ai-services/openai/concepts/content-filter`,
  },
  {
    vendor: 'DeepSeek',
    statuses: [400, 403, 422],
    message: /^\W*content exists risk/i,
    kind: 'content_policy',
    concerns: 'request',
    source: 'github.com/deepseek-ai/DeepSeek-V2/issues/30',
  },
  {
    vendor: 'Alibaba',
    statuses: [400, 403, 422],
    code: /data_?inspection_?failed/i,
    message: /^\W*(?:(?:input|output)(?: or output)?(?: text| image| video)? data may contain inappropriate content)/i,
    kind: 'content_policy',
    concerns: 'request',
    source: ALIBABA,
  },
  {
    // The code that comes with it, `permission-denied`, is also that of a key without access.
    vendor: 'xAI',
    statuses: [400, 403, 422],
    code: /safety_check_type/i,
    message: /content violates usage guidelines|failed check: safety_check/i,
    kind: 'content_policy',
    concerns: 'request',
    source: 'github.com/theopenco/llmgateway/pull/1785, github.com/UKGovernmentBEIS/inspect_ai/pull/2267',
  },
  {
    vendor: 'BytePlus',
    statuses: [400, 403, 422],
    code: /sensitive_?content_?detected/i,
    kind: 'content_policy',
    concerns: 'request',
    source: 'docs.byteplus.com/en/docs/ModelArk/1299023',
  },
  {
    vendor: 'OpenRouter',
    statuses: [402],
    message: /fewer max_tokens|can only afford|prompt tokens limit exceeded/i,
    kind: 'quota',
    concerns: 'request',
    source: 'github.com/can1357/oh-my-pi/issues/9569',
  },
  {
    vendor: 'OpenAI, Moonshot, Anthropic',
    statuses: [400, 402, 403, 429],
    code: /insufficient_quota|exceeded_current_quota|insufficient_balance|credit_balance|spend_limit|usage_limit|billing|payment|insufficient_credits/i,
    message:
      /^\W*(?:insufficient (?:balance|credits?|quota|funds)|your credit balance|your prepay|you have reached your specified api usage|credit limit exceeded|payment required\W*$)/i,
    kind: 'quota',
    concerns: 'account',
    source: `${OPENAI}, ${ANTHROPIC}, ${DEEPSEEK}`,
  },
  {
    vendor: 'Alibaba',
    statuses: [400, 402, 403],
    code: /arrearage|allocationquota\.freetieronly|accessdenied\.unpurchased/i,
    kind: 'quota',
    concerns: 'account',
    source: ALIBABA,
  },
  {
    vendor: 'xAI',
    statuses: [403],
    message: /^\W*your (?:newly created )?team .{0,80}(?:credits|spending limit)/i,
    kind: 'quota',
    concerns: 'account',
    source: 'docs.x.ai/docs/key-information/debugging',
  },
  {
    // What a key may do depends on what is asked: a key without the scope of one tool serves all others.
    vendor: 'OpenAI',
    statuses: [401, 403],
    message: /missing scopes|insufficient permissions for this operation/i,
    kind: 'credentials',
    concerns: 'request',
    source: OPENAI,
  },
  {
    vendor: 'OpenAI, Google, Anthropic',
    statuses: [400, 403],
    code: /api_key_invalid|invalid_api_key|authentication|unsupported_country|api_key_service_blocked|service_disabled|consumer_(?:suspended|invalid)|billing_disabled|account_deactivated|accessdenied_?exception/i,
    message:
      /^\W*(?:invalid api key|incorrect api key|api key not valid|user location is not supported|this organization has been disabled|(?:this|your|the)(?: api)? key (?:was|has|is|does not|may not|cannot)|your project has been denied access|.{0,60} api has not been used in project|country, region, or territory not supported|you don't have access to the model)/i,
    kind: 'credentials',
    concerns: 'account',
    source: `${OPENAI}, ${GOOGLE}, ${ANTHROPIC}`,
  },
  {
    vendor: 'xAI',
    statuses: [403],
    message: /^\W*(?:access to the chat endpoint is denied|the api key .{0,80}(?:blocked|disabled|not allowed))/i,
    kind: 'credentials',
    concerns: 'account',
    source: 'github.com/Wei-Shaw/sub2api/pull/5359, docs.x.ai/docs/key-information/debugging',
  },
  {
    vendor: 'Alibaba',
    statuses: [403],
    code: /^(?:model|workspace|app)\.accessdenied|access_?denied\.(?:ip|workspace)/i,
    kind: 'credentials',
    concerns: 'account',
    source: ALIBABA,
  },
  {
    // Also what a file says that is not ready: only its message tells.
    vendor: 'Google',
    statuses: [400],
    code: /failed_precondition/i,
    kind: 'credentials',
    concerns: 'request',
    source: GOOGLE,
  },
  {
    vendor: 'OpenRouter',
    statuses: [404],
    message: /^\W*no endpoints found that support/i,
    kind: 'unsupported_parameter',
    concerns: 'request',
    source: 'openrouter.ai/docs/api-reference/errors',
  },
  {
    vendor: 'OpenAI, Azure, Groq and compatible servers',
    statuses: [400, 403, 404],
    code: /model_not_found|deploymentnotfound|model_not_available|model_decommissioned/i,
    message:
      /^\W*(?:model not exist|invalid model:|the model .{1,100} (?:does not exist|was not found|has been decommissioned)|model not found\b|model .{1,100} (?:not found\b|does not exist|is not found)|models?[:/] ?\S{1,100}(?: is not found.*)?$|no endpoints found for \S{1,100}$|\S{1,100} is not a valid model id|publisher model .{1,200} (?:was )?not found|the provided model identifier is invalid|could not resolve the foundation model)/i,
    kind: 'model_not_found',
    concerns: 'model',
    source: `${OPENAI}, ${ANTHROPIC}, ${GOOGLE}, github.com/ollama/ollama/blob/main/docs/api.md`,
  },
  {
    vendor: 'OpenAI, Anthropic',
    statuses: [400, 422],
    code: /unsupported_parameter|unsupported_value/i,
    message: /unsupported parameter|extra inputs are not permitted|unrecognized request argument/i,
    kind: 'unsupported_parameter',
    concerns: 'request',
    source: `${OPENAI}, ${ANTHROPIC}`,
  },
  {
    vendor: 'Groq',
    statuses: [400],
    code: /tool_use_failed/i,
    kind: 'server',
    concerns: 'request',
    source: 'console.groq.com/docs/tool-use',
  },
  {
    vendor: 'OpenAI, frameworks of HTTP servers',
    statuses: [404],
    code: /unknown_url/i,
    message: /^\W*(?:(?:404 )?(?:page )?not found\W*$|unknown request url|invalid url)/i,
    kind: 'unreachable',
    concerns: 'address',
    source: OPENAI,
  },
];
