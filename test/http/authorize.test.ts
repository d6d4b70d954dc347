import {
  type Authenticate,
  type RouterConfig,
  type WarningEvent,
  RouterError,
  apiKeys,
  createRouter,
  handle,
} from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PROXY_HEADERS } from '../../src/http/local-caller.ts';
import { type FedProvider, fedProvider } from '../support/fed-provider.ts';
import { type Answered, type CallInit, chatBody, httpCall, send } from '../support/http-call.ts';

const KEY = 'key-of-ada-0123456789';

interface Asked {
  readonly answer: Answered;
  readonly provider: FedProvider;
  readonly warnings: readonly WarningEvent[];
  readonly bodyRead: boolean;
}

async function ask(config: Partial<RouterConfig>, init: CallInit = {}): Promise<Asked> {
  const provider = fedProvider({ script: (call) => call.answer('Hi') });
  const warnings: WarningEvent[] = [];
  // That the models of these tests have no price is nothing about who may call.
  const warning = (event: WarningEvent) => event.code !== 'price_unknown' && warnings.push(event);
  const router = createRouter({ ...config, providers: [provider], on: { warning } });
  let bodyRead = false;
  const onRead = (): void => {
    bodyRead = true;
  };
  const headers = { 'content-type': 'application/json', ...init.headers };
  const answer = await send(router, { body: chatBody(), onRead, ...init, headers });
  return { answer, provider, warnings, bodyRead };
}

const bearer = (key: string): CallInit => ({ headers: { authorization: `Bearer ${key}` } });

describe('a caller', () => {
  const authenticate = apiKeys([{ key: KEY, id: 'ada' }]);

  it.each([
    ['a bearer token', { authorization: `Bearer ${KEY}` }],
    ['a bearer token in another spelling', { authorization: `bearer   ${KEY} ` }],
    ['x-api-key', { 'x-api-key': KEY }],
    ['a bearer token before x-api-key', { authorization: `Bearer ${KEY}`, 'x-api-key': 'wrong-key-0123456789' }],
    ['x-api-key beside another scheme', { authorization: 'Basic YTpi', 'x-api-key': KEY }],
  ])('is known by %s', async (_name, headers: Record<string, string>) => {
    const { answer, provider } = await ask({ authenticate }, { headers });
    expect(answer.status).toBe(200);
    expect(provider.calls[0]?.call.request.account.id).toBe('ada');
  });

  it.each([
    ['nothing', {}, 'Missing Authentication header: send "Authorization: Bearer <API key>"'],
    [
      'an empty token',
      { authorization: 'Bearer ' },
      'Missing Authentication header: send "Authorization: Bearer <API key>"',
    ],
    [
      'another scheme',
      { authorization: 'Basic YTpi' },
      'Missing Authentication header: send "Authorization: Bearer <API key>"',
    ],
    [
      'a wrong key',
      { authorization: 'Bearer wrong' },
      'The API key is not valid here: it is unknown, disabled or expired',
    ],
    [
      'a key with a capital wrong',
      { authorization: `Bearer ${KEY.toUpperCase()}` },
      'The API key is not valid here: it is unknown, disabled or expired',
    ],
    [
      'a part of a key',
      { 'x-api-key': KEY.slice(0, -1) },
      'The API key is not valid here: it is unknown, disabled or expired',
    ],
  ])('with %s gets a 401 before its body is read', async (_name, headers: Record<string, string>, message) => {
    const { answer, provider, bodyRead } = await ask({ authenticate }, { headers });
    expect(answer.status).toBe(401);
    expect(answer.error).toEqual({ code: 401, message, metadata: { error_type: 'authentication' } });
    expect(answer.json['user_id']).toBeNull();
    expect(bodyRead).toBe(false);
    expect(provider.calls).toHaveLength(0);
  });

  it('gets its 401 before it could get a 413 or a 415', async () => {
    const { answer } = await ask(
      { authenticate },
      { headers: { 'content-length': '99999999999', 'content-type': 'text/plain' } },
    );
    expect(answer.status).toBe(401);
  });

  it('is named in errors once it is known', async () => {
    const { answer } = await ask({ authenticate }, { ...bearer(KEY), body: {} });
    expect(answer.status).toBe(400);
    expect(answer.json['user_id']).toBe('ada');
  });

  it('needs no key to see what is on offer', async () => {
    const { answer } = await ask({ authenticate }, { method: 'GET', path: '/models' });
    expect(answer.status).toBe(200);
  });
});

