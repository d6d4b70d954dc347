import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import {
  apiKeys,
  createRouter,
  type KeyStore,
  memoryKeys,
  type Router,
  type RouterConfig,
  storedApiKeys,
  type StoredApiKeysOptions,
  handle,
} from 'signalbox';
import { sqliteKeys } from 'signalbox/sqlite';
import { fakeEnvironment } from 'signalbox/testing';
import { httpCall } from '../support/http-call.ts';
import { MOUNTS, type Mounted } from '../support/mounts.ts';
import { withDocumentedFetch } from '../support/openapi.ts';
import { ask, instant } from '../support/simulated.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const [BOSS, OTHER, USER] = ['boss-0123456789abcdef', 'other-0123456789abcdef', 'user-0123456789abcdef'];
const beside = apiKeys([
  { key: BOSS, id: 'acme', scopes: ['management'], providerKeys: { simulated: { apiKey: 'own-provider-secret' } } },
  { key: OTHER, id: 'other', scopes: ['inference', 'management'] },
  { key: USER, id: 'acme' },
]);
const EVENTS = ['request', 'attempt_start', 'attempt', 'result', 'error', 'warning'] as const;
const DAY_MS = 86_400_000;

const opened: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close();
});

/** What came back. */
interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  readonly key: string;
  readonly data: Readonly<Record<string, unknown>> & { readonly hash: string };
  readonly message: string;
}

/** A router behind a socket. */
interface Served {
  readonly router: Router;
  readonly events: unknown[];
  readonly call: (key: string | undefined, method: string, path: string, body?: unknown) => Promise<Answer>;
  /** Status of a chat with this key. */
  readonly chat: (key: string) => Promise<number>;
}

