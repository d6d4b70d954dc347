import { inspect } from 'node:util';
import * as fc from 'fast-check';
import {
  apiKeys,
  ConfigError,
  createRouter,
  type ConfigurationPatch,
  memoryStore,
  type Router,
  type RouterConfig,
} from 'signalbox';
import { fetchRouter } from 'signalbox/fetch';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { type FIXED, ownCopy } from '../../src/config/change-config.ts';
import { ROUTER } from '../../src/config/router.ts';
import { sameOption } from '../../src/options/option.ts';
import { runs } from '../support/properties.ts';
import { instant } from '../support/simulated.ts';

const KEY = 'sk-0123456789abcdef';
const SMALL = 'simulated/small';
const price = { prompt: 1, completion: 1_000 };
const providers = [instant({ models: { [SMALL]: { price }, 'simulated/large': { price } } })];
const more = [...providers, instant({ slug: 'second', models: { 'second/model': { price } } })];
const BUDGET = { limitUsd: 0.01, period: 'total' } as const;

type Changeable = Exclude<keyof typeof ROUTER, (typeof FIXED)[number]>;

/** Valid values of every option that can change. The compiler refuses an option without a row. */
const VALUES: { readonly [Name in Changeable]: readonly RouterConfig[Name][] } = {
  providers: [providers, more],
  models: [{}, { [SMALL]: { name: 'Small' } }],
  catalog: [[]],
  aliases: [{ fast: SMALL }, { fast: [SMALL, 'simulated/large'] }],
  rules: [[], [{ id: 'no-large', when: { models: ['simulated/large'] }, deny: 'too large' }]],
  presets: [{}, { short: { max_tokens: 3 } }],
  defaultModel: [SMALL, 'simulated/large'],
  plugins: [[]],
  pluginDefaults: [[]],
  serverTools: [[]],
  policy: [{}, { allowedModels: [SMALL] }, { excludedModels: ['simulated/large'] }, { dataCollection: 'allow' }],
  authenticate: [apiKeys([{ id: 'a', key: KEY }])],
  allowAnonymous: [true],
  cors: [{ origins: ['https://a.example'] }],
  brand: ['router', 'openrouter'],
  limits: [{}, { bodyBytes: 2_000 }, { nodes: 1_000 }],
  timeouts: [{}, { totalMs: 3_000_000 }],
  fallback: [{}, { maxAttempts: 2 }],
  breaker: [true, false],
  selection: [{ unknownCapability: 'allow' }],
  strategy: ['adaptive', 'balanced'],
  pacer: [true, false],
  hangDetection: [true, false],
  hedge: [true, false],
  tuning: [{}],
  stickyTtlMs: [1_000, 5_000],
  cacheMarks: [true, false],
  keepAlive: [{}, { firstMs: 500 }],
  rateLimits: [{ default: { requestsPerMinute: 3 } }, { default: { requestsPerMinute: 6 } }],
  budgets: [{ default: BUDGET }, { default: BUDGET, session: BUDGET }],
  responseCache: [{ enabled: false }, { ttlSeconds: 9 }],
  docsUrl: ['https://docs.example/errors'],
  inspector: [{ answer: async () => undefined }],
};

const names = Object.keys(VALUES) as Changeable[];
const patch = fc
  .array(
    fc.constantFrom(...names).chain((name) =>
      fc.record({
        name: fc.constant(name),
        // Undefined removes; the providers stay, so that there is somebody to answer.
        value: fc.constantFrom<unknown>(...VALUES[name], ...(name === 'providers' ? [] : [undefined])),
      }),
    ),
    { maxLength: 6 },
  )
  .map((members) => Object.fromEntries(members.map(({ name, value }) => [name, value])) as RouterConfig);
const guards = fc.record(
  {
    authenticate: fc.constantFrom(...VALUES.authenticate),
    policy: fc.constantFrom(...VALUES.policy),
    rules: fc.constantFrom(...VALUES.rules),
    rateLimits: fc.constantFrom(...VALUES.rateLimits),
    budgets: fc.constantFrom(...VALUES.budgets),
    limits: fc.constantFrom(...VALUES.limits),
  },
  { requiredKeys: [] },
);
const changes = fc.array(fc.record({ patch, isFunction: fc.boolean() }), { minLength: 1, maxLength: 5 });

/** Behaves as the options say, with what was counted and spent before. */
class Expected {
  used = 0;

  statusOf(options: RouterConfig, kind: 'spender' | 'caller' | 'large'): readonly number[] {
    const policy = options.policy ?? {};
    const isDenied =
      (options.rules?.length ?? 0) > 0 || policy.allowedModels !== undefined || policy.excludedModels !== undefined;
    if (kind === 'large') return [isDenied ? 403 : 200];
    if (kind === 'spender') return [options.budgets === undefined ? 200 : 402];
    const most = options.rateLimits?.default?.requestsPerMinute;
    if (most === undefined) return [200];
    if (this.used >= most) return [429];
    this.used += 1;
    return [200];
  }
}