describe('a scope', () => {
  const authenticate = apiKeys([
    { key: `${KEY}-1`, id: 'manager', scopes: ['management'] },
    { key: `${KEY}-2`, id: 'both', scopes: ['management', 'inference'] },
    { key: `${KEY}-3`, id: 'none', scopes: [] },
  ]);

  it('of management alone calls no models', async () => {
    const { answer, bodyRead } = await ask({ authenticate }, bearer(`${KEY}-1`));
    expect(answer.status).toBe(403);
    expect(answer.error).toEqual({
      code: 403,
      message: 'This key is for management only; calling models needs an inference key',
      metadata: { error_type: 'permission_denied' },
    });
    expect(bodyRead).toBe(false);
  });

  it('of both does, and no scope at all does not', async () => {
    expect((await ask({ authenticate }, bearer(`${KEY}-2`))).answer.status).toBe(200);
    expect((await ask({ authenticate }, bearer(`${KEY}-3`))).answer.status).toBe(403);
  });
});

describe('a check of the host', () => {
  const never = (): never => {
    throw new Error(`cannot look up ${KEY}`);
  };

  const failing: Readonly<Record<string, unknown>> = {
    'that throws': never,
    'that rejects': () => Promise.reject(new Error(`cannot look up ${KEY}`)),
    'that rejects with nothing': () => Promise.reject(),
    'that throws a text': () => {
      throw 'text';
    },
    'that gives true': () => true,
    'that gives a text': () => 'ada',
    'that gives a number': () => 7,
    'that gives an empty object': () => ({}),
    'that gives an account without a name': () => ({ id: '' }),
    'that gives an account with a number for a name': () => ({ id: 7 }),
    'that gives scopes as a text': () => ({ id: 'ada', scopes: 'inference' }),
    'that gives scopes as a number': () => ({ id: 'ada', scopes: 5 }),
    'that gives a list': () => [{ id: 'ada' }],
    'that gives an object with a throwing getter': () => ({
      get id() {
        return never();
      },
    }),
    'that gives a promise of rubbish': () => Promise.resolve(Symbol('x')),
  };

  it.each(Object.entries(failing))('%s is a 503 and never a way in', async (_name, check) => {
    const { answer, provider, warnings } = await ask({ authenticate: check as Authenticate }, bearer(KEY));
    expect(answer.status).toBe(503);
    expect(answer.error).toMatchObject({ code: 503, message: 'Credentials cannot be checked right now' });
    expect(answer.headers['retry-after']).toBe('1');
    expect(provider.calls).toHaveLength(0);
    expect(warnings).toMatchObject([{ code: 'authenticate' }]);
    expect(JSON.stringify([warnings, answer.text])).not.toContain(KEY);
  });

  it.each([undefined, null, false])('that gives %s does not know the caller', async (nobody) => {
    const authenticate = (() => nobody) as unknown as Authenticate;
    expect((await ask({ authenticate }, bearer(KEY))).answer.status).toBe(401);
  });

  it('may answer later, also with a promise of another realm', async () => {
    const stranger: unknown = runInNewContext('Promise.resolve({ id: "ada" })');
    expect(stranger).not.toBeInstanceOf(Promise);
    expect((await ask({ authenticate: () => Promise.resolve({ id: 'ada' }) }, bearer(KEY))).answer.status).toBe(200);
    expect((await ask({ authenticate: (() => stranger) as Authenticate }, bearer(KEY))).answer.status).toBe(200);
  });

  it('that never answers is a 503 after ten seconds', async () => {
    const environment = fakeEnvironment();
    const asked = ask({ environment, authenticate: () => new Promise<undefined>(() => undefined) }, bearer(KEY));
    let status = 0;
    void asked.then(({ answer }) => (status = answer.status));
    await environment.advance(9_999);
    expect(status).toBe(0);
    await environment.advance(1);
    expect(status).toBe(503);
    expect(environment.pendingTimers).toBe(0);
  });

  it('may refuse with an error of its own', async () => {
    const refusal = new RouterError({ status: 402, errorType: 'payment_required', message: 'Insufficient credits' });
    const authenticate = (): never => {
      throw refusal;
    };
    const { answer } = await ask({ authenticate }, bearer(KEY));
    expect(answer.error).toMatchObject({ code: 402, message: 'Insufficient credits' });
  });

  it('sees every header, for hosts that know their callers by something else', async () => {
    const authenticate: Authenticate = ({ key, header }) =>
      key === undefined && header('cookie') === 'session=1' ? { id: 'ada' } : undefined;
    expect((await ask({ authenticate }, { headers: { cookie: 'session=1' } })).answer.status).toBe(200);
    expect((await ask({ authenticate }, { headers: { cookie: 'session=2' } })).answer.status).toBe(401);
  });
});