async function serve(options: StoredApiKeysOptions, config: RouterConfig = {}, mount = 'node'): Promise<Served> {
  const events: unknown[] = [];
  const router = createRouter({
    providers: [instant({ models: { 'simulated/small': { price: { prompt: 1_000, completion: 1_000 } } } })],
    authenticate: storedApiKeys({ beside, ...options }),
    on: Object.fromEntries(EVENTS.map((name) => [name, (event: unknown) => void events.push(event)])),
    ...config,
  });
  const mounted = (await MOUNTS[mount]?.(router)) as Mounted;
  opened.push(async () => {
    await mounted[Symbol.asyncDispose]();
    await router.close();
  });
  const call: Served['call'] = (key, method, path, body) =>
    withDocumentedFetch('/v1', async () => {
      const response = await fetch(`${mounted.baseURL}${path}`, {
        method,
        headers: {
          'content-type': 'application/json',
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      const json = JSON.parse(text) as Partial<Answer> & { error?: { message: string } };
      return {
        status: response.status,
        text,
        headers: response.headers,
        key: json.key ?? '',
        data: json.data as Answer['data'],
        message: json.error?.message ?? '',
      };
    });
  const chat = async (key: string): Promise<number> =>
    (await call(key, 'POST', '/chat/completions', ask('Hello'))).status;
  return { router, events, call, chat };
}

/** A clock that stands still. */
function clock(): { readonly now: () => number; readonly pass: (ms: number) => void } {
  let time = Date.UTC(2027, 0, 1);
  return { now: () => time, pass: (ms) => void (time += ms) };
}

describe('an API key in a store', () => {
  it.each(Object.keys(MOUNTS))('is made, used, listed, changed, rotated and revoked over HTTP: %s', async (mount) => {
    const { now, pass } = clock();
    const { call, chat } = await serve({ store: memoryKeys(), now }, {}, mount);
    const made = await call(BOSS, 'POST', '/keys', { name: 'Build', expires_at: '2027-06-01T00:00:00Z' });
    expect([made.status, made.headers.get('cache-control')]).toEqual([201, 'no-store']);
    expect(made.key).toMatch(/^sk-sb-[0-9a-f]{48}$/);
    expect(made.data).toMatchObject({
      name: 'Build',
      label: `${made.key.slice(0, 8)}…${made.key.slice(-4)}`,
      disabled: false,
      limit: null,
      limit_reset: null,
      scopes: ['inference'],
      expires_at: '2027-06-01T00:00:00.000Z',
    });
    const { hash } = made.data;
    expect((await call(BOSS, 'GET', '/keys')).data).toEqual([made.data]);
    expect((await call(BOSS, 'GET', `/keys/${hash}`)).data).toEqual(made.data);
    expect(await chat(made.key)).toBe(200);
    expect((await call(made.key, 'GET', '/key')).data).toMatchObject({ label: made.data['label'] });

    const off = await call(BOSS, 'PATCH', `/keys/${hash}`, { disabled: true, name: 'Old', expires_at: null });
    expect(off.data).toMatchObject({ disabled: true, name: 'Old', expires_at: null, scopes: ['inference'] });
    expect(await chat(made.key)).toBe(401);
    await call(BOSS, 'PATCH', `/keys/${hash}`, { disabled: false });
    expect(await chat(made.key)).toBe(200);

    const next = await call(BOSS, 'POST', `/keys/${hash}/rotate`, { overlap_seconds: 60 });
    expect(next.status).toBe(201);
    expect([await chat(made.key), await chat(next.key)]).toEqual([200, 200]);
    pass(59_999);
    expect(await chat(made.key)).toBe(200);
    pass(1);
    expect([await chat(made.key), await chat(next.key)]).toEqual([401, 200]);

    expect(JSON.parse((await call(BOSS, 'DELETE', `/keys/${next.data.hash}`)).text)).toEqual({ deleted: true });
    expect(await chat(next.key)).toBe(401);
    expect((await call(BOSS, 'DELETE', `/keys/${next.data.hash}`)).status).toBe(404);
  });

  it('works for a day after it was rotated when nobody says otherwise, and no longer than before', async () => {
    const { now, pass } = clock();
    const { call, chat } = await serve({ store: memoryKeys(), now });
    const long = await call(BOSS, 'POST', '/keys', {});
    const short = await call(BOSS, 'POST', '/keys', { expires_at: new Date(now() + 1_000).toISOString() });
    for (const { data } of [long, short]) await call(BOSS, 'POST', `/keys/${data.hash}/rotate`);
    pass(1_000);
    expect([await chat(long.key), await chat(short.key)]).toEqual([200, 401]);
    pass(DAY_MS - 1_001);
    expect(await chat(long.key)).toBe(200);
    pass(1);
    expect(await chat(long.key)).toBe(401);
  });

  it('that was revoked is refused within a second by another instance over the same file, and at once by this one', async () => {
    const folder = temporaryFolder();
    opened.push(() => folder[Symbol.dispose]());
    const file = folder.file('keys.db');
    const stores = [sqliteKeys({ file }), sqliteKeys({ file })] as const;
    for (const store of stores) opened.push(() => store.close?.());
    const [one, other] = [await serve({ store: stores[0] }), await serve({ store: stores[1] })];
    const { key, data } = await one.call(BOSS, 'POST', '/keys', {});
    expect([await one.chat(key), await other.chat(key)]).toEqual([200, 200]);
    const revokedAt = performance.now();
    await one.call(BOSS, 'DELETE', `/keys/${data.hash}`);
    expect(await one.chat(key)).toBe(401);
    await expect.poll(() => other.chat(key), { interval: 20, timeout: 5_000 }).toBe(401);
    expect(performance.now() - revokedAt).toBeLessThan(1_000);
  });

  it('is asked of the store again after the time of the cache, and not before', async () => {
    const { now, pass } = clock();
    const store = memoryKeys();
    let reads = 0;
    const counted: KeyStore = { ...store, find: (hash) => ((reads += 1), store.find(hash)) };
    const { call, chat } = await serve({ store: counted, now, cacheMs: 500 });
    const { key, data } = await call(BOSS, 'POST', '/keys', {});
    reads = 0;
    for (let index = 0; index < 5; index += 1) expect(await chat(key)).toBe(200);
    expect(reads).toBe(1);
    await store.remove(data.hash);
    pass(499);
    expect(await chat(key)).toBe(200);
    pass(1);
    expect(await chat(key)).toBe(401);
  });

  it('that is revoked while it is being looked up is not remembered', async () => {
    const store = memoryKeys();
    const waiting: (() => void)[] = [];
    let isSlow = false;
    const slow: KeyStore = {
      ...store,
      async find(hash) {
        const waits = isSlow;
        const found = await store.find(hash);
        if (waits) await new Promise<void>((resolve) => waiting.push(resolve));
        return found;
      },
    };
    const authenticate = storedApiKeys({ store: slow, now: () => 1_000 });
    const { key, stored } = await authenticate.keys.create({ account: { id: 'acme' } });
    const credentials = { key, header: () => undefined };
    isSlow = true;
    const early = authenticate(credentials);
    isSlow = false;
    await expect.poll(() => waiting.length).toBe(1);
    await authenticate.keys.revoke(stored.hash);
    waiting[0]?.();
    await early;
    expect(await authenticate(credentials)).toBeUndefined();
  });

  it('that is revoked while it is being changed does not come back', async () => {
    const store = memoryKeys();
    const { keys } = storedApiKeys({
      store: {
        ...store,
        async replace(key) {
          await store.remove(key.hash);
          return store.replace(key);
        },
      },
    });
    const { stored } = await keys.create({ account: { id: 'acme' } });
    await expect(keys.update(stored.hash, { disabled: false })).rejects.toMatchObject({ status: 404 });
    expect(await store.find(stored.hash)).toBeUndefined();
  });
});

describe('the management of API keys', () => {
  it('is for the scope management only', async () => {
    const { call } = await serve({ store: memoryKeys() });
    const { data, key } = await call(BOSS, 'POST', '/keys', {});
    for (const [method, path] of [
      ['GET', '/keys'],
      ['POST', '/keys'],
      ['GET', `/keys/${data.hash}`],
      ['PATCH', `/keys/${data.hash}`],
      ['DELETE', `/keys/${data.hash}`],
      ['POST', `/keys/${data.hash}/rotate`],
    ] as const) {
      const body = method === 'POST' || method === 'PATCH' ? {} : undefined;
      for (const used of [USER, key]) {
        const { status, message } = await call(used, method, path, body);
        expect([status, message]).toEqual([403, 'Only management keys may do this']);
      }
      expect((await call(undefined, method, path, body)).status).toBe(401);
    }
    const manager = await call(BOSS, 'POST', '/keys', { scopes: ['management'] });
    expect((await call(manager.key, 'GET', '/keys')).status).toBe(200);
    expect((await call(manager.key, 'POST', '/chat/completions', ask('Hello'))).status).toBe(403);
  });

  it('of an operator is made and changed by operators alone', async () => {
    const { call } = await serve({ store: memoryKeys() });
    expect((await call(BOSS, 'POST', '/keys', { scopes: ['operator'] })).message).toBe(
      'scopes must be a list of "inference" and "management"',
    );
    const operator = 'operator-key-0123456789abcdef';
    const house = await serve({
      store: memoryKeys(),
      beside: apiKeys([
        { key: operator, id: 'acme', scopes: ['management', 'operator'] },
        { key: BOSS, id: 'acme', scopes: ['management'] },
      ]),
    });
    const made = await house.call(operator, 'POST', '/keys', { scopes: ['management', 'operator'] });
    expect(made.status).toBe(201);
    for (const [method, path] of [
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/rotate'],
    ] as const) {
      const refused = await house.call(BOSS, method, `/keys/${made.data.hash}${path}`, {});
      expect([refused.status, refused.message]).toEqual([403, 'Only operator keys may change an operator key']);
    }
    expect((await house.call(BOSS, 'PATCH', `/keys/${made.data.hash}`, { scopes: ['operator'] })).status).toBe(403);
    expect((await house.call(made.key, 'POST', `/keys/${made.data.hash}/rotate`, {})).status).toBe(201);
  });

  it.each(['memory', 'sqlite'])('has one successor, however many rotate it at once: %s', async (kind) => {
    const folder = temporaryFolder();
    opened.push(() => folder[Symbol.dispose]());
    const store = kind === 'memory' ? memoryKeys() : sqliteKeys({ file: folder.file('keys.db') });
    const { call } = await serve({ store });
    const { data } = await call(BOSS, 'POST', '/keys', {});
    const rotations = await Promise.all(
      Array.from({ length: 10 }, () => call(BOSS, 'POST', `/keys/${data.hash}/rotate`, {})),
    );
    expect(rotations.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      201,
      ...Array.from({ length: 9 }, () => 409),
    ]);
    expect((await call(BOSS, 'GET', '/keys')).data).toHaveLength(2);
  });

  it('has only the keys of its own account: others are not there, and say nothing', async () => {
    const { call, chat } = await serve({ store: memoryKeys() });
    const { data, key } = await call(BOSS, 'POST', '/keys', {});
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { disabled: true }],
      ['DELETE', '', undefined],
      ['POST', '/rotate', {}],
    ] as const) {
      const strange = await call(OTHER, method, `/keys/${data.hash}${path}`, body);
      const unknown = await call(OTHER, method, `/keys/${'0'.repeat(64)}${path}`, body);
      const odd = await call(OTHER, method, `/keys/%00${path}`, body);
      expect([strange.status, strange.text]).toEqual([404, unknown.text]);
      expect(odd.text).toBe(unknown.text);
    }
    expect((await call(OTHER, 'GET', '/keys')).data).toEqual([]);
    expect(await chat(key)).toBe(200);
  });

  it('shows a key once, and keeps it out of the store, events and errors', async () => {
    const folder = temporaryFolder();
    opened.push(() => folder[Symbol.dispose]());
    const store = sqliteKeys({ file: folder.file('keys.db') });
    const { call, chat, events } = await serve({ store });
    const { key, data } = await call(BOSS, 'POST', '/keys', { name: 'Build' });
    const secret = key.slice(10, -6);
    expect(await chat(key)).toBe(200);
    const texts = [
      (await call(BOSS, 'GET', '/keys')).text,
      (await call(BOSS, 'GET', `/keys/${data.hash}`)).text,
      (await call(BOSS, 'PATCH', `/keys/${data.hash}`, { disabled: true })).text,
      (await call(key, 'POST', '/chat/completions', ask('Hello'))).text,
      (await call(BOSS, 'GET', `/keys/${key}`)).text,
      JSON.stringify(events),
    ];
    await store.close?.();
    const files = readdirSync(folder.path).map((name) => readFileSync(folder.file(name)).toString('latin1'));
    expect(files.join('')).toContain(data.hash);
    for (const text of [...texts, ...files]) {
      expect(text).not.toContain(secret);
      // What the account brings to providers is not copied either.
      expect(text).not.toContain('own-provider-secret');
    }
  });

  it.each([
    [{ name: '' }, 'name must be a string of 1 to 200 characters'],
    [{ expires_at: 'soon' }, 'expires_at must be a time such as 2027-01-01T00:00:00Z, or null'],
    [{ limit: -1 }, 'limit'],
    [{ limit: '5' }, 'limit must be US dollars, or null'],
    [{ limit: 1e30 }, 'limit'],
    [{ limit_reset: 'daily' }, 'limit_reset needs a limit'],
    [{ limit: 1, limit_reset: 'hourly' }, 'limit_reset must be daily, weekly, monthly, or null'],
    [{ scopes: ['everything'] }, 'scopes must be a list of "inference" and "management"'],
    [{ scopes: [] }, 'scopes must be a list'],
    ['[]', 'the request body must be a JSON object'],
    ['{', 'the request body must be a JSON object'],
  ])('says what is wrong with %j', async (body, problem) => {
    const { call } = await serve({ store: memoryKeys() });
    const { status, message } = await call(BOSS, 'POST', '/keys', body);
    expect(status).toBe(400);
    expect(message).toContain(problem);
    expect((await call(BOSS, 'GET', '/keys')).data).toEqual([]);
  });

  it('takes no body that is too large', async () => {
    const { call } = await serve({ store: memoryKeys() });
    expect((await call(BOSS, 'POST', '/keys', { name: 'x'.repeat(20_000) })).status).toBe(413);
    expect((await call(BOSS, 'PUT', '/keys', {})).status).toBe(405);
  });

  it('tells pages of other sites which methods the paths take', async () => {
    const origin = 'https://app.example';
    const authenticate = storedApiKeys({ store: memoryKeys() });
    const router = createRouter({ providers: [instant()], authenticate, cors: { origins: [origin] } });
    const headers = { origin, 'access-control-request-method': 'PATCH' };
    const reply = await handle(router, httpCall({ method: 'OPTIONS', path: `/keys/${'0'.repeat(64)}`, headers }));
    expect(reply).toMatchObject({
      status: 204,
      headers: { 'access-control-allow-methods': 'GET, HEAD, PATCH, DELETE' },
    });
  });

  it('leaves the paths to the host where no keys are stored', async () => {
    const router = createRouter({ providers: [instant()], authenticate: beside, environment: fakeEnvironment() });
    const headers = { authorization: `Bearer ${BOSS}` };
    for (const path of ['/keys', '/keys/x', '/keys/x/rotate']) {
      expect(await handle(router, httpCall({ method: 'GET', path, headers }))).toBeUndefined();
    }
  });
});

