/** Runs in a process of its own: it says that another copy of the package is loaded, which stays said. */
import { ConfigError, type ConfigProblem, type RouterConfig, createRouter, localQueue, memoryStorage } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { noteCopy } from '../../src/router/create-router.ts';
import { nodeProblems } from '../../src/config/problems.ts';
import { instant } from '../support/simulated.ts';

/** What is said about a configuration that does not come from TypeScript. */
function problemsOf(config: unknown): readonly ConfigProblem[] {
  try {
    createRouter(config as RouterConfig);
  } catch (error) {
    if (ConfigError.isInstance(error)) return error.problems;
    throw error;
  }
  return [];
}

const providers = [instant()];

describe('a configuration', () => {
  it.each<[string, object, string, string]>([
    ['without a provider', { providers: [] }, 'providers', 'must hold at least one provider'],
    ['with two providers of one slug', { providers: [instant(), instant()] }, 'providers[1].slug', 'is there twice'],
    ['with something else as a provider', { providers: ['openai'] }, 'providers[0]', 'must be a provider'],
    ['with a misspelt option', { timeout: {} }, 'timeout', 'is not an option; did you mean "timeouts"?'],
    [
      'with a misspelt option inside',
      { timeouts: { firstTokenMS: 1 } },
      'timeouts.firstTokenMS',
      'is not an option; did you mean "firstTokenMs"?',
    ],
    ['with an option that is like no other', { cors: { x: 1, origins: '*' } }, 'cors.x', 'there are origins, headers'],
    ['with a misspelt price', { models: { 'a/b': { nam: 'x' } } }, 'models["a/b"].nam', 'did you mean "name"?'],
    [
      'with a negative time',
      { timeouts: { idleMs: -1 } },
      'timeouts.idleMs',
      'non-negative number of milliseconds, not -1',
    ],
    ['with a time that is no number', { timeouts: { idleMs: Number.NaN } }, 'timeouts.idleMs', 'not NaN'],
    ['with an endless time', { timeouts: { idleMs: Infinity } }, 'timeouts.idleMs', 'not Infinity'],
    ['with a time as text', { timeouts: { idleMs: '5s' } }, 'timeouts.idleMs', 'not a string'],
    [
      'whose whole time is shorter than that of the first token',
      { timeouts: { totalMs: 1, firstTokenMs: 2 } },
      'timeouts.totalMs',
      'must not be shorter than timeouts.firstTokenMs',
    ],
    ['with half an attempt', { fallback: { maxAttempts: 0 } }, 'fallback.maxAttempts', 'a whole number from 1 on'],
    ['with a queue that is none', { batches: { queue: {} } }, 'batches.queue', 'localQueue()'],
    ['with a lease of nothing', { batches: { limits: { leaseMs: 0 } } }, 'batches.limits.leaseMs', 'from 1 on, not 0'],
    [
      'with a secret that can be guessed',
      { webhooks: { secrets: ['whsec_c2hvcnQ='] } },
      'webhooks.secrets[0]',
      'must hold 24 to 64 bytes',
    ],
    [
      'with an allowed host that no address is compared with',
      { webhooks: { allowedHosts: ['127.0.0.1:3000', '[::1]:80', 'hooks.example.com'] } },
      'webhooks.allowedHosts[2]',
      'a host in small letters with its port, such as "wiki.internal:443"',
    ],
    [
      'with an allowed host that is an address',
      { webhooks: { allowedHosts: ['https://hooks.example.com:443'] } },
      'webhooks.allowedHosts[0]',
      'a host in small letters with its port',
    ],
    ['with a budget of null', { budgets: { default: null } }, 'budgets.default', 'must be an object, not null'],
    ['with a budget of nothing', { budgets: { default: {} } }, 'budgets.default.limitUsd', 'not undefined'],
    [
      'with a limit of null',
      { rateLimits: { default: { freeModels: null } } },
      'rateLimits.default.freeModels',
      'an object, not null',
    ],
    [
      'with a limit as text',
      { rateLimits: { default: { requestsPerMinute: '9' } } },
      'rateLimits.default.requestsPerMinute',
      'not a string',
    ],
    ['with a limiter that is none', { rateLimits: { limiter: {} } }, 'rateLimits.limiter', 'with take and settle'],
    [
      'with a keeper that is none',
      { budgets: { keeper: null } },
      'budgets.keeper',
      'with reserve and settle, not null',
    ],
    ['with a cache that is none', { responseCache: { store: {} } }, 'responseCache.store', 'with get and set'],
    ['with a cache of no time', { responseCache: { ttlSeconds: 0 } }, 'responseCache.ttlSeconds', 'at least 1, not 0'],
    [
      'with a misspelt field of a preset',
      { presets: { a: { temprature: 1 } } },
      'presets.a.temprature',
      'did you mean "temperature"?',
    ],
    ['with a field of a preset out of range', { presets: { a: { temperature: 9 } } }, 'presets.a.temperature', '2'],
    ['with a preset that is none', { presets: { a: 'x' } }, 'presets.a', 'fields of a request, not a string'],
    [
      'with a time of a preset as text',
      { presets: { a: { cache_ttl_seconds: 'x' } } },
      'presets.a.cache_ttl_seconds',
      '1',
    ],
    [
      'with an alias of itself',
      { aliases: { a: 'b', b: ['x/y', 'c'], c: 'a' } },
      'aliases["a"]',
      'must not lead back to itself: "a" → "b" → "c" → "a"',
    ],
    ['with a word that is not one of some', { brand: 'routr' }, 'brand', 'did you mean "router"?'],
    ['with a listener for nothing', { on: { warnings: () => 0 } }, 'on.warnings', 'did you mean "warning"?'],
    ['with a catalog that is none', { catalog: { version: 7 } }, 'catalog.version', 'must be'],
    ['with an origin that has a path', { cors: { origins: ['https://a.example/x'] } }, 'cors.origins[0]', 'an origin'],
  ])('%s is refused', (_name, config, path, problem) => {
    const problems = problemsOf({ providers, ...config });
    expect(problems.map((one) => one.path)).toEqual([path]);
    expect(problems[0]?.problem).toContain(problem);
  });

  it('that is none at all is refused', () => {
    expect(problemsOf(7)).toEqual([{ path: 'The configuration', problem: 'must be an object, not 7' }]);
    expect(problemsOf([])[0]?.problem).toBe('must be an object, not a list');
  });

  it('is told everything at once, in sentences, and no secret is among them', () => {
    const secret = 'whsec_this is a secret that nobody may read';
    const config = {
      providers: [instant(), instant(), { slug: 'x', models: {} }],
      identitySecrt: secret,
      webhooks: { secrets: [secret] },
      timeouts: { idleMs: -1, totlMs: 5 },
      stickyTtlMs: secret,
      aliases: { a: 'a' },
      batches: { limits: { leaseMs: -1 } },
    };
    let error: unknown;
    try {
      createRouter(config as unknown as RouterConfig);
    } catch (thrown) {
      error = thrown;
    }
    if (!ConfigError.isInstance(error)) throw new Error('nothing was refused');
    expect(error.problems.map(({ path }) => path).sort()).toEqual([
      'aliases["a"]',
      'batches.limits.leaseMs',
      'identitySecrt',
      'providers[2].chat',
      'stickyTtlMs',
      'timeouts.idleMs',
      'timeouts.totlMs',
      'webhooks.secrets[0]',
    ]);
    expect(error.message).toContain('identitySecrt is not an option; did you mean "identitySecret"?\n');
    expect(JSON.stringify([error.message, error.problems])).not.toContain('nobody may read');
  });

  it('with every option of batches that there is, is fine', () => {
    const batches = { storage: memoryStorage(), queue: localQueue({ concurrency: 2 }), limits: { leaseMs: 5_000 } };
    expect(problemsOf({ providers, batches })).toEqual([]);
  });

  it('may give presets fields that only a provider knows', () => {
    expect(problemsOf({ providers, presets: { a: { min_tokens: 5, guided_json: {}, cache_enabled: true } } })).toEqual(
      [],
    );
  });

  it('may say undefined for whatever it leaves out', () => {
    expect(problemsOf({ providers, timeouts: undefined, cors: undefined, limits: { nodes: undefined } })).toEqual([]);
  });
});

describe('the runtime', () => {
  it('must not be older than the oldest Node that is tested', () => {
    expect(nodeProblems('20.19.0')).toEqual([
      { path: 'Node.js', problem: 'must be version 22.19 or newer, not 20.19.0' },
    ]);
    expect(nodeProblems('22.11.9')).toHaveLength(1);
    expect([nodeProblems('22.19.0'), nodeProblems('24.1.0'), nodeProblems()]).toEqual([[], [], []]);
  });

  it('is told of a second copy of this package', () => {
    const heard: string[] = [];
    const listen = { warning: ({ code }: { code: string }) => heard.push(code) };
    createRouter({ providers, on: listen });
    expect(heard).toEqual([]);
    noteCopy('file:///elsewhere/signalbox/dist/index.js');
    createRouter({ providers, on: listen });
    expect(heard).toEqual(['loaded_twice']);
  });
});