const chat = (model: string, content = 'Hi') => ({
  model,
  messages: [{ role: 'user' as const, content }],
  max_tokens: 1,
});

async function statusOf(router: Router, account: string, model: string): Promise<number> {
  const free = { rateLimits: { requestsPerMinute: 1e6 }, budget: { limitUsd: 1e6, period: 'total' as const } };
  const own = { caller: { budget: free.budget }, spender: { rateLimits: free.rateLimits }, other: free }[account];
  const answer = await router.chat(chat(model), { account: { id: account, ...own } }).catch((error: unknown) => error);
  return (answer as { status?: number }).status ?? 200;
}

async function overHttp(router: Router, headers: Record<string, string>, content = 'Hi'): Promise<number> {
  const handle = fetchRouter(router, { basePath: '/v1' });
  const body = JSON.stringify({ ...chat(SMALL, content), session_id: crypto.randomUUID() });
  const init = { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } };
  return (await handle(new Request('http://localhost/v1/chat/completions', init))).status;
}

describe('an update', () => {
  it('changes only what it names, by what the router does and by what it says', async () => {
    let [kept, removed, counted] = [0, 0, 0];
    await fc.assert(
      fc.asyncProperty(guards, patch, changes, async (guarded, base, steps) => {
        const environment = fakeEnvironment();
        // What cannot change is there as well, and stays.
        const fixed = { environment, identitySecret: 'one that stays', state: memoryStore({ now: environment.now }) };
        let model: RouterConfig = { providers, catalog: [], ...fixed, ...base, ...guarded };
        const router = createRouter(model);
        const expected = new Expected();
        // Spends its budget, where there is one.
        const spend = async (): Promise<void> => {
          if (router.configuration.budgets === undefined) return;
          for (let call = 0; call < 30 && (await statusOf(router, 'spender', SMALL)) !== 402; call += 1);
        };
        await spend();
        for (const { patch: change, isFunction } of [{ patch: {}, isFunction: false }, ...steps]) {
          const before = model;
          router.update(isFunction ? (current) => ({ ...current, ...change }) : change);
          model = { ...model, ...change };
          for (const name of Object.keys(ROUTER) as (keyof RouterConfig)[]) {
            expect(sameOption(router.configuration[name], model[name]), name).toBe(true);
          }
          if (before.budgets === undefined) await spend();
          for (const kind of ['spender', 'caller', 'large'] as const) {
            const account = kind === 'large' ? 'other' : kind;
            const status = await statusOf(router, account, kind === 'large' ? 'simulated/large' : SMALL);
            expect(expected.statusOf(model, kind), kind).toContain(status);
          }
          const stranger = await overHttp(router, {});
          if (model.authenticate !== undefined) expect(stranger).toBe(401);
          else if (model.allowAnonymous === true) expect(stranger).not.toBe(401);
          const heavy = await overHttp(router, { authorization: `Bearer ${KEY}` }, 'x'.repeat(3_000));
          if (model.limits?.bodyBytes === 2_000) expect([413, 401]).toContain(heavy);
          else expect(heavy).not.toBe(413);
          for (const name of Object.keys(guarded) as (keyof RouterConfig)[]) {
            if (name in change && change[name] === undefined) removed += 1;
            else if (!(name in change)) kept += 1;
          }
          counted += expected.used;
        }
        await router.close();
      }),
      runs(400),
    );
    // Otherwise nothing of it was shown.
    expect([kept > 100, removed > 10, counted > 50]).toEqual([true, true, true]);
  });

  it('gives a function the options in force, and takes what it gives as a patch', async () => {
    const authenticate = apiKeys([{ id: 'a', key: KEY }]);
    const router = createRouter({ providers, authenticate, policy: { ignore: ['west'], allowedModels: [SMALL] } });
    const { version } = router.update((now) => ({ policy: { ...now.policy, ignore: ['east'] } }));
    expect(version).toBe(2);
    expect(router.configuration.policy).toEqual({ ignore: ['east'], allowedModels: [SMALL] });
    // What a function leaves out stays as well: only a name removes.
    router.update(({ authenticate: _, ...rest }) => rest);
    expect(router.configuration.authenticate).toBe(authenticate);
    router.update({ authenticate: undefined });
    expect('authenticate' in router.configuration).toBe(false);
    await router.close();
  });

  it('changes nothing when the patch, or the function that makes it, is wrong', async () => {
    const router = createRouter({ providers, policy: { allowedModels: [SMALL] } });
    const { configuration } = router;
    const wrong: readonly [unknown, RegExp][] = [
      [{ polcy: undefined }, /polcy is not an option; did you mean "policy"/],
      [{ policy: { ignoer: [] }, limits: { nodes: -1 } }, /policy\.ignoer[^]*limits\.nodes/],
      [undefined, /must be an object with options: what update is given is undefined/],
      [[], /is a list/],
      [() => undefined, /what the function gives is undefined/],
      [async () => ({}), /what the function gives is a promise; await first/],
      [{ state: memoryStore() }, /state cannot change while the router runs/],
      [
        () => {
          throw new Error('of mine');
        },
        /of mine/,
      ],
    ];
    for (const [given, message] of wrong) expect(() => router.update(given as ConfigurationPatch)).toThrow(message);
    expect(router.configuration).toBe(configuration);
    expect(router.versions).toHaveLength(1);
    await router.close();
  });

  it('applies updates from within an update one after the other', async () => {
    const router = createRouter({ providers });
    router.update(() => {
      router.update({ policy: { allowedModels: [SMALL] } });
      return { defaultModel: SMALL };
    });
    expect(router.configuration).toMatchObject({ version: 3, defaultModel: SMALL, policy: { allowedModels: [SMALL] } });
    await router.close();
  });

  it('does not follow objects that the program changes later, nor let anybody change those in force', async () => {
    const policy = { allowedModels: [SMALL] };
    const router = createRouter({ providers, policy });
    policy.allowedModels.push('simulated/large');
    expect(await statusOf(router, 'other', 'simulated/large')).toBe(403);
    const { configuration } = router;
    const allowed = configuration.policy?.allowedModels as string[];
    expect(() => allowed.push('x')).toThrow(TypeError);
    expect(() => Object.assign(configuration, { policy: undefined })).toThrow(TypeError);
    await router.close();
  });
});