describe('the budget of an API key', () => {
  it('is what `limit` says, also after a rotation, and begins anew as `limit_reset` says', async () => {
    const environment = fakeEnvironment();
    const { call, chat } = await serve({ store: memoryKeys(), now: environment.wallClock }, { environment });
    const made = await call(BOSS, 'POST', '/keys', { limit: 0.000001, limit_reset: 'daily' });
    expect(made.data).toMatchObject({ limit: 0.000001, limit_reset: 'daily' });
    const rich = await call(BOSS, 'POST', '/keys', { limit: 1_000 });
    expect(rich.data).toMatchObject({ limit: 1_000, limit_reset: null });
    const path = `/keys/${made.data.hash}`;
    expect([await chat(made.key), await chat(rich.key)]).toEqual([402, 200]);
    const rotated = await call(BOSS, 'POST', `${path}/rotate`, {});
    expect(await chat(rotated.key)).toBe(402);
    const raised = await call(BOSS, 'PATCH', path, { limit: 1_000, limit_reset: 'monthly' });
    expect(raised.data).toMatchObject({ limit: 1_000, limit_reset: 'monthly' });
    expect(await chat(made.key)).toBe(200);
    const free = await call(BOSS, 'PATCH', path, { limit: null, limit_reset: null });
    expect(free.data).toMatchObject({ limit: null, limit_reset: null });
    expect(await chat(made.key)).toBe(200);
  });
});

