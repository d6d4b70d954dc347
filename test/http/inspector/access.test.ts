import { createRouter, type Router, type RouterConfig, simulated } from 'signalbox';
import { inspector } from 'signalbox/inspector';
import { describe, expect, it } from 'vitest';
import { batchOf, inspectedRouter, KEYS, sendTraffic, WITH_KEYS } from '../../support/inspected.ts';
import { MOUNTS, type Mounted } from '../../support/mounts.ts';

/** Addresses of the views. */
const VIEWS = [
  '',
  '/',
  '/overview',
  '/live',
  '/requests',
  '/requests/gen-1',
  '/endpoints',
  '/cost',
  '/budgets',
  '/batches',
  '/try',
];
/** Everything that the page asks for. */
const ASKED = [
  'facts',
  'live',
  'requests',
  'records',
  'endpoints',
  'plan?model=acme/writer',
  'costs?by=account',
  'batches',
  'overview',
  'timeline?span=week',
  'suggestions',
  'budgets',
];

const mount = (name: string, router: Router): Promise<Mounted> => {
  const found = MOUNTS[name];
  if (found === undefined) throw new Error(`no mount ${name}`);
  return found(router);
};

const bearer = (key: string): RequestInit => ({ headers: { authorization: `Bearer ${key}` } });

async function statusOf(address: string, init?: RequestInit): Promise<number> {
  const controller = new AbortController();
  const { status } = await fetch(address, { ...init, signal: controller.signal });
  controller.abort();
  return status;
}

describe.each(Object.keys(MOUNTS))('the inspector on %s', (name) => {
  it('has its page at every view, with a policy without exceptions', async () => {
    await using mounted = await mount(name, inspectedRouter());
    for (const view of VIEWS) {
      const response = await fetch(`${mounted.baseURL}/inspector${view}`);
      expect([view, response.status]).toEqual([view, 200]);
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
      const policy = response.headers.get('content-security-policy') ?? '';
      expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+';/);
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
      expect(await response.text()).toMatch(/^<!doctype html>/);
    }
  });

  it('is off unless it was asked for', async () => {
    const router = createRouter({ providers: [simulated()], allowAnonymous: true });
    await using mounted = await mount(name, router);
    expect(await statusOf(`${mounted.baseURL}/inspector`)).toBe(404);
    expect(await statusOf(`${mounted.baseURL}/inspector/api/requests`)).toBe(404);
  });

  it('answers keys with the scope operator only', async () => {
    const router = inspectedRouter(WITH_KEYS);
    await using mounted = await mount(name, router);
    for (const path of ASKED) {
      const address = `${mounted.baseURL}/inspector/api/${path}`;
      expect([path, await statusOf(address)]).toEqual([path, 401]);
      expect([path, await statusOf(address, bearer(KEYS.inference))]).toEqual([path, 403]);
      expect([path, await statusOf(address, bearer(KEYS.management))]).toEqual([path, 200]);
    }
  });
});

