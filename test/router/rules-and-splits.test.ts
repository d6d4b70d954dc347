import { ConfigError, createRouter, type RequestFacts, type Rule, type RouterConfig, simulated } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';

const MESSAGES = [{ role: 'user' as const, content: 'Hello' }];
const MODELS = Object.fromEntries(
  ['acme/old', 'acme/new', 'acme/best'].map((model) => [model, { price: { prompt: 1, completion: 1 } }]),
);

function routerWith(config: RouterConfig) {
  const environment = fakeEnvironment();
  const facts: RequestFacts[] = [];
  const router = createRouter({
    providers: [simulated({ slug: 'acme', models: MODELS }), simulated({ slug: 'other', models: MODELS })],
    environment,
    on: { request: ({ request }) => void facts.push(request) },
    ...config,
  });
  return { router, environment, facts };
}

async function modelsFor(rules: readonly Rule[], fields: object = {}, account = 'acme-1') {
  const { router } = routerWith({ rules, aliases: { fast: 'acme/old' } });
  const request = { model: 'acme/old', messages: MESSAGES, ...fields };
  const { steps, applied } = await router.explain(request, { account: { id: account } });
  return { models: [...new Set(steps.map(({ model }) => model))], applied: applied?.rules };
}

const REWRITE: Rule = { id: 'old-to-new', when: { models: ['acme/old'] }, rewrite: 'acme/new' };