/** A chat for a price that does not change. */
const COST = { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 1 };

describe('the card of an API key', () => {
  it('tells what was spent with it, and what is left, by day, week and month', async () => {
    const environment = fakeEnvironment();
    const { call } = await serve({ store: memoryKeys(), now: environment.wallClock }, { environment });
    const limited = await call(BOSS, 'POST', '/keys', { limit: 10, limit_reset: 'daily' });
    const free = await call(BOSS, 'POST', '/keys', {});
    expect(limited.data).toMatchObject({ usage: 0, usage_daily: 0, limit: 10, limit_remaining: 10 });
    expect(free.data).toMatchObject({ usage: 0, limit: null, limit_remaining: null, limit_reset: null });
    const spend = async (key: string): Promise<number> => {
      const { text } = await call(key, 'POST', '/chat/completions', { ...ask('Hello'), ...COST });
      return (JSON.parse(text) as { usage: { cost: number } }).usage.cost;
    };
    const amounts = async (key: string): Promise<Readonly<Record<string, unknown>>> =>
      (await call(key, 'GET', '/key')).data;
    for (const { key, data } of [limited, free]) {
      const cost = (await spend(key)) + (await spend(key));
      expect(cost).toBeGreaterThan(0);
      const usage = expect.closeTo(cost, 9) as number;
      const spent = { usage, usage_daily: usage, usage_weekly: usage, usage_monthly: usage };
      await expect.poll(() => amounts(key)).toMatchObject(spent);
      expect((await call(BOSS, 'GET', `/keys/${data.hash}`)).data).toMatchObject(spent);
      const { limit_remaining: left } = await amounts(key);
      expect(left).toEqual(key === limited.key ? expect.closeTo(10 - cost, 9) : null);
    }
    // The clock of the test begins on a Thursday that is no end of a week or month.
    await environment.advance(DAY_MS);
    const { usage, ...rest } = await amounts(limited.key);
    expect(rest).toMatchObject({ usage_daily: 0, usage_monthly: usage, limit_remaining: 10 });
    const rotated = await call(BOSS, 'POST', `/keys/${limited.data.hash}/rotate`, {});
    expect(rotated.data).toMatchObject({ usage });
  });

  it('is shown to whoever has the key, whatever that is for, and to nobody else', async () => {
    const { call } = await serve({ store: memoryKeys() });
    const made = await call(BOSS, 'POST', '/keys', { name: 'Manager', scopes: ['management'] });
    expect((await call(made.key, 'GET', '/key')).data).toEqual({
      label: made.data['label'],
      limit: null,
      limit_remaining: null,
      limit_reset: null,
      include_byok_in_limit: false,
      usage: 0,
      usage_daily: 0,
      usage_weekly: 0,
      usage_monthly: 0,
      is_free_tier: false,
      is_management_key: true,
      expires_at: null,
    });
    expect((await call(USER, 'GET', '/key')).data).toMatchObject({ label: 'acme', is_management_key: false });
    expect((await call(undefined, 'GET', '/key')).status).toBe(401);
    expect((await call('sk-unknown-0123456789', 'GET', '/key')).status).toBe(401);
  });

  it('does not say what nobody counts', async () => {
    const keeper = {
      reserve: () => ({ granted: true as const, ticket: { account: 'acme', nanoUsd: 0, holds: [] } }),
      settle: () => {},
    };
    const { call } = await serve({ store: memoryKeys() }, { budgets: { keeper } });
    const { data } = await call(BOSS, 'POST', '/keys', { limit: 5 });
    expect(data).toMatchObject({ limit: 5, limit_remaining: null, usage: null, usage_daily: null });
    const spentUnder = (): Promise<never> => Promise.reject(new Error('away'));
    const away = await serve({ store: memoryKeys() }, { budgets: { keeper: { ...keeper, spentUnder } } });
    expect((await away.call(BOSS, 'POST', '/keys', {})).data).toMatchObject({ usage: null });
  });
});

