import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { createRouter } from '../../src/index.ts';
import { yieldTurn } from '../../src/platform/wait.ts';
import { redisStore } from '../../src/storage/redis/redis-store.ts';
import { type FakeEnvironment, fakeEnvironment } from '../../src/testing/fake-environment.ts';
import { startRedis } from '../support/redis.ts';
import { type Behaviour, stubProviders } from '../support/stub-provider.ts';

const ANSWER: Behaviour = { does: 'answer', reply: 'whole', everyMs: 0 };

/** Lets everything happen that needs no time of the fake clock. */
async function settle(environment: FakeEnvironment): Promise<false> {
  await environment.advance(0);
  await yieldTurn();
  return false;
}

describe('declared limits over Redis', () => {
  it('hold for instances with connections of their own', async () => {
    await using redis = await startRedis();
    const clients = [new Redis(redis.url), new Redis(redis.url)];
    // Its time stands still, so that no answer of Redis comes too late on a busy machine.
    const environment = fakeEnvironment();
    const stubs = stubProviders(environment, { only: { behaves: ANSWER, models: { 'acme/one': { rpm: 5 } } } });
    const routers = clients.map((client) =>
      createRouter({
        providers: stubs.providers,
        environment,
        state: redisStore({ client, prefix: 'limits:' }),
        on: { warning: () => {} },
      }),
    );
    const body = { model: 'acme/one', messages: [{ role: 'user' as const, content: 'Hi' }] };
    const asked = Array.from({ length: 12 }, async (_, index) => {
      const status = await routers[index % 2]?.chat(body).then(
        () => 200,
        (error: { readonly status: number }) => error.status,
      );
      return status;
    });
    const over = Promise.all(asked);
    const finish = over.then(() => true);
    for (let isOver = false; !isOver;) isOver = await Promise.race([finish, settle(environment)]);
    const statuses = await over;
    expect(statuses.filter((status) => status === 200)).toHaveLength(5);
    expect(statuses.filter((status) => status === 429)).toHaveLength(7);
    expect(stubs.calls).toHaveLength(5);
    for (const client of clients) client.disconnect();
    for (const router of routers) await router.close();
  });
});
