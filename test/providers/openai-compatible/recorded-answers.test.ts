import { describe, expect, it } from 'vitest';
import type { Choice, ResultMessage } from '../../../src/protocol/chat-result.ts';
import { VENDOR_PRESETS } from '../../../src/providers/openai-compatible/presets.ts';
import { failureOfResponse } from '../../../src/providers/upstream-failure.ts';
import { contextOf, decodeWhole, fixtureText } from '../../support/wire.ts';
import type { AttemptFailure } from '../../../src/contracts/failure.ts';
import type { UpstreamResult } from '../../../src/contracts/stream-piece.ts';

const OPENAI = {
  usage: {
    prompt_tokens: 19,
    completion_tokens: 4,
    total_tokens: 23,
    prompt_tokens_details: { cached_tokens: 8, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  },
  systemFingerprint: 'fp_44709d6fcb',
  serviceTier: 'priority',
  upstreamId: 'chatcmpl-W1',
};

/** What must come out of each whole answer. */
const ANSWERS: Readonly<Record<string, UpstreamResult>> = {
  'openai/structured.json': { ...OPENAI, choices: [choice({ content: '{"name":"Ada","tracks":[1,2]}' })] },
  'openai/refusal.json': {
    ...OPENAI,
    choices: [choice({ content: null, refusal: 'I cannot help with that.' })],
  },
  'openai/tools.json': {
    ...OPENAI,
    choices: [
      choice(
        {
          content: null,
          tool_calls: [
            {
              id: 'call_a1',
              index: 0,
              type: 'function',
              function: { name: 'get_weather', arguments: '{"city":"Łódź"}' },
            },
            { id: 'call_b2', index: 1, type: 'function', function: { name: 'ring_bell', arguments: '{}' } },
          ],
        },
        { finish_reason: 'tool_calls', native_finish_reason: 'tool_calls' },
      ),
    ],
  },
  'openai/search.json': {
    ...OPENAI,
    choices: [
      choice({
        content: 'It opened in 1885.',
        annotations: [
          {
            type: 'url_citation',
            url_citation: { start_index: 0, end_index: 18, title: 'History', url: 'https://example.org/history' },
          },
        ],
      }),
    ],
  },
  'deepseek/padded.body': {
    choices: [choice({ content: 'Pull it', reasoning: 'A lever moves it.' })],
    usage: {
      prompt_tokens: 30,
      completion_tokens: 11,
      total_tokens: 41,
      prompt_tokens_details: { cached_tokens: 24 },
      completion_tokens_details: { reasoning_tokens: 7 },
    },
    systemFingerprint: 'fp_ds',
    serviceTier: undefined,
    upstreamId: 'ds-2',
  },
  'mistral/thinking.json': {
    choices: [
      choice(
        { content: 'Line two', reasoning: 'Which line?' },
        { finish_reason: 'length', native_finish_reason: 'model_length' },
      ),
    ],
    usage: { prompt_tokens: 14, completion_tokens: 9, total_tokens: 23 },
    systemFingerprint: undefined,
    serviceTier: undefined,
    upstreamId: 'mi-2',
  },
  'xai/reasoning.json': {
    choices: [
      choice({
        content: 'Two lines',
        reasoning: 'Counting.',
        annotations: [{ type: 'url_citation', url_citation: { url: 'https://example.org/a' } }],
      }),
    ],
    usage: {
      prompt_tokens: 20,
      completion_tokens: 46,
      total_tokens: 66,
      prompt_tokens_details: { text_tokens: 20, audio_tokens: 0, image_tokens: 0, cached_tokens: 20 },
      completion_tokens_details: { reasoning_tokens: 40, audio_tokens: 0 },
    } as UpstreamResult['usage'],
    systemFingerprint: 'fp_x',
    serviceTier: undefined,
    upstreamId: 'xai-2',
  },
  'openrouter/image.json': {
    choices: [
      choice(
        {
          content: 'A lamp',
          images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }],
        },
        { native_finish_reason: 'stop' },
      ),
    ],
    usage: {
      prompt_tokens: 5,
      completion_tokens: 1_290,
      total_tokens: 1_295,
      completion_tokens_details: { image_tokens: 1_290 },
    },
    systemFingerprint: undefined,
    serviceTier: undefined,
    upstreamId: 'gen-3',
  },
};

/** Errors that come with HTTP 200. */
const ERRORS_IN_DISGUISE: Readonly<Record<string, AttemptFailure>> = {
  'xai/error-200.json': {
    kind: 'overloaded',
    status: 503,
    retryAfterMs: 3_000,
    providerCode: 'The service is currently unavailable',
    message: 'The model is at capacity, please try again in 3 seconds.',
    raw: 'The model is at capacity, please try again in 3 seconds.',
    evidence: ['try again in 3 second'],
  },
  'openrouter/error-200.json': {
    kind: 'rate_limited',
    status: 429,
    retryAfterMs: undefined,
    providerCode: undefined,
    message: 'Provider returned error',
    raw: 'Provider returned error',
  },
  'openrouter/broke-off.json': {
    kind: 'overloaded',
    status: 503,
    retryAfterMs: undefined,
    providerCode: undefined,
    message: 'Overloaded',
    raw: 'Overloaded',
  },
};

type Outcome = Pick<AttemptFailure, 'kind' | 'message' | 'providerCode' | 'retryAfterMs'>;