/** What differs from request to request. */
interface Asked {
  readonly account?: string;
  readonly model?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

describe('rules', () => {
  it.each([
    ['a model', REWRITE, {}, ['acme/new'], ['old-to-new']],
    ['a model behind an alias', REWRITE, { model: 'fast' }, ['acme/new'], ['old-to-new']],
    ['a model in any spelling', REWRITE, { model: 'ACME/Old' }, ['acme/new'], ['old-to-new']],
    ['no other model', REWRITE, { model: 'acme/best' }, ['acme/best'], undefined],
    [
      'a model to several',
      { ...REWRITE, rewrite: ['acme/new', 'acme/old'] },
      {},
      ['acme/new', 'acme/old'],
      ['old-to-new'],
    ],
    ['of an account', { ...REWRITE, when: { accounts: ['acme-*'] } }, {}, ['acme/new'], ['old-to-new']],
    ['not of other accounts', { ...REWRITE, when: { accounts: ['zeta'] } }, {}, ['acme/old'], undefined],
    [
      'by a tag',
      { ...REWRITE, when: { metadata: { team: ['a', 'b'] } } },
      { metadata: { team: 'b' } },
      ['acme/new'],
      ['old-to-new'],
    ],
    [
      'not without the tag',
      { ...REWRITE, when: { metadata: { team: ['a'] } } },
      { metadata: { team: 'x' } },
      ['acme/old'],
      undefined,
    ],
    ['until a date', { ...REWRITE, when: { until: '2000-01-01' } }, {}, ['acme/old'], undefined],
    [
      'from a date',
      { ...REWRITE, when: { from: '2000-01-01', until: '2999-01-01' } },
      {},
      ['acme/new'],
      ['old-to-new'],
    ],
  ] as const)('rewrite %s', async (_what, rule, fields, models, applied) => {
    expect(await modelsFor([rule], fields)).toEqual({ models, applied });
  });

  it('see what earlier ones have made', async () => {
    const second: Rule = { id: 'new-to-best', when: { models: ['acme/new'] }, rewrite: 'acme/best' };
    expect(await modelsFor([REWRITE, second])).toEqual({
      models: ['acme/best'],
      applied: ['old-to-new', 'new-to-best'],
    });
    expect((await modelsFor([second, REWRITE])).models).toEqual(['acme/new']);
  });

  it('refuse with their reason, a request or a model wherever it comes from', async () => {
    const all: Rule = { id: 'closed', when: { accounts: ['acme-1'] }, deny: 'The trial has ended' };
    await expect(modelsFor([all])).rejects.toMatchObject({ status: 403, message: 'The trial has ended (rule closed)' });
    expect((await modelsFor([all], {}, 'another')).models).toEqual(['acme/old']);
    const one: Rule = { id: 'no-old', when: { models: ['acme/old'] }, deny: 'Use acme/new' };
    const { router } = routerWith({ rules: [one], aliases: { fast: 'acme/old' } });
    for (const model of ['acme/old', 'fast']) {
      await expect(router.chat({ model, messages: MESSAGES })).rejects.toMatchObject({
        status: 403,
        message: 'Use acme/new (rule no-old)',
      });
    }
    const { steps, rejected } = await router.explain({ models: ['fast', 'acme/new'], messages: MESSAGES });
    expect(new Set(steps.map(({ model }) => model))).toEqual(new Set(['acme/new']));
    expect(rejected[0]).toMatchObject({ model: 'acme/old', reason: 'rule', detail: 'Use acme/new (rule no-old)' });
  });

  it('give preferences that requests overrule member by member', async () => {
    const rule: Rule = { id: 'other-first', preferences: { order: ['other'], allow_fallbacks: false } };
    const { router, facts } = routerWith({ rules: [rule] });
    const { steps, applied } = await router.explain({ model: 'acme/old', messages: MESSAGES });
    expect(steps.map(({ provider }) => provider)).toEqual(['other']);
    expect(applied).toEqual({ rules: ['other-first'] });
    const own = { model: 'acme/old', messages: MESSAGES, provider: { order: ['acme'] } };
    expect((await router.explain(own)).steps.map(({ provider }) => provider)).toEqual(['acme']);
    const answering = router.chat({ model: 'acme/old', messages: MESSAGES, max_tokens: 1 }, { metadata: true });
    await routerDone(router, answering);
    expect(facts[0]?.applied).toEqual({ rules: ['other-first'] });
  });

  it.each([
    ['an account', { accounts: ['acme-*'] }, { account: 'acme-1' }, { account: 'zeta' }],
    ['a model', { models: ['acme/old'] }, { model: 'acme/old' }, { model: 'acme/new' }],
    ['a model, by its alias', { models: ['fast'] }, { model: 'fast' }, { model: 'acme/old' }],
    ['a tag', { metadata: { team: ['a*'] } }, { metadata: { team: 'ab' } }, { metadata: { team: 'b' } }],
  ] as const)('give preferences by %s', async (_what, when, fits, fitsNot) => {
    const rule: Rule = { id: 'other-only', when, preferences: { only: ['other'] } };
    const { router } = routerWith({ rules: [rule], aliases: { fast: 'acme/old' } });
    const planOf = async ({ account = 'team', ...fields }: Asked) => {
      const request = { model: 'acme/old', messages: MESSAGES, ...fields };
      const { steps, applied } = await router.explain(request, { account: { id: account } });
      return [new Set(steps.map(({ provider }) => provider)), applied?.rules];
    };
    expect(await planOf(fits)).toEqual([new Set(['other']), ['other-only']]);
    expect(await planOf(fitsNot)).toEqual([new Set(['acme', 'other']), undefined]);
  });

  it('are checked at the start, all of them', () => {
    const rules = [
      { id: 'a', when: { until: 'soon' } },
      { id: 'b', rewrite: 5 },
    ] as unknown as readonly Rule[];
    let problems: readonly string[] = [];
    try {
      routerWith({ rules });
    } catch (error) {
      if (ConfigError.isInstance(error)) problems = error.problems.map(({ path }) => path);
    }
    expect(problems).toEqual(['rules[0].when.until', 'rules[1].rewrite']);
    const badSort = { id: 'a', preferences: { sort: 'best' } } as unknown as Rule;
    expect(() => routerWith({ rules: [badSort] })).toThrow(/rules\[0\]\.preferences\.sort/);
    expect(() => routerWith({ rules: [REWRITE, REWRITE] })).toThrow(/rules\[1\].id must be unique/);
  });
});

describe('an alias that divides its requests', () => {
  const canary = {
    canary: {
      split: [
        { model: 'acme/old', weight: 60 },
        { model: 'acme/new', weight: 40 },
      ],
    },
  };

  it('keeps a session at its model, on every instance, and says which one it is', async () => {
    const instances = [1, 2, 3].map(() => routerWith({ aliases: canary }).router);
    const seen = new Set<string>();
    for (let session = 0; session < 20; session += 1) {
      const plans = await Promise.all(
        [...instances, ...instances].map((router) =>
          router.explain({ model: 'canary', messages: MESSAGES, session_id: `s${session}` }),
        ),
      );
      const models = plans.map(({ steps }) => steps[0]?.model);
      expect(new Set(models).size).toBe(1);
      expect(plans[0]?.applied).toEqual({ splits: [{ alias: 'canary', model: models[0], by: 'session' }] });
      seen.add(String(models[0]));
    }
    expect(seen.size).toBe(2);
  });

  it('divides by what it is told to', async () => {
    const dividedBy = (by: 'account' | 'endUser' | 'request') =>
      routerWith({ aliases: { canary: { ...canary.canary, by } }, identitySecret: 'the same for this test' }).router;
    const distinct = async (key: 'account' | 'endUser' | 'request', vary: (index: number) => [object, string]) => {
      const router = dividedBy(key);
      const models = new Set<unknown>();
      for (let index = 0; index < 30; index += 1) {
        const [fields, account] = vary(index);
        const { applied } = await router.explain(
          { model: 'canary', messages: MESSAGES, ...fields },
          { account: { id: account } },
        );
        models.add(applied?.splits?.[0]?.model);
      }
      return models.size;
    };
    expect(await distinct('account', (index) => [{ session_id: `s${index}`, user: `u${index}` }, 'one'])).toBe(1);
    expect(await distinct('account', (index) => [{}, `a${index}`])).toBe(2);
    expect(await distinct('endUser', (index) => [{ session_id: `s${index}`, user: 'one' }, 'one'])).toBe(1);
    expect(await distinct('endUser', (index) => [{ user: `u${index}` }, 'one'])).toBe(2);
    expect(await distinct('request', () => [{ session_id: 's', user: 'u' }, 'one'])).toBe(2);
  });

  it('is told in the metadata of answers', async () => {
    const { router } = routerWith({ aliases: canary });
    const answer = await routerDone(
      router,
      router.chat({ model: 'canary', messages: MESSAGES, max_tokens: 1 }, { metadata: true }),
    );
    expect(answer.router_metadata?.applied?.splits?.[0]).toMatchObject({ alias: 'canary', model: answer.model });
  });

  it('needs a model with a weight', () => {
    const aliases = { canary: { split: [{ model: 'acme/old', weight: 0 }] } };
    expect(() => routerWith({ aliases })).toThrow(/aliases\.canary\.split must give some model a weight above 0/);
  });
});

/** Lets the clock of a router run until its answer is there. */
async function routerDone<Answer>(
  router: { readonly internals: { readonly config: { readonly environment: object } } },
  answer: Promise<Answer>,
): Promise<Answer> {
  const environment = router.internals.config.environment as ReturnType<typeof fakeEnvironment>;
  await environment.advance(60_000);
  return answer;
}
