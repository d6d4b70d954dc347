import { type BatchResultItem, anthropic } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { all, batchScene } from '../../support/batches.ts';
import { sendJson, startUpstream } from '../../support/upstream.ts';

const ROUNDS = [{ type: 'message', input_tokens: 10, output_tokens: 5, cache_creation: null }];
const USAGE = { input_tokens: 10, output_tokens: 5, service_tier: 'standard', speed: 'standard', iterations: ROUNDS };
const BODY = { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 10 };

function answerOf(model: unknown): object {
  const content = [{ type: 'text', text: 'Hello' }];
  return { id: 'msg_1', type: 'message', role: 'assistant', model, content, stop_reason: 'end_turn', usage: USAGE };
}

function usageOf(item: BatchResultItem | undefined): unknown {
  return (item?.response?.body as { usage?: unknown } | undefined)?.usage;
}

describe('the usage of a batch whose requests run one by one at Anthropic (contract: batch resource)', () => {
  it.each(['/v1/chat/completions', '/v1/messages'] as const)('has tier, speed and rounds for %s', async (endpoint) => {
    await using upstream = await startUpstream(({ body }, response) =>
      sendJson(response, 200, answerOf(body['model'])),
    );
    const models = { 'acme/one': { upstreamModel: 'claude-one', price: { prompt: 1, completion: 2 } } };
    const { baseURL } = upstream;
    const provider = anthropic({ baseURL, apiKey: 'k', models, nativeBatches: false });
    const scene = batchScene({ providers: [provider] });
    const requests = ['a', 'b'].map((name) => ({ custom_id: name, body: BODY }));
    const { id } = await scene.router.batches.create({ endpoint, model: 'acme/one', requests });
    await scene.router.batches.start();
    const { usage } = await scene.ended(id);
    const sums = [{ type: 'message', input_tokens: 20, output_tokens: 10 }];
    expect(usage).toMatchObject({ total_tokens: 30, service_tier: 'standard', speed: 'standard', iterations: sums });
    const [first] = await all(scene.router.batches.results(id));
    if (endpoint === '/v1/chat/completions')
      expect(usageOf(first)).toMatchObject({ speed: 'standard', iterations: ROUNDS });
    // Chat completions that are not of a batch have what the contract lists for them.
    const live = await scene.router.chat({ model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] });
    expect(live.usage).toMatchObject({ total_tokens: 15 });
    expect(Object.keys(live.usage ?? {})).not.toEqual(expect.arrayContaining(['speed']));
    await scene.router.close();
  });
});
