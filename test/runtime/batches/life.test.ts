import { describe, expect, it } from 'vitest';
import { createRouter, simulated } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';

describe('smoke', () => {
  it('runs', async () => {
    const environment = fakeEnvironment();
    const router = createRouter({ providers: [simulated({ environment })], environment, on: { batch: (event) => console.log(event.type, event.batch.status, event.batch.request_counts), warning: (w) => console.log(w) } });
    const batch = await router.batches.create({
      endpoint: '/v1/chat/completions',
      model: 'simulated/small',
      requests: Array.from({ length: 20 }, (_, index) => ({ custom_id: `r${index}`, body: { messages: [{ role: 'user', content: `Hello ${index}` }] } })),
    });
    console.log(batch);
    await router.batches.start();
    await environment.advance(120_000);
    console.log(await router.batches.retrieve(batch.id));
    for await (const result of router.batches.results(batch.id)) { console.log(JSON.stringify(result).slice(0, 300)); break; }
    await router.batches.stop();
    console.log(environment.pendingTimers);
    expect(1).toBe(1);
  });
});
