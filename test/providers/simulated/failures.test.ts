import { withConstants } from '../../support/constants.ts';
import { ConfigError, type FailureKind, type Router, type SimulatedOptions, createRouter, simulated } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { ask, hear, hearStream, instant, instantRouter } from '../../support/simulated.ts';

const ASKED = ask('How do whales sleep?', { model: 'acme/one', provider: { order: ['first', 'second'] } });
const MODELS = { 'acme/one': {} } as const;

/** A router whose first provider fails as told and whose second always answers. */
function pair(options: SimulatedOptions): Router {
  return createRouter({
    providers: [instant({ slug: 'first', models: MODELS, ...options }), instant({ slug: 'second', models: MODELS })],
    environment: fakeEnvironment(),
  });
}

async function answeredBy(router: Router, stream = false): Promise<string | undefined> {
  if (!stream) return (await router.chat(ASKED, { metadata: true })).provider;
  for await (const { choices, provider } of router.stream(ASKED)) if (choices[0]?.delta.content) return provider;
  return undefined;
}

async function failureOf(kind: FailureKind): Promise<unknown> {
  const router: Router = createRouter({
    providers: [instant({ models: MODELS, failures: [{ kind }] })],
    fallback: { triesPerEndpoint: 1 },
    on: { warning: () => {} },
    environment: fakeEnvironment(),
  });
  return router.chat({ ...ASKED, provider: null }).catch((error: unknown) => error);
}

describe('a script of failures', () => {
  it.each([false, true])('is played one entry per call, and other providers step in (streamed: %s)', async (stream) => {
    const failures = ['ok', { kind: 'server' }, { kind: 'unreachable', message: 'No such host' }, 'ok'] as const;
    const names = { name: 'First' };
    const router = pair({ ...names, failures });
    const attempts: unknown[] = [];
    router.on('attempt', ({ provider, failure }) => attempts.push([provider, failure?.kind, failure?.message]));
    const answers = [];
    for (let call = 0; call < 3; call += 1) answers.push(await answeredBy(router, stream));
    expect(answers).toEqual(['First', 'Simulated', 'Simulated']);
    expect(attempts.filter((attempt) => String(attempt).includes('No such host'))).toEqual([
      ['first', 'unreachable', 'No such host'],
    ]);
    expect(attempts[1]).toEqual(['first', 'server', 'The simulated provider failed as its script says (server)']);
  });

  it('tells the router how long to wait', async () => {
    const router = pair({ failures: [{ kind: 'rate_limited', status: 429, retryAfterMs: 30_000 }] });
    await router.chat(ASKED);
    const { steps } = await router.explain(ASKED);
    expect(steps.map(({ tag, coolingDown }) => [tag, coolingDown])).toEqual([
      ['first', true],
      ['second', false],
    ]);
    const event = new Promise((resolve) => router.on('attempt', resolve));
    await router.chat(ASKED);
    expect(await event).toMatchObject({ provider: 'second' });
  });

  it('has a status that suits the kind, and every kind becomes the error that real ones become', async () => {
    const expected = { rate_limited: 429, quota: 502, credentials: 502, context_length: 400, content_policy: 403 };
    for (const [kind, status] of Object.entries(expected)) {
      expect(await failureOf(kind as FailureKind)).toMatchObject({ status });
    }
  });

  it('can break an answer off in its middle: streamed after some tokens, whole as a failed call', async () => {
    const failures = [{ breakAfterTokens: 7 }] as const;
    const texts: string[] = [];
    const reading = (async () => {
      for await (const { choices } of pair({ failures }).stream(ASKED)) texts.push(choices[0]?.delta.content ?? '');
    })();
    await expect(reading).rejects.toMatchObject({ name: 'RouterError', status: 502 });
    expect(texts.filter((text) => text !== '')).toHaveLength(7);
    expect(await answeredBy(pair({ name: 'First', failures }))).toBe('Simulated');
  });

  it('breaks before the first token so that another provider can take over, and after the last so that it is not whole', async () => {
    expect(
      await answeredBy(pair({ name: 'First', failures: [{ breakAfterTokens: 0, kind: 'overloaded' }] }), true),
    ).toBe('Simulated');
    const reading = hearStream(pair({ failures: [{ breakAfterTokens: 1_000_000 }] }), ASKED);
    await expect(reading).rejects.toMatchObject({ status: 502 });
  });

  it('can hang until the router gives up', async () => {
    const environment = fakeEnvironment();
    const providers = [
      simulated({ slug: 'first', models: MODELS, failures: ['hang'], environment }),
      instant({ slug: 'second', models: MODELS }),
    ];
    const router: Router = createRouter({ providers, environment, timeouts: { answerMs: 5_000 } });
    const answer = router.chat(ASKED, { metadata: true });
    await environment.advance(5_000);
    expect((await answer).router_metadata?.attempt).toBe(2);
    expect(environment.pendingTimers).toBe(0);
  });
});

describe('a failure rate', () => {
  it('makes about that share of the calls fail, the same ones for the same seed', async () => {
    const outcomes = async (seed: number): Promise<string> => {
      const made = createRouter({
        providers: [instant({ models: MODELS, seed, failureRate: 0.3 })],
        environment: fakeEnvironment(),
        fallback: { maxAttempts: 1 },
        pacer: false,
        breaker: false,
      });
      const router = withConstants(made, { health: { maxCooldownMs: 0 } });
      const results: string[] = [];
      for (let call = 0; call < 100; call += 1) {
        results.push(
          await hear(router, { ...ASKED, model: 'acme/one', provider: null }).then(
            () => '.',
            () => 'x',
          ),
        );
      }
      return results.join('');
    };
    const first = await outcomes(1);
    const failed = first.match(/x/g)?.length ?? 0;
    expect(failed).toBeGreaterThan(15);
    expect(failed).toBeLessThan(45);
    expect(await outcomes(1)).toBe(first);
    expect(await outcomes(2)).not.toBe(first);
  });

  it('of 0 fails never and of 1 always', async () => {
    expect((await hear(instantRouter({ failureRate: 0 }), ask('Hello'))).finish).toBe('stop');
    const environment = fakeEnvironment();
    const router = createRouter({ providers: [instant({ failureRate: 1 })], environment });
    const answer = expect(router.chat(ask('Hello'))).rejects.toMatchObject({ name: 'RouterError' });
    await environment.advance(60_000);
    await answer;
  });
});

describe('the options of the simulated provider', () => {
  it('are checked all at once, with what would be right', () => {
    const wrong = {
      slug: 'Not A Slug',
      firstTokenMs: -1,
      tokensPerSecond: Number.NaN,
      failureRate: 2,
      failures: ['ok', { breakAfterTokens: 0.5 }],
    } as const;
    const problems = (() => {
      try {
        simulated(wrong);
      } catch (error) {
        if (ConfigError.isInstance(error)) return error.problems.map(({ path }) => path.replace(/^.*Slug\./, ''));
      }
      return [];
    })();
    expect(problems).toEqual([
      'slug',
      'firstTokenMs',
      'tokensPerSecond',
      'failureRate',
      'failures[1].breakAfterTokens',
    ]);
  });
});
