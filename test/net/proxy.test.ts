import { createRouter, openaiCompatible, type Provider, type RouterConfig, RouterError, searxng } from 'signalbox';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { LookupAddress } from '../../src/net/guarded-connector.ts';
import { createOutbound } from '../../src/net/outbound.ts';
import { createTransport as createFetchTransport } from '../../src/net/fetch.ts';
import { createGuardedTransport } from '../../src/net/undici.ts';
import { systemEnvironment } from '../../src/platform/environment.ts';
import { makeCertificate } from '../../src/testing/fault-upstream/certificate.ts';
import { type ForwardProxy, hostsOf, startForwardProxy } from '../support/forward-proxy.ts';
import { SECRET } from '../support/webhook-receiver.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

/** A name that no resolver knows: only a proxy can lead there. */
const HOST = 'llm.house.test';
const MODELS = { 'acme/one': { upstreamModel: 'one-up' } } as const;
const REQUEST = { model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] } as const;

afterEach(() => vi.unstubAllEnvs());

function portOf({ baseURL }: Upstream): string {
  return new URL(baseURL).port;
}

function providerAt(
  upstream: Upstream,
  options: { host?: string; scheme?: string; net?: RouterConfig['net'] } = {},
): Provider {
  const { host = HOST, scheme = 'http', net } = options;
  const baseURL = `${scheme}://${host}:${portOf(upstream)}/v1`;
  return openaiCompatible({ slug: 'house', baseURL, apiKey: 'key', models: MODELS, net });
}

async function ask(config: RouterConfig, stream = false): Promise<string> {
  const router = createRouter(config);
  try {
    if (!stream) return (await router.chat(REQUEST)).choices[0]?.message.content ?? '';
    let text = '';
    for await (const chunk of router.stream(REQUEST)) text += chunk.choices[0]?.delta.content ?? '';
    return text;
  } catch (error) {
    if (RouterError.isInstance(error)) return `${error.status}: ${error.message}`;
    throw error;
  } finally {
    await router.close();
  }
}

describe('a proxy', () => {
  it.each([false, true])('carries calls to providers, with its password (streamed: %s)', async (stream) => {
    await using proxy = await startForwardProxy();
    await using upstream = await startUpstream();
    expect(await ask({ providers: [providerAt(upstream)], net: { proxy: proxy.address } }, stream)).toBe('Hello there');
    expect(proxy.log).toEqual([`${HOST}:${portOf(upstream)}`]);
    expect(upstream.requests[0]?.headers).not.toHaveProperty('proxy-authorization');
  });

  it('keeps its connections for calls that follow, and takes many at once', async () => {
    await using proxy = await startForwardProxy();
    await using upstream = await startUpstream();
    const router = createRouter({ providers: [providerAt(upstream)], net: { proxy: proxy.address } });
    for (let count = 0; count < 10; count += 1) await router.chat(REQUEST);
    // undici opens a second one where a call ends and the next begins in the same moment.
    expect(proxy.log.length).toBeLessThanOrEqual(2);
    await Promise.all(Array.from({ length: 50 }, () => router.chat(REQUEST)));
    expect(upstream.requests).toHaveLength(60);
    await router.close();
  });

  it('that wants a password says so, and never shows the one that it was told', async () => {
    await using proxy = await startForwardProxy();
    await using upstream = await startUpstream();
    const wrong = proxy.address.replace('signal:box', 'signal:secret-of-mine');
    const told = await ask({ providers: [providerAt(upstream)], net: { proxy: wrong } });
    expect(told).toMatch(/502: .*The proxy requires a user name and a password.*\(407\)/);
    expect(told).not.toContain('secret');
    expect(upstream.requests).toEqual([]);
  });

  it('that refuses or is not there is told from a provider that does', async () => {
    await using upstream = await startUpstream();
    const proxy = await startForwardProxy();
    proxy.refuseWith = 403;
    const net = { proxy: proxy.address };
    expect(await ask({ providers: [providerAt(upstream)], net })).toMatch(
      /The proxy did not open a connection \(403\)/,
    );
    await proxy[Symbol.asyncDispose]();
    expect(await ask({ providers: [providerAt(upstream)], net })).toMatch(
      /The connection to the proxy failed \(ECONNREFUSED\)/,
    );
  });

  it('is the one of the environment by default, where NO_PROXY does not name the host', async () => {
    await using proxy = await startForwardProxy();
    await using upstream = await startUpstream();
    vi.stubEnv('HTTP_PROXY', proxy.address);
    expect(await ask({ providers: [providerAt(upstream)] })).toBe('Hello there');
    expect(proxy.log).toHaveLength(1);
    for (const entry of ['house.test', '.house.test', '*.house.test', `x.test,${HOST}:${portOf(upstream)}`, '*']) {
      vi.stubEnv('NO_PROXY', entry);
      expect(await ask({ providers: [providerAt(upstream)] })).toMatch(/ENOTFOUND|EAI_AGAIN/);
    }
    expect(proxy.log).toHaveLength(1);
    for (const entry of ['other.test', `*.${HOST}`, `${HOST}:1`, 'use.test']) {
      vi.stubEnv('NO_PROXY', entry);
      expect(await ask({ providers: [providerAt(upstream)] })).toBe('Hello there');
    }
    expect(proxy.log).toHaveLength(5);
  });

  it('is never between a program and its own machine', async () => {
    await using proxy = await startForwardProxy();
    await using upstream = await startUpstream();
    vi.stubEnv('http_proxy', proxy.address);
    for (const host of ['127.0.0.1', 'localhost']) {
      expect(await ask({ providers: [providerAt(upstream, { host })] })).toBe('Hello there');
    }
    expect(proxy.log).toEqual([]);
  });

  it("of a provider takes the place of the router's", async () => {
    await using ofRouter = await startForwardProxy();
    await using ofProvider = await startForwardProxy();
    await using upstream = await startUpstream();
    const provider = providerAt(upstream, { net: { proxy: ofProvider.address } });
    expect(await ask({ providers: [provider], net: { proxy: ofRouter.address } })).toBe('Hello there');
    expect([ofRouter.log.length, ofProvider.log.length]).toEqual([0, 1]);
  });
});

