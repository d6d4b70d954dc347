import { type Provider, createRouter, localQueue } from 'signalbox';
import { postgresStorage } from 'signalbox/postgres';

/** A process that runs batches on a PostgreSQL, with a provider that takes some time for each answer. */
const [, , connectionString = '', latencyMs = '50', perBatch = '16'] = process.argv;

const message = { role: 'assistant', content: 'Hello', refusal: null, reasoning: null } as const;
const choice = { index: 0, finish_reason: 'stop', native_finish_reason: 'stop', logprobs: null, message } as const;
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

/** When the first request began and the last one ended since this was asked, in epoch milliseconds. */
let busy: { from?: number; to?: number } = {};

const provider: Provider = {
  slug: 'slow',
  name: 'Slow',
  models: { 'bench/model': { price: { prompt: 1, completion: 2 } } },
  async chat() {
    busy.from ??= Date.now();
    await new Promise((resolve) => {
      setTimeout(resolve, Number(latencyMs));
    });
    busy.to = Date.now();
    return { type: 'whole', result: { choices: [choice], usage } };
  },
};
const limit = Number(perBatch);
const router = createRouter({
  providers: [provider],
  on: { warning: ({ message: text }) => console.error(text) },
  batches: {
    storage: postgresStorage({ connectionString, connections: 6 }),
    queue: localQueue({ pollMs: 200 }),
    limits: { perBatch: limit, perProvider: 2 * limit, concurrency: 2 * limit },
  },
});
Object.assign(router.internals.config.batches.limits, { helpMs: 200 });
await router.batches.start();
process.send?.('ready');
process.on('message', (question) => {
  const { user, system } = process.cpuUsage();
  if (question !== 'used') return;
  process.send?.({ cpu: user + system, ...busy });
  busy = {};
});
process.on('disconnect', () => process.exit());