/** What each error body means with its status. */
const ERRORS: readonly (readonly [path: string, status: number, expected: Outcome])[] = [
  [
    'openai/error-context.json',
    400,
    {
      kind: 'context_length',
      providerCode: 'context_length_exceeded',
      message: "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
    },
  ],
  [
    'openai/error-quota.json',
    429,
    {
      kind: 'quota',
      providerCode: 'insufficient_quota',
      message: 'You exceeded your current quota, please check your plan and billing details.',
    },
  ],
  [
    'openai/error-rate.json',
    429,
    {
      kind: 'rate_limited',
      providerCode: 'rate_limit_exceeded',
      retryAfterMs: 20_000,
      message:
        'Rate limit reached for requests per min (RPM): Limit 3. Please try again in 20s. Add a payment method at https://platform.openai.com/account/billing to raise it.',
    },
  ],
  [
    'openai/error-key.json',
    401,
    {
      kind: 'credentials',
      providerCode: 'invalid_api_key',
      message:
        'Incorrect API key provided: [redacted] You can find your API key at https://platform.openai.com/account/api-keys.',
    },
  ],
  [
    'openai/error-parameter.json',
    400,
    {
      kind: 'unsupported_parameter',
      providerCode: 'unsupported_parameter',
      message: "Unsupported parameter: 'temperature' is not supported with this model.",
    },
  ],
  [
    'groq/tool-use-failed.json',
    400,
    {
      kind: 'server',
      providerCode: 'tool_use_failed',
      message: "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
    },
  ],
  [
    'groq/capacity.json',
    498,
    { kind: 'overloaded', providerCode: 'capacity_exceeded', message: 'The flex tier has no capacity left.' },
  ],
  ['together/error-text.json', 503, { kind: 'overloaded', message: 'The model is overloaded, please retry.' }],
  [
    'fireworks/fault.json',
    429,
    {
      kind: 'rate_limited',
      providerCode: 'policies.ratelimit.QuotaViolation',
      message: 'Rate limit quota violation. Quota limit exceeded.',
    },
  ],
  [
    'deepseek/balance.json',
    402,
    { kind: 'quota', providerCode: 'invalid_request_error', message: 'Insufficient Balance' },
  ],
  [
    'mistral/error-flat.json',
    429,
    {
      kind: 'rate_limited',
      providerCode: '3505',
      message: 'Service tier capacity exceeded for this model.',
    },
  ],
  ['mistral/error-detail.json', 422, { kind: 'unsupported_parameter', message: 'Extra inputs are not permitted' }],
  ['mistral/error-message.json', 401, { kind: 'credentials', message: 'Unauthorized' }],
  [
    'azure/prompt-blocked.json',
    400,
    {
      kind: 'content_policy',
      providerCode: 'content_filter',
      message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    },
  ],
  [
    'azure/gateway.json',
    401,
    {
      kind: 'credentials',
      message: 'Unauthorized. Access token is missing, invalid, audience is incorrect, or have expired.',
    },
  ],
  [
    'ollama/model-missing.json',
    404,
    {
      kind: 'model_not_found',
      providerCode: 'api_error',
      message: 'model "qwen9" not found, try pulling it first',
    },
  ],
  [
    'vllm/error.json',
    404,
    {
      kind: 'model_not_found',
      providerCode: 'NotFoundError',
      message: 'The model `Qwen/Qwen9` does not exist.',
    },
  ],
  ['vllm/wrong-path.json', 404, { kind: 'unreachable', message: 'Not Found' }],
  ['llama-cpp/loading.json', 503, { kind: 'overloaded', providerCode: 'unavailable_error', message: 'Loading model' }],
  [
    'google/error-array.json',
    400,
    {
      kind: 'credentials',
      providerCode: 'INVALID_ARGUMENT',
      message: 'API key not valid. Please pass a valid API key.',
    },
  ],
  [
    'google/quota.json',
    429,
    {
      kind: 'rate_limited',
      providerCode: 'RESOURCE_EXHAUSTED',
      retryAfterMs: 27_000,
      message: 'You exceeded your current quota, please check your plan and billing details.',
    },
  ],
];

describe('whole answers', () => {
  it.each(Object.entries(ANSWERS))('%s is decoded to exactly this result', (path, expected) => {
    const quirks = path.startsWith('xai/') ? VENDOR_PRESETS.xai.quirks : {};
    expect(decodeWhole(fixtureText(path), quirks)).toEqual({ ok: true, result: expected });
  });

  it.each(Object.entries(ERRORS_IN_DISGUISE))('%s is an error although its status is good', (path, expected) => {
    expect(decodeWhole(fixtureText(path))).toEqual({ ok: false, failure: expected });
  });
});

describe('error bodies', () => {
  it.each(ERRORS)('%s with status %i is understood', (path, status, expected) => {
    const failure = failureOfResponse(status, () => undefined, fixtureText(path), contextOf());
    const { kind, message, providerCode, retryAfterMs } = failure;
    expect({ kind, message, providerCode, retryAfterMs }).toEqual(expected);
    expect(failure.status).toBe(status);
  });
});

function choice(message: Partial<ResultMessage>, rest: Partial<Choice> = {}): Choice {
  return {
    index: 0,
    finish_reason: 'stop',
    native_finish_reason: 'stop',
    logprobs: null,
    ...rest,
    message: { role: 'assistant', content: null, refusal: null, reasoning: null, ...message },
  };
}
