import { createRouter, type ErrorEvent, openaiCompatible, type RouterConfig } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { fetchRouter } from '../../adapters/fetch.ts';
import type { ErrorType } from '../../src/protocol/error.ts';
import { answerWith, failWith, startUpstream, type UpstreamHandler } from '../support/upstream.ts';

/** How an error of a type comes about. */
interface Cause {
  /** Status of the contract's table (gaps 7.3). */
  readonly status: number;
  /** What the provider says. */
  readonly says?: readonly [status: number, message: string, code?: string];
  readonly handler?: UpstreamHandler;
  /** What differs in the request from one that is answered. */
  readonly request?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly config?: Partial<RouterConfig>;
  /** Whether the client disconnects before the answer. */
  readonly leaves?: boolean;
}

const CAUSES: Readonly<Record<ErrorType, Cause>> = {
  context_length_exceeded: { status: 400, says: [400, 'Too long', 'context_length_exceeded'] },
  max_tokens_exceeded: { status: 400, says: [400, 'max_tokens is too large: 100000'] },
  token_limit_exceeded: { status: 400, says: [413, 'Too large', 'tokens_limit_reached'] },
  string_too_long: { status: 400, says: [400, 'Too long', 'string_above_max_length'] },
  authentication: { status: 401, config: { authenticate: () => undefined } },
  permission_denied: {
    status: 403,
    config: { authenticate: () => ({ id: 'tenant', scopes: ['management'] }) },
  },
  payment_required: {
    status: 402,
    config: { authenticate: () => ({ id: 'tenant', budget: { limitUsd: 0 } }) },
  },
  rate_limit_exceeded: { status: 429, says: [429, 'Slow down'] },
  provider_overloaded: { status: 503, says: [503, 'Overloaded'] },
  provider_unavailable: { status: 502, says: [500, 'Oops'] },
  invalid_request: { status: 400, request: { temperature: 9 } },
  invalid_prompt: { status: 400, request: { messages: [] } },
  not_found: { status: 404, says: [404, 'The model `one` does not exist', 'model_not_found'] },
  precondition_failed: { status: 412, says: [412, 'Precondition failed'] },
  payload_too_large: { status: 413, says: [413, 'Too large'] },
  unprocessable: { status: 422, says: [422, 'No'] },
  content_policy_violation: { status: 400, says: [400, 'Content Exists Risk'] },
  refusal: { status: 400, says: [400, 'Flagged', 'invalid_prompt'] },
  invalid_image: { status: 400, says: [400, 'Invalid image URL', 'invalid_image_url'] },
  image_too_large: { status: 400, says: [400, 'Too large', 'image_too_large'] },
  image_too_small: { status: 400, says: [400, 'Too small', 'image_too_small'] },
  unsupported_image_format: { status: 400, says: [400, 'No', 'unsupported_image_media_type'] },
  image_not_found: { status: 404, says: [404, 'Not here', 'image_not_found'] },
  image_download_failed: { status: 400, says: [400, 'No', 'image_download_failed'] },
  server: {
    status: 500,
    config: {
      authenticate: () => ({ id: 'tenant', pluginDefaults: [{ id: 'web', options: { max_results: 99 } }] }),
    },
  },
  // The total time would be a 408, the silence of a provider is a 524; 504 is what the contract's table has for both.
  timeout: { status: 524, handler: () => undefined, config: { timeouts: { answerMs: 50 } } },
  schema_mismatch: {
    status: 502,
    handler: answerWith('no JSON'),
    request: {
      response_format: { type: 'json_schema', json_schema: { name: 'one', schema: { type: 'object' } } },
      plugins: [{ id: 'response-healing', ensure: 'schema' }],
    },
  },
  unmapped: { status: 499, handler: () => undefined, leaves: true },
};

/** What a client gets, and what the event says of it. */
interface Ending {
  readonly response: Response | undefined;
  readonly event: ErrorEvent | undefined;
}

async function endingOf({ says, handler, request, headers, config, leaves = false }: Cause): Promise<Ending> {
  const [status = 200, message = '', code = null] = says ?? [];
  await using upstream = await startUpstream(handler ?? failWith(status, { error: { message, code, type: null } }));
  const provider = openaiCompatible({
    slug: 'acme',
    baseURL: upstream.baseURL,
    apiKey: 'sk-1',
    models: { 'acme/one': { price: { prompt: 1, completion: 1 } } },
  });
  let event: ErrorEvent | undefined;
  const router = createRouter({
    providers: [provider],
    fallback: { triesPerEndpoint: 1 },
    allowAnonymous: true,
    on: { warning: () => {}, error: (one) => (event = one) },
    ...config,
  });
  const client = new AbortController();
  const body = { model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 9, ...request };
  const answer = fetchRouter(router, { basePath: '/v1' })(
    new Request('http://router.example/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      signal: client.signal,
    }),
  );
  if (leaves) setTimeout(() => client.abort(), 30);
  const response = await answer;
  await router.close();
  return { response, event };
}

describe('each type of error of the contract', () => {
  const ANSWERED = Object.entries(CAUSES).filter(([, { leaves }]) => leaves !== true);

  it.each(ANSWERED)('comes about: %s', async (type, cause) => {
    const { response } = await endingOf(cause);
    expect([response?.status, await response?.json()]).toMatchObject([
      cause.status,
      { error: { code: cause.status, metadata: { error_type: type } } },
    ]);
  });

  it('is told to the operator where the client has disconnected: unmapped', async () => {
    const { event } = await endingOf(CAUSES.unmapped);
    expect(event).toMatchObject({ status: 499, errorType: 'unmapped' });
  });
});