describe('a router without authentication', () => {
  const statusOf = async (init: CallInit, config: Partial<RouterConfig> = {}): Promise<number> =>
    (await ask(config, init)).answer.status;

  it.each(['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1'])(
    'answers its own machine: %s',
    async (remoteAddress) => {
      expect(await statusOf({ remoteAddress })).toBe(200);
    },
  );

  it.each([
    undefined,
    '10.0.0.7',
    '192.168.1.2',
    '::ffff:10.0.0.7',
    'fe80::1',
    '127.evil.example',
    '1.127.0.0',
    '128.0.0.1',
    '',
  ])('answers nobody else: %s', async (remoteAddress) => {
    const { answer, bodyRead } = await ask({}, { remoteAddress });
    expect(answer.status).toBe(401);
    expect(answer.error.message).toBe(
      'This router has no authentication set up, so it answers clients on the same machine only, and none behind a ' +
        'proxy. Pass authenticate, or allowAnonymous: true, to createRouter.',
    );
    expect(bodyRead).toBe(false);
  });

  it.each([...PROXY_HEADERS])('answers nobody behind a proxy, which %s tells of', async (name) => {
    expect(await statusOf({ headers: { [name]: '127.0.0.1' } })).toBe(401);
    expect(await statusOf({ headers: { [name]: '' } })).toBe(401);
  });

  it.each([
    ['nginx', ['x-real-ip', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-forwarded-port']],
    ['Caddy and Go', ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'via']],
    ['Traefik', ['x-forwarded-server', 'x-real-ip', 'x-forwarded-port']],
    ['Envoy', ['x-envoy-external-address', 'x-envoy-expected-rq-timeout-ms', 'x-forwarded-client-cert']],
    ['Cloudflare', ['cf-connecting-ip', 'cf-ray', 'cf-visitor', 'cf-ipcountry', 'cdn-loop']],
    ['load balancers', ['x-amzn-trace-id', 'x-cloud-trace-context', 'x-azure-clientip', 'true-client-ip']],
  ])('knows the headers of %s', (_name, headers) => {
    expect(PROXY_HEADERS).toEqual(expect.arrayContaining(headers));
  });

  it.each(['localhost', 'localhost:8787', 'LOCALHOST:1', '127.0.0.1', '127.8.9.10:80', '[::1]', '[::1]:65535'])(
    'answers who calls it by a name of its machine: %s',
    async (host) => {
      expect(await statusOf({ headers: { host } })).toBe(200);
    },
  );

  it.each([
    'evil.example',
    'api.example.com:443',
    'localhost.evil.example',
    'localhost@evil.example',
    'evil.example:localhost',
    '127.0.0.1.nip.io',
    '127.evil.example',
    '10.0.0.7:8787',
    '[::2]',
    '::1',
    '',
  ])('answers no proxy that keeps another name, and no name that was bent to this machine: %s', async (host) => {
    expect(await statusOf({ headers: { host } })).toBe(401);
  });

  it('answers nobody who says no name', async () => {
    const provider = fedProvider({ script: (call) => call.answer('Hi') });
    const call = httpCall({ body: chatBody() });
    const header = (name: string): string | undefined => (name === 'host' ? undefined : call.header(name));
    expect((await handle(createRouter({ providers: [provider] }), { ...call, header }))?.status).toBe(401);
  });

  it.each(['/batches', '/batches/batch_1'])(
    'shows no batches to a name that was bent to this machine: GET %s',
    async (path) => {
      expect(await statusOf({ method: 'GET', path, headers: { host: 'evil.example' } })).toBe(401);
    },
  );

  it.each([
    ['1.1', 200],
    ['2.0', 200],
    ['1.0', 401],
    ['0.9', 401],
  ])('answers HTTP/1.1 and newer, for what comes by an older one has passed nginx: %s', async (httpVersion, status) => {
    expect(await statusOf({ httpVersion })).toBe(status);
    expect(await statusOf({ httpVersion, headers: { connection: 'close' } })).toBe(status);
  });

  it('takes a connection that ends after its request for an older one, where the host tells no version', async () => {
    const provider = fedProvider({ script: (call) => call.answer('Hi') });
    const router = createRouter({ providers: [provider] });
    const statusWith = async (connection: string): Promise<number | undefined> =>
      (await handle(router, { ...httpCall({ body: chatBody(), headers: { connection } }), httpVersion: undefined }))
        ?.status;
    expect(await statusWith('keep-alive')).toBe(200);
    expect(await statusWith('Close')).toBe(401);
  });

  it.each(['https://evil.example', 'http://127.evil.example', 'http://localhost.evil.example', 'null', 'file://', ''])(
    'answers no page of another site in a browser on this machine: %s',
    async (origin) => {
      expect(await statusOf({ headers: { origin } })).toBe(401);
    },
  );

  it.each(['http://localhost:5173', 'http://127.0.0.1:3000', 'http://[::1]:3000', 'http://app.localhost'])(
    'answers pages of this machine: %s',
    async (origin) => {
      expect(await statusOf({ headers: { origin } })).toBe(200);
    },
  );

  it('answers pages of sites that cors names, though not of all when it names none', async () => {
    const origin = 'https://app.example.com';
    expect(await statusOf({ headers: { origin } }, { cors: { origins: [origin] } })).toBe(200);
    expect(await statusOf({ headers: { origin } }, { cors: { origins: ['https://other.example.com'] } })).toBe(401);
    expect(await statusOf({ headers: { origin } }, { cors: { origins: '*' } })).toBe(401);
  });

  it('answers everybody when it is told to', async () => {
    const headers = { 'x-forwarded-for': '8.8.8.8', origin: 'https://evil.example' };
    expect(await statusOf({ headers, remoteAddress: '8.8.8.8' }, { allowAnonymous: true })).toBe(200);
  });

  describe('in production', () => {
    beforeEach(() => vi.stubEnv('NODE_ENV', 'production'));
    afterEach(() => vi.unstubAllEnvs());

    it('answers nobody, because a proxy on this machine may look like a caller, and says so when it is made', async () => {
      const { answer, warnings, bodyRead } = await ask({});
      expect(answer.status).toBe(401);
      expect(answer.error.message).toBe(
        'This router has no authentication set up, so it answers nobody in production. ' +
          'Pass authenticate, or allowAnonymous: true, to createRouter.',
      );
      expect(bodyRead).toBe(false);
      expect(warnings).toEqual([
        {
          code: 'no_callers',
          message:
            'NODE_ENV is production and neither authenticate nor allowAnonymous is set, so every request over HTTP gets a 401. ' +
            'Pass authenticate, or allowAnonymous: true, to createRouter; allowAnonymous: false if nobody calls over HTTP.',
        },
      ]);
    });

    it('answers everybody when it is told to, and warns of nothing', async () => {
      const { answer, warnings } = await ask({ allowAnonymous: true }, { remoteAddress: '8.8.8.8' });
      expect([answer.status, warnings]).toEqual([200, []]);
    });

    it('warns of nothing when it is told to answer nobody', async () => {
      const { answer, warnings } = await ask({ allowAnonymous: false });
      expect([answer.status, warnings]).toEqual([401, []]);
    });

    it('answers who has a key, and warns of nothing', async () => {
      const { answer, warnings } = await ask({ authenticate: apiKeys([{ key: KEY, id: 'ada' }]) }, bearer(KEY));
      expect([answer.status, warnings]).toEqual([200, []]);
    });

    it('answers calls within the process', async () => {
      const provider = fedProvider({ script: (call) => call.answer('Hi') });
      const router = createRouter({ providers: [provider], on: { warning: () => undefined } });
      const answer = await router.chat({ model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] });
      expect(answer.choices[0]?.message?.content).toBe('Hi');
    });
  });

  it('names nobody in errors', async () => {
    const { answer } = await ask({}, { body: {} });
    expect(answer.json['user_id']).toBeNull();
  });
});