describe("a company's certificate authority", () => {
  it.each([false, true])(
    'is trusted behind the proxy and without it, and where it is not named, not',
    async (proxied) => {
      const host = proxied ? HOST : 'localhost';
      const certificate = await makeCertificate('valid', host);
      await using proxy = await startForwardProxy();
      await using upstream = await startUpstream(undefined, certificate);
      const providers = [providerAt(upstream, { host, scheme: 'https' })];
      const way = proxied ? { proxy: proxy.address } : {};
      expect(await ask({ providers, net: { ...way, ca: certificate.certificate } })).toBe('Hello there');
      const again = [providerAt(upstream, { host, scheme: 'https' })];
      expect(await ask({ providers: again, net: { ...way, noProxy: [] } })).toMatch(/SELF_SIGNED|UNABLE_TO_VERIFY/);
      const own = [providerAt(upstream, { host, scheme: 'https', net: { ...way, ca: [certificate.certificate] } })];
      expect(await ask({ providers: own })).toBe('Hello there');
      const names = hostsOf(proxy);
      expect(names).toEqual(proxied ? names.map(() => HOST) : []);
    },
  );

  it('does not make a certificate good that is for another host', async () => {
    const certificate = await makeCertificate('valid', 'other.test');
    await using proxy = await startForwardProxy();
    await using upstream = await startUpstream(undefined, certificate);
    const net = { proxy: proxy.address, ca: certificate.certificate };
    expect(await ask({ providers: [providerAt(upstream, { scheme: 'https' })], net })).toMatch(/ALTNAME_INVALID/);
  });
});

