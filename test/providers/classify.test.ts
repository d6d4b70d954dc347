import { describe, expect, it } from 'vitest';
import { classifyWebPage } from '../../src/providers/classify.ts';
import { isErrorBody, readErrorShape } from '../../src/providers/error-shape.ts';
import { failureOfResponse } from '../../src/providers/upstream-failure.ts';
import { contextOf } from '../support/wire.ts';
import { FAILURE_RULES, type FailureKind } from '../../src/contracts/failure.ts';

function kindOf(status: number, body: unknown): FailureKind {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return failureOfResponse(status, () => undefined, text, contextOf()).kind;
}

const error = (code: string | null, message = 'm', type: string | null = null): object => ({
  error: { code, message, type },
});

/** How servers word that a prompt is too long for them. */
const TOO_LONG = [
  [
    'llama.cpp, by its type',
    400,
    { error: { code: 400, type: 'exceed_context_size_error', message: 'request (9000 tokens) is too much' } },
  ] as const,
  [
    'llama.cpp',
    400,
    { error: { message: 'request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it' } },
  ] as const,
  [
    'xAI',
    400,
    {
      code: 'Client specified an invalid argument',
      error: "This model's maximum prompt length is 131072 but the request contains 200310 tokens.",
    },
  ] as const,
  [
    'Kimi',
    400,
    error('invalid_request_error', 'Invalid request: Your request exceeded model token limit: 262144'),
  ] as const,
  ['Alibaba', 400, error('invalid_parameter_error', 'Range of input length should be [1, 129024]')] as const,
  ['Together', 422, error(null, 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193')] as const,
  ['Together, without marks', 422, error(null, 'inputs tokens + max_new_tokens must be <= 8193')] as const,
  [
    'Text Generation Inference',
    422,
    { error: 'Input validation error: `inputs` must have less than 4096 tokens. Given: 5000' },
  ] as const,
  ['Bedrock', 400, { message: 'Input is too long for requested model.' }] as const,
  [
    'vLLM',
    400,
    {
      object: 'error',
      message: 'The decoder prompt (length 9000) is longer than the maximum model length of 8192.',
      code: 400,
    },
  ] as const,
  [
    'GitHub Copilot',
    400,
    error('model_max_prompt_tokens_exceeded', 'prompt token count of 140000 exceeds the limit of 128000'),
  ] as const,
  ['Z.ai', 400, error('1261', 'Prompt exceeds max length')] as const,
  [
    'LM Studio',
    400,
    {
      error: 'Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with 4096',
    },
  ] as const,
].map(([who, status, body]) => [`too long a prompt, as ${who} says it`, status, body, 'context_length'] as const);

describe('a status without a word of explanation', () => {
  it.each<readonly [status: number, kind: FailureKind]>([
    [300, 'unreachable'],
    [301, 'unreachable'],
    [302, 'unreachable'],
    [307, 'unreachable'],
    [308, 'unreachable'],
    [400, 'invalid_request'],
    [401, 'credentials'],
    [402, 'quota'],
    [403, 'credentials'],
    [404, 'model_not_found'],
    [405, 'unreachable'],
    [406, 'unreachable'],
    [408, 'timeout'],
    [409, 'conflict'],
    [410, 'bad_response'],
    [413, 'too_large'],
    [415, 'unreachable'],
    [418, 'bad_response'],
    [421, 'conflict'],
    [422, 'unprocessable'],
    [424, 'server'],
    [425, 'conflict'],
    [429, 'rate_limited'],
    [498, 'overloaded'],
    [499, 'server'],
    [500, 'server'],
    [501, 'server'],
    [502, 'server'],
    [503, 'overloaded'],
    [504, 'timeout'],
    [505, 'server'],
    [520, 'server'],
    [521, 'server'],
    [522, 'server'],
    [523, 'server'],
    [524, 'timeout'],
    [525, 'server'],
    [526, 'server'],
    [527, 'server'],
    [529, 'overloaded'],
    [530, 'server'],
    [599, 'server'],
    [600, 'bad_response'],
    [999, 'bad_response'],
    [0, 'bad_response'],
    [101, 'bad_response'],
  ])('%i means %s', (status, kind) => {
    expect(kindOf(status, '')).toBe(kind);
    expect(kindOf(status, {})).toBe(kind);
    expect(kindOf(status, error('something_new'))).toBe(kind);
  });
});

describe('a status with an explanation', () => {
  it.each<readonly [name: string, status: number, body: unknown, kind: FailureKind]>([
    ['a parameter it does not know', 400, error('unsupported_parameter'), 'unsupported_parameter'],
    ['a value it does not know', 400, error('unsupported_value'), 'unsupported_parameter'],
    ['extra inputs', 400, error(null, 'temperature: Extra inputs are not permitted'), 'unsupported_parameter'],
    [
      'an argument it does not know',
      400,
      error(null, 'Unrecognized request argument supplied: top_k'),
      'unsupported_parameter',
    ],
    ['a context that is too long', 400, error('context_length_exceeded'), 'context_length'],
    [
      'a prompt that is too long',
      400,
      error('invalid_request_error', 'prompt is too long: 9 tokens > 8'),
      'context_length',
    ],
    ['too many input tokens', 400, error(null, 'The input token count (9) exceeds the maximum'), 'context_length'],
    ...TOO_LONG,
    ['too long a context, as too large', 413, error('context_length_exceeded'), 'context_length'],
    [
      'too long a context, as unprocessable',
      422,
      error(null, "This model's maximum context length is 8 tokens"),
      'context_length',
    ],
    ['a filtered prompt', 400, error('content_filter'), 'content_policy'],
    ['a policy violation', 400, error('content_policy_violation'), 'content_policy'],
    [
      'a safety system',
      400,
      error(null, 'Your request was rejected as a result of our safety system.'),
      'content_policy',
    ],
    [
      'an inner error',
      400,
      { error: { code: 'x', innererror: { code: 'ResponsibleAIPolicyViolation' } } },
      'content_policy',
    ],
    [
      'moderation',
      403,
      error('403', 'Your chosen model requires moderation and your input was flagged'),
      'content_policy',
    ],
    [
      'an invalid key as a bad request',
      400,
      { error: { code: 400, details: [{ reason: 'API_KEY_INVALID' }] } },
      'credentials',
    ],
    ['an invalid key in words', 400, error(null, 'API key not valid. Please pass a valid API key.'), 'credentials'],
    ['an incorrect key', 400, error('invalid_request_error', 'Incorrect API key provided: x'), 'credentials'],
    [
      'a place that is not served',
      400,
      { error: { code: 400, status: 'FAILED_PRECONDITION', message: 'm' } },
      'credentials',
    ],
    ['a country that is not served', 403, error('unsupported_country_region_territory'), 'credentials'],
    [
      'a used-up balance',
      400,
      error('invalid_request_error', 'Your credit balance is too low to access the API.'),
      'quota',
    ],
    ['a reached usage limit', 400, error(null, 'You have reached your specified API usage limits.'), 'quota'],
    ['a used-up balance, forbidden', 403, error('insufficient_balance'), 'quota'],
    ['an insufficient quota', 429, error('insufficient_quota'), 'quota'],
    ['an exhausted credit', 429, error('credit_balance_exhausted'), 'quota'],
    ['an organization at its limit', 429, error('organization_spend_limit_exceeded'), 'quota'],
    ['a project at its limit', 429, error('project_spend_limit_exceeded'), 'quota'],
    ['usage at its limit', 429, error('organization_usage_limit_exceeded'), 'quota'],
    ['an insufficient quota by type', 429, error(null, 'm', 'insufficient_quota'), 'quota'],
    ['an insufficient balance without a code', 429, { message: 'Insufficient balance' }, 'quota'],
    [
      'a rate limit that speaks of billing',
      429,
      error('rate_limit_exceeded', 'See your plan and billing details'),
      'rate_limited',
    ],
    ['a call to slow down', 429, error('slow_down'), 'rate_limited'],
    [
      'a rate limit that begins like a used-up balance',
      429,
      error('rate_limit_exceeded', 'Insufficient quota of requests'),
      'rate_limited',
    ],
    ['a suspended account', 429, error(null, 'm', 'exceeded_current_quota_error'), 'quota'],
    ['a function that could not be called', 400, error('tool_use_failed'), 'server'],
    ['a model that does not exist', 400, error('invalid_request_error', 'Model Not Exist'), 'model_not_found'],
    ['a model it does not know', 400, error(null, 'Invalid model: mistral-9'), 'model_not_found'],
    ['a model it has not', 400, error('model_not_found'), 'model_not_found'],
    ['an address it does not know', 404, error('unknown_url', 'Unknown request URL: POST /v1/v1/chat'), 'unreachable'],
    ['an address it does not serve', 404, '404 page not found', 'unreachable'],
    ['no such path', 404, { detail: 'Not Found' }, 'unreachable'],
    ['no such deployment', 404, error('DeploymentNotFound'), 'model_not_found'],
    ['an invalid request of another status', 418, error('invalid_request_error'), 'invalid_request'],
    ['a forbidden page', 403, '<html>Attention Required!</html>', 'unreachable'],
    ['a page that is not there', 404, '\n <!doctype html>', 'unreachable'],
    ['a page of a gateway', 502, '<html>Bad gateway</html>', 'server'],
  ])('means what it says: %s', (_name, status, body, kind) => {
    expect(kindOf(status, body)).toBe(kind);
  });

  it('cannot be made to put an endpoint to sleep by words of a caller that it repeats', () => {
    const resting = (kind: FailureKind): boolean => FAILURE_RULES[kind].cooldownMs > 60_000;
    for (const words of [
      'insufficient_quota',
      'credit balance is too low',
      'billing',
      'invalid_api_key',
      'authentication',
      'model not found',
      'Insufficient Balance',
    ]) {
      for (const message of [`Invalid schema for function '${words}'`, `Tool choice "${words}" is not in tools`]) {
        for (const status of [400, 422, 429]) {
          const kind = kindOf(status, error('invalid_request_error', message));
          expect([message, status, kind, resting(kind)]).toEqual([message, status, kind, false]);
        }
      }
    }
  });
});

describe('an error body', () => {
  it.each<readonly [name: string, body: unknown, message: string | undefined]>([
    ['of OpenAI', { error: { message: 'm' } }, 'm'],
    ['with text for an error', { error: 'm' }, 'm'],
    ['in an array', [{ error: { message: 'm' } }], 'm'],
    ['without a wrapper', { object: 'error', message: 'm' }, 'm'],
    ['of a gateway', { fault: { faultstring: 'm', detail: { errorcode: 'c' } } }, 'm'],
    ['of a validator', { detail: [{ loc: ['body'], msg: 'm', type: 't' }] }, 'm'],
    ['of a framework', { detail: 'm' }, 'm'],
    ['with a detail of its own', { detail: { message: 'm' } }, 'm'],
    ['with a list of errors', { success: false, errors: [{ code: 7003, message: 'm' }] }, 'm'],
    ['with a list of texts', { errors: ['m'] }, 'm'],
    ['with a status code', { statusCode: 401, message: 'm' }, 'm'],
    ['in plain text', 'm', 'm'],
    ['without words', {}, undefined],
    ['that is null', null, undefined],
    ['that is a number', 7, undefined],
    ['that is an empty array', [], undefined],
    ['with an error that is null', { error: null }, undefined],
    ['with a message that is no text', { error: { message: { text: 'm' } } }, undefined],
  ])('is read %s', (_name, body, message) => {
    expect(readErrorShape(body).message).toBe(message);
  });

  it('may give a status as a number or as digits, if it is one of an error', () => {
    expect(readErrorShape({ error: { code: 429 } }).status).toBe(429);
    expect(readErrorShape({ error: { code: '503' } }).status).toBe(503);
    expect(readErrorShape({ statusCode: 401 }).status).toBe(401);
    for (const code of [200, 399, 600, 1300, '1300', '4e2', 429.5, NaN]) {
      expect(readErrorShape({ error: { code } }).status).toBeUndefined();
    }
  });

  it.each<readonly [body: unknown, isError: boolean]>([
    [{ error: { message: 'm' } }, true],
    [{ error: 'm' }, true],
    [[{ error: { message: 'm' } }], true],
    [{ object: 'error' }, true],
    [{ error: null }, false],
    [{ error: false }, false],
    [{ error: '' }, false],
    [{ error: {} }, false],
    [{ choices: [], error: { message: 'm' } }, false],
    [{}, false],
    [[], false],
    ['error', false],
    [null, false],
  ])('%j with a good status is one: %s', (body, isError) => {
    expect(isErrorBody(body)).toBe(isError);
  });
});

describe('the reading of errors', () => {
  it('takes a web page for a wrong address only where a status can mean that', () => {
    expect(classifyWebPage(401, {}).kind).toBe('credentials');
    expect(classifyWebPage(404, {}).kind).toBe('unreachable');
  });
});