describe('stored API keys of a program', () => {
  it('may be completed with what is not stored, and refused', async () => {
    const store = memoryKeys();
    const authenticate = storedApiKeys({
      store,
      completeAccount: (account) =>
        account.id === 'gone' ? undefined : { ...account, defaultModel: 'simulated/small' },
    });
    const header = (): undefined => undefined;
    const [kept, gone] = [
      await authenticate.keys.create({ account: { id: 'acme' } }),
      await authenticate.keys.create({ account: { id: 'gone' } }),
    ];
    expect(await authenticate({ key: kept.key, header })).toMatchObject({
      id: 'acme',
      defaultModel: 'simulated/small',
    });
    expect(await authenticate({ key: gone.key, header })).toBeUndefined();
    expect(await authenticate({ key: undefined, header })).toBeUndefined();
  });

  it('are refused when their account means nothing, or holds a secret of its own', async () => {
    const { keys } = storedApiKeys({ store: memoryKeys() });
    await expect(keys.create({ account: {} as never })).rejects.toThrow('account.id');
    const providerKeys = { openai: { apiKey: 'sk-secret' } };
    const refused = keys.create({ account: { id: 'acme', providerKeys } });
    await expect(refused).rejects.toThrow('account.providerKeys must not be stored');
    await expect(refused).rejects.not.toThrow('sk-secret');
    expect(() => storedApiKeys({} as never)).toThrow('storedApiKeys.store must be a store of keys');
    expect(() => storedApiKeys({ store: memoryKeys(), cache: 5 } as never)).toThrow('cacheMs');
  });
});