describe('addresses that users give, behind a proxy', () => {
  function door(proxy: ForwardProxy, port: string, addresses: readonly string[] | Error, allowedHosts: string[] = []) {
    const lookup = (_: string, callback: (error: Error | null, found: readonly LookupAddress[]) => void): void =>
      addresses instanceof Error
        ? callback(addresses, [])
        : callback(
            null,
            addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
          );
    return createOutbound({ ports: [Number(port)], allowedHosts }, systemEnvironment(), (guard) =>
      Promise.resolve(createGuardedTransport(guard, lookup, { proxy: proxy.address })),
    );
  }

  const OPTIONS = { maxBytes: 1_000, timeoutMs: 5_000 };

  it('are looked up here first, and the proxy is told an address that was looked at', async () => {
    await using proxy = await startForwardProxy();
    await using site = await startUpstream((_request, response) => sendJson(response, 200, { page: true }));
    const port = portOf(site);
    const url = `http://site.example:${port}/`;
    for (const [addresses, told] of [
      [['8.8.8.8'], '8.8.8.8'],
      [['2001:4860:4860::8888'], '[2001:4860:4860::8888]'],
    ] as const) {
      const outbound = door(proxy, port, addresses);
      expect((await outbound.fetch({ url, ...OPTIONS })).status).toBe(200);
      expect(proxy.log.at(-1)).toBe(`${told}:${port}`);
      await outbound.close();
    }
    expect(site.requests[0]?.headers.host).toBe(`site.example:${port}`);
  });

  it('are refused where they lead to a private network, or where nobody here knows where they lead', async () => {
    await using proxy = await startForwardProxy();
    const url = 'http://site.example:8080/';
    const notFound = Object.assign(new Error('no'), { code: 'ENOTFOUND' });
    for (const addresses of [['10.0.0.1'], ['8.8.8.8', '169.254.169.254'], ['fd00::1'], [], notFound]) {
      const outbound = door(proxy, '8080', addresses);
      await expect(outbound.fetch({ url, ...OPTIONS })).rejects.toThrow('The URL could not be reached');
      await outbound.close();
    }
    const literal = door(proxy, '8080', []);
    await expect(literal.fetch({ url: 'http://10.1.2.3:8080/', ...OPTIONS })).rejects.toThrow('public internet');
    await literal.close();
    expect(proxy.log).toEqual([]);
  });

  it('may be hosts that the program vouches for, although only the proxy knows them', async () => {
    await using proxy = await startForwardProxy();
    await using site = await startUpstream((_request, response) => sendJson(response, 200, { page: true }));
    const port = portOf(site);
    const outbound = door(proxy, port, Object.assign(new Error('no'), { code: 'ENOTFOUND' }), [`wiki.house:${port}`]);
    expect((await outbound.fetch({ url: `http://wiki.house:${port}/`, ...OPTIONS })).status).toBe(200);
    expect(hostsOf(proxy)).toEqual(['wiki.house']);
    await outbound.close();
  });

  it("take the router's network: pages, web search and webhooks", async () => {
    const certificate = await makeCertificate('valid', 'hooks.house.test');
    await using proxy = await startForwardProxy();
    await using upstream = await startUpstream();
    await using site = await startUpstream((_request, response) =>
      sendJson(response, 200, { results: [{ title: 'One', url: 'https://one.example/', content: 'text' }] }),
    );
    await using hooks = await startUpstream((_request, response) => response.writeHead(204).end(), certificate);
    const hook = `hooks.house.test:${portOf(hooks)}`;
    const router = createRouter({
      providers: [providerAt(upstream)],
      net: { proxy: proxy.address, ca: certificate.certificate },
      webhooks: { secrets: [SECRET], allowedHosts: [hook], ports: [Number(portOf(hooks))] },
    });
    const host = `search.house.test:${portOf(site)}`;
    const outbound = createOutbound({ allowedHosts: [host] }, systemEnvironment());
    expect((await outbound.fetch({ url: `http://${host}/page`, ...OPTIONS })).status).toBe(200);
    await outbound.close();
    const engine = searxng({ baseURL: `http://${host}` });
    const found = await engine.search({
      query: 'one',
      maxResults: 3,
      domains: { allowed: [], blocked: [] },
      signal: new AbortController().signal,
    });
    expect(JSON.stringify(found)).toContain('one.example');
    await router.batches.start();
    await router.batches.create({
      endpoint: '/v1/chat/completions',
      model: 'acme/one',
      callback_url: `https://${hook}/done`,
      requests: [{ custom_id: 'r0', body: { messages: REQUEST.messages } }],
    });
    await vi.waitFor(() => expect(hooks.requests.length).toBeGreaterThan(0), { timeout: 10_000 });
    expect(new Set(hostsOf(proxy))).toEqual(new Set([HOST, 'search.house.test', 'hooks.house.test']));
    await router.batches.stop({ graceMs: 0 });
    await router.close();
  });
});

describe('the option net', () => {
  it('is one for the routers of a process while they live', async () => {
    const providers = [providerAt({ baseURL: 'http://x:1/v1' } as Upstream)];
    const first = createRouter({ providers, net: { proxy: 'http://one.test:1' } });
    const same = createRouter({ providers, net: { proxy: 'http://one.test:1' } });
    expect(() => createRouter({ providers, net: { proxy: 'http://two.test:1' } })).toThrow(
      'net must be the same for all routers of a process',
    );
    await first.close();
    expect(() => createRouter({ providers, net: { proxy: 'http://two.test:1' } })).toThrow('net must be the same');
    await same.close();
    await createRouter({ providers, net: { proxy: 'http://two.test:1' } }).close();
  });

  it.each([
    [{ proxy: 'socks5://user:secret@one.test' }, 'net.proxy must be the http(s) address of a proxy'],
    [{ proxy: 'http://one.test:1/path' }, 'net.proxy must be the http(s) address of a proxy'],
    [{ ca: 'no certificate' }, 'net.ca must be a certificate in PEM'],
    [{ proxies: [] }, 'net.proxies is not an option'],
  ])('says what is wrong with it: %j', (net, told) => {
    const make = () => createRouter({ providers: [], net });
    expect(make).toThrow(told);
    expect(make).not.toThrow('secret');
  });

  it('cannot be beside a transport, and not where fetch connects', () => {
    const transport = { send: () => Promise.reject(new Error('none')), close: () => Promise.resolve() };
    const make = () =>
      openaiCompatible({ slug: 'house', baseURL: 'http://x.test', models: MODELS, transport, net: { noProxy: ['*'] } });
    expect(make).toThrow('providers.house.net cannot be beside transport');
    expect(() => createFetchTransport({ noProxy: ['*'] })).toThrow('work on Node only');
  });
});
