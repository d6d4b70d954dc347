import { azure, createRouter } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { all, batchScene } from '../../support/batches.ts';
import { type BatchServerAnswer, endedAtServer, startBatchServer } from '../../support/batch-server.ts';
import { startUpstream } from '../../support/upstream.ts';

describe('a deployment of Azure', () => {
  it.each([
    ['openai/gpt-5', 'large', { temperature: undefined, reasoning_effort: 'high' }],
    ['openai/gpt-5:free', 'large', { temperature: undefined, reasoning_effort: 'high' }],
    ['house/model', 'gpt-5', { temperature: undefined, reasoning_effort: 'high' }],
    ['house/model', 'large', { temperature: 0.5, reasoning_effort: 'xhigh' }],
    ['openai/gpt-5', 'gpt-4.1', { temperature: 0.5, reasoning_effort: undefined }],
  ])('of %s named %s has the record of what is behind it', async (id, upstreamModel, expected) => {
    await using upstream = await startUpstream();
    const [model = '', variant] = id.split(':');
    const declared = { upstreamModel, ...(variant === undefined ? {} : { variant: 'free' as const }) };
    const provider = azure({ baseURL: upstream.baseURL, apiKey: 'k', models: { [model]: declared } });
    const router = createRouter({ providers: [provider] });
    await router.chat({
      model: id,
      messages: [{ role: 'user', content: 'Hi' }],
      temperature: 0.5,
      reasoning: { effort: 'xhigh' },
    });
    const { body } = upstream.requests[0] ?? {};
    expect({ temperature: body?.['temperature'], reasoning_effort: body?.['reasoning_effort'] }).toEqual(expected);
    expect(body?.['model']).toBe(upstreamModel);
    await router.close();
  });

  it('without models is reached by its name', async () => {
    await using upstream = await startUpstream();
    const router = createRouter({ providers: [azure({ baseURL: upstream.baseURL, apiKey: 'k' })] });
    await router.chat({ model: 'azure/My-Deployment', messages: [{ role: 'user', content: 'Hi' }] });
    expect(upstream.requests[0]?.body['model']).toBe('My-Deployment');
    await router.close();
  });
});

/** Batches are accepted by their operation, whatever the endpoint. */
const ENDPOINT = {} as never;

describe('batches of Azure', () => {
  const ANSWER = {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_722_477_079,
    model: 'gpt-5-2025-08-07',
    prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }],
    choices: [
      {
        index: 0,
        content_filter_results: { hate: { filtered: false, severity: 'safe' } },
        message: { role: 'assistant', content: 'In 1975.' },
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  };
  const BATCH = {
    id: 'batch_6caaf24d',
    object: 'batch',
    status: 'validating',
    endpoint: null,
    input_file_id: 'file-in',
    expires_at: 1_722_562_983,
    metadata: null,
  };

  /** The files and batches of the v1 surface as Microsoft documents them, for one deployment of the type Global Batch. */
  function startAzure() {
    const line = JSON.stringify({
      custom_id: 'r0',
      response: { body: ANSWER, request_id: 'e1', status_code: 200 },
      error: null,
    });
    const refused = JSON.stringify({
      custom_id: 'r1',
      response: {
        status_code: 400,
        request_id: 'e2',
        body: { error: { code: 'content_filter', message: 'The prompt was filtered', status: 400 } },
      },
      error: null,
    });
    const ended = { ...BATCH, status: 'completed', output_file_id: 'file-out', error_file_id: 'file-err' };
    const answers: Readonly<Record<string, BatchServerAnswer>> = {
      'GET /openai/v1/batches?limit=100': [200, { object: 'list', data: [], has_more: false }],
      'POST /openai/v1/files': [200, { id: 'file-in', object: 'file', purpose: 'batch', status: 'processed' }],
      'POST /openai/v1/batches': [200, BATCH],
      'GET /openai/v1/batches/batch_6caaf24d': [200, ended],
      'GET /openai/v1/files/file-out/content': [200, line],
      'GET /openai/v1/files/file-err/content': [200, refused],
    };
    return startBatchServer(({ line: called, headers }) => {
      if (headers['api-key'] !== 'azure-key') return [401, { statusCode: 401, message: 'Unauthorized' }];
      return answers[called] ?? [404, { error: { code: '404', message: 'Resource not found' } }];
    });
  }

  it('go to its files and batches, with the deployment on each line, and come back', async () => {
    await using server = await startAzure();
    const provider = azure({
      slug: 'azure-batch',
      baseURL: `${server.origin}/openai/v1`,
      apiKey: 'azure-key',
      nativeBatches: true,
      models: { 'openai/gpt-5-batch': { upstreamModel: 'large-batch', price: { prompt: 2, completion: 4 } } },
    });
    const scene = batchScene({ providers: [provider] });
    const { id } = await scene.router.batches.create({
      endpoint: '/v1/chat/completions',
      model: 'openai/gpt-5-batch',
      requests: ['r0', 'r1'].map((custom_id) => ({
        custom_id,
        body: { messages: [{ role: 'user', content: 'When was Microsoft founded?' }] },
      })),
    });
    await scene.router.batches.start();
    const ended = await endedAtServer(scene, id);
    expect(ended).toMatchObject({ status: 'completed', request_counts: { completed: 1, failed: 1 } });
    expect(await all(scene.router.batches.results(id))).toMatchObject([
      { custom_id: 'r0', response: { body: { choices: [{ message: { content: 'In 1975.' } }] } } },
      { custom_id: 'r1' },
    ]);
    const bodyOf = (line: string): string =>
      server.requests.find((request) => request.line === line)?.body.toString() ?? '';
    const file = bodyOf('POST /openai/v1/files');
    expect(file).toContain('"url":"/v1/chat/completions"');
    expect(file).toContain('"model":"large-batch"');
    expect(file).toMatch(/name="purpose"\r\n\r\nbatch/);
    expect(JSON.parse(bodyOf('POST /openai/v1/batches'))).toMatchObject({
      input_file_id: 'file-in',
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    });
    await scene.router.batches.stop({ graceMs: 0 });
  });

  it('are not its own where nobody says so', () => {
    expect(azure({ resource: 'house', apiKey: 'k', models: {} })).not.toHaveProperty('batches');
    const { batches } = azure({ resource: 'house', apiKey: 'k', nativeBatches: true, models: {} });
    expect(batches?.accepts('/v1/responses', ENDPOINT)).toBe(true);
    expect(batches?.accepts('/v1/embeddings', ENDPOINT)).toBe(false);
    expect(batches).toMatchObject({ priceFactor: 0.5 });
  });
});