describe('router.configuration', () => {
  it.each([
    ['data alone', {}],
    ['functions, too', { authenticate: () => ({ id: 'me' }), on: { warning: () => {} } }],
    ['a list of keys', { authenticate: apiKeys([{ key: 'a-key-of-this-one-test', id: 'me' }]) }],
  ] satisfies [string, RouterConfig][])(
    'is whole, and prints no secrets, as a whole and part by part: %s',
    async (_what, others) => {
      const secret = 'the-secret-of-this-one-test';
      const signing = `whsec_${Buffer.from(secret).toString('base64')}`;
      const router = createRouter({
        providers,
        identitySecret: secret,
        webhooks: { secrets: [signing] },
        presets: { tool: { extra: { authorization: secret, headers: { 'x-any': secret } } } as never },
        net: { proxy: `http://user:${secret}@127.0.0.1:9` },
        ...others,
      });
      const { configuration } = router;
      expect([configuration.version, Object.isFrozen(configuration)]).toEqual([1, true]);
      expect(configuration).toMatchObject(others);
      expect(configuration.identitySecret).toBe(secret);
      expect(configuration.webhooks?.secrets).toEqual([signing]);
      const parts = [configuration, ...Object.values(configuration), configuration.webhooks?.secrets];
      for (const part of parts.filter((one) => typeof one === 'object')) {
        for (const text of [JSON.stringify(part), inspect(part, { depth: 9, showHidden: false }), String(part)]) {
          if (part === configuration.webhooks?.secrets && text === String(part)) continue;
          expect(text).not.toContain(secret);
          expect(text).not.toContain(signing);
        }
      }
      expect(JSON.parse(JSON.stringify(configuration))).toMatchObject({
        version: 1,
        providers: ['[simulated]'],
        identitySecret: '[redacted]',
      });
      await router.close();
    },
  );

  it('is a copy also of what refers to itself', () => {
    const cyclic: Record<string, unknown> = { name: 'x' };
    cyclic['self'] = cyclic;
    const copy = ownCopy({ presets: cyclic } as RouterConfig) as { presets: { self: unknown } };
    expect(copy.presets.self).toBe(copy.presets);
  });
});

describe('router.rollback', () => {
  it('puts an earlier version in force as a new one, with what was counted since', async () => {
    const environment = fakeEnvironment();
    const limits = { rateLimits: { default: { requestsPerMinute: 2 } } };
    const router = createRouter({ providers, catalog: [], environment, ...limits });
    expect(await statusOf(router, 'caller', SMALL)).toBe(200);
    router.update({ rateLimits: { default: { requestsPerMinute: 9 } }, aliases: { fast: SMALL } });
    expect(await statusOf(router, 'caller', SMALL)).toBe(200);
    expect(router.rollback(1)).toEqual({ version: 3, since: environment.wallClock() });
    expect(router.configuration.aliases).toBeUndefined();
    expect(await statusOf(router, 'caller', SMALL)).toBe(429);
    expect(router.versions.map(({ version }) => version)).toEqual([1, 2, 3]);
    await router.close();
  });

  it('keeps ten versions, and says which there are', async () => {
    const router = createRouter({ providers });
    expect(() => router.rollback(1)).toThrow('Version 1 is the version in force; there is no earlier one');
    for (let change = 0; change < 12; change += 1) router.update({ stickyTtlMs: 1_000 + change });
    expect(router.versions).toHaveLength(11);
    let told: unknown;
    try {
      router.rollback(2);
    } catch (error) {
      told = error;
    }
    expect(ConfigError.isInstance(told) && told.message).toContain(
      'Version 2 is not a version that is kept; earlier ones that are kept: 3, 4, 5',
    );
    await router.close();
  });
});