describe('who may see the inspector', () => {
  const ask = async (config: RouterConfig, path = 'requests', init?: RequestInit): Promise<number> => {
    await using mounted = await mount('node', inspectedRouter(config));
    return await statusOf(`${mounted.baseURL}/inspector/api/${path}`, init);
  };

  it('is this machine, where there is no authentication', async () => {
    expect(await ask({})).toBe(200);
  });

  it('is not whoever a proxy speaks for, although models answer anybody', async () => {
    const proxied = { headers: { 'x-forwarded-for': '192.0.2.1' } };
    expect(await ask({ allowAnonymous: true }, 'requests', proxied)).toBe(401);
  });

  it('is not a page of another site that makes a browser of this machine ask', async () => {
    expect(await ask({}, 'requests', { headers: { origin: 'https://evil.example' } })).toBe(401);
  });

  it('is whom the check of the host lets in', async () => {
    const allow = ({ header }: { header: (name: string) => string | undefined }): boolean =>
      header('cookie') === 'operator=1';
    const config = { ...WITH_KEYS, inspector: inspector({ allow }) };
    expect(await ask(config)).toBe(401);
    expect(await ask(config, 'requests', { headers: { cookie: 'operator=1' } })).toBe(200);
    expect(await ask(config, 'requests', bearer(KEYS.management))).toBe(200);
  });

  it('is for prompts and answers this machine and operator keys only, and nobody where they are not kept', async () => {
    const allow = (): boolean => true;
    const content = async (config: RouterConfig, init?: RequestInit): Promise<readonly [number, string]> => {
      const router = inspectedRouter(config);
      const { id } = await router.chat({ model: 'acme/quick', messages: [{ role: 'user', content: 'A secret' }] });
      await using mounted = await mount('node', router);
      const response = await fetch(`${mounted.baseURL}/inspector/api/requests/${id}/content`, init);
      const page = await fetch(`${mounted.baseURL}/inspector/api/requests/${id}`, init);
      expect(await page.text()).not.toContain('A secret');
      return [response.status, await response.text()];
    };
    const kept = inspector({ content: true });
    expect(await content({ inspector: kept })).toEqual([200, expect.stringContaining('A secret')]);
    expect(await content({})).toEqual([404, expect.stringContaining('inspector({ content: true })')]);
    const proxied = { headers: { 'x-forwarded-for': '192.0.2.1' } };
    const [status, body] = await content(
      { allowAnonymous: true, inspector: inspector({ content: true, allow }) },
      proxied,
    );
    expect([status, body.includes('secret')]).toEqual([401, false]);
    const keyed = { ...WITH_KEYS, inspector: inspector({ content: true, allow }) };
    expect(await content(keyed)).toEqual([401, expect.not.stringContaining('A secret')]);
    expect(await content(keyed, bearer(KEYS.inference))).toEqual([403, expect.not.stringContaining('A secret')]);
    expect(await content(keyed, bearer(KEYS.management))).toEqual([200, expect.stringContaining('A secret')]);
  });

  it('is nobody more when the check of the host fails', async () => {
    const warnings: string[] = [];
    const config: RouterConfig = {
      ...WITH_KEYS,
      inspector: inspector({
        allow: () => {
          throw new Error('secret');
        },
      }),
      on: { warning: ({ message }) => void warnings.push(message) },
    };
    expect(await ask(config)).toBe(401);
    expect(warnings).toEqual(['allow of inspector() failed (Error)']);
  });

  it('is told when an option of it is not known', () => {
    // @ts-expect-error A wrong name.
    expect(() => inspector({ alow: () => true })).toThrow('inspector.alow is not an option; did you mean "allow"?');
  });
});

describe('without the scope management', () => {
  it('nothing of another account is visible by any address', async () => {
    const router = inspectedRouter(WITH_KEYS);
    await sendTraffic(router, 8);
    const { id: batch } = await router.batches.create(batchOf(2, 'acme/quick'), { account: { id: 'team-b' } });
    const records = (await router.ledger?.read())?.records ?? [];
    expect(records.length).toBeGreaterThan(4);
    await using mounted = await mount('node', router);
    const paths = [
      ...ASKED,
      ...records.map(({ id }) => `requests/${id}`),
      `batches/${batch}/errors?account=team-b`,
      `requests?account=team-b`,
    ];
    for (const path of paths) {
      const response = await fetch(`${mounted.baseURL}/inspector/api/${path}`, bearer(KEYS.inference));
      const body = await response.text();
      expect(response.status).toBe(403);
      expect(body).not.toMatch(/team-b|gen-/);
    }
    const cancel = `${mounted.baseURL}/inspector/api/batches/${batch}/cancel?account=team-b`;
    const headers = { authorization: `Bearer ${KEYS.inference}`, 'x-signalbox-inspector': '1' };
    expect((await fetch(cancel, { method: 'POST', headers })).status).toBe(403);
    expect((await router.batches.retrieve(batch, { account: { id: 'team-b' } })).status).not.toBe('cancelling');
    await router.close();
  });
});

describe('changes', () => {
  it('need a header that no page of another site can send', async () => {
    const router = inspectedRouter();
    const { id } = await router.batches.create(batchOf(2, 'acme/quick'));
    await using mounted = await mount('node', router);
    const cancel = `${mounted.baseURL}/inspector/api/batches/${id}/cancel?account=anonymous`;
    expect((await fetch(cancel, { method: 'POST' })).status).toBe(403);
    expect((await fetch(cancel, { headers: { 'x-signalbox-inspector': '1' } })).status).toBe(404);
    const done = await fetch(cancel, { method: 'POST', headers: { 'x-signalbox-inspector': '1' } });
    expect(done.status).toBe(200);
    expect(await done.json()).toMatchObject({ id, account: 'anonymous', status: expect.stringMatching(/^cancel/) });
    await router.close();
  });
});
