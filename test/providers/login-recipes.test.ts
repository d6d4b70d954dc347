/** The recipes for logins as the page has them, run against services that refuse old tokens. */
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import * as signalbox from 'signalbox';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { codeBlocks } from '../support/code-blocks.ts';
import { messagesProvider } from '../support/messages-upstream.ts';
import { readProjectFile } from '../support/source-files.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { tokenIssuer } from '../support/token-issuer.ts';
import { type ReceivedRequest, answerWith, sendJson, startUpstream } from '../support/upstream.ts';

const PAGE = readProjectFile('docs/providers.md');
const HOUR = 3_600_000;

/** The block of the page that has some text in it. */
function blockWith(text: string): string {
  const block = codeBlocks(PAGE).find((one) => one.includes(text));
  if (block === undefined) throw new RangeError(`the page has no block with ${text}`);
  return block;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

type Options = Readonly<Record<string, unknown>>;

/**
 * Runs blocks of the page as one program. What they import comes from `modules`, and providers that they make are kept.
 *
 * @param baseURL - Where providers are called in place of their own addresses.
 */
async function run(
  blocks: readonly string[],
  baseURL: string,
  modules: Readonly<Record<string, object>> = {},
): Promise<signalbox.Provider> {
  const made: signalbox.Provider[] = [];
  const keeping =
    (factory: (options: never) => signalbox.Provider) =>
    ({ resource: _, ...options }: Options) => {
      made.push(factory({ ...options, baseURL } as never));
    };
  const given: Readonly<Record<string, object>> = {
    signalbox: {
      azure: keeping(signalbox.azure),
      bedrock: keeping(signalbox.bedrock),
      openaiCompatible: keeping(signalbox.openaiCompatible),
    },
    ...modules,
  };
  vi.stubGlobal('recipeModules', given);
  const text = blocks
    .join('\n')
    .replaceAll(/^import \{([^}]*)\} from '([^']*)';$/gm, (_, names: string, from: string) => {
      const values = names.split(',').map((name) => name.trim());
      const own = values.filter((name) => name !== '' && !name.startsWith('type '));
      return `var { ${own.join(', ')} } = recipeModules[${JSON.stringify(from)}];`;
    });
  const module = `data:text/javascript,${encodeURIComponent(`${stripTypeScriptTypes(text)}\n// ${Math.random()}`)}`;
  await import(/* @vite-ignore */ module);
  const provider = made.at(-1);
  if (provider === undefined) throw new RangeError('no provider was made');
  return provider;
}

/** A service of OAuth whose tokens are good for an hour, and what it was sent. */
async function startTokenService(check: (form: URLSearchParams, headers: IncomingHttpHeaders) => boolean) {
  const issued: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const isGood = check(new URLSearchParams(body), request.headers);
      const token = `token-${issued.length + 1}`;
      if (isGood) issued.push(token);
      response.writeHead(isGood ? 200 : 401, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isGood ? { access_token: token, expires_in: 3_600 } : { error: 'invalid_client' }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    issued,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Plays a provider that takes the latest token only. */
async function startGuarded(latest: () => string | undefined, path: RegExp) {
  const refused: string[] = [];
  const upstream = await startUpstream((request: ReceivedRequest, response, raw) => {
    const { authorization = '' } = request.headers;
    if (authorization !== `Bearer ${latest()}`) {
      refused.push(authorization);
      return sendJson(response, 401, { error: { message: 'The access token has expired' } });
    }
    expect(request.path).toMatch(path);
    if (request.path.endsWith('/messages')) return messagesProvider(request, response, raw);
    return answerWith('Hello there')(request, response, raw);
  });
  return { upstream, refused };
}

/** Asks before and after the end of a token, and after it was revoked early. */
async function survives(provider: signalbox.Provider, revoke: () => void): Promise<void> {
  const router = signalbox.createRouter({ providers: [provider] });
  const [model = ''] = Object.keys(provider.models);
  const ask = async (): Promise<void> => {
    const { choices } = await router.chat({ model, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 10 });
    expect(choices[0]?.message.content).toMatch(/\w/);
  };
  await ask();
  await ask();
  vi.setSystemTime(Date.now() + HOUR);
  revoke();
  await ask();
  revoke();
  await ask();
  await router.close();
}

describe('the recipe for', () => {
  it('Entra ID sends tokens as bearers and renews them', async () => {
    const issuer = tokenIssuer(() => Date.now() + HOUR);
    const scopes: string[] = [];
    class DefaultAzureCredential {
      async getToken(scope: string) {
        scopes.push(scope);
        const issued = await issuer.give();
        const { token, expiresAt } = issued as signalbox.ProviderToken;
        return { token, expiresOnTimestamp: expiresAt };
      }
    }
    await using upstream = await startUpstream(issuer.guard(answerWith('Hello there')));
    const provider = await run([blockWith('DefaultAzureCredential')], upstream.baseURL, {
      '@azure/identity': { DefaultAzureCredential },
    });
    await survives(provider, () => issuer.revoke());
    expect(new Set(scopes)).toEqual(new Set(['https://ai.azure.com/.default']));
    expect(issuer.issued).toHaveLength(3);
    expect(upstream.requests[0]).toMatchObject({
      path: '/v1/chat/completions',
      body: { model: 'my-deployment' },
      headers: { authorization: 'Bearer token-of-the-house-1' },
    });
    expect(upstream.requests[0]?.headers['api-key']).toBeUndefined();
  });

  it('short-term keys of Bedrock signs new ones', async () => {
    const issuer = tokenIssuer();
    const regions: unknown[] = [];
    const getTokenProvider = (options: unknown) => {
      regions.push(options);
      return async () => ((await issuer.give()) as signalbox.ProviderToken).token;
    };
    await using upstream = await startUpstream(issuer.guard(messagesProvider));
    const provider = await run([blockWith('getTokenProvider({')], upstream.baseURL.replace('/v1', ''), {
      '@aws/bedrock-token-generator': { getTokenProvider },
    });
    await survives(provider, () => issuer.revoke());
    expect(regions).toEqual([{ region: 'eu-central-1', expiresInSeconds: 3_600 }]);
    expect(issuer.issued).toHaveLength(3);
    expect(upstream.requests[0]?.path).toBe('/anthropic/v1/messages');
  });

  const ISSUE = blockWith('async function issue');

  it('watsonx trades its key at IAM', async () => {
    vi.stubEnv('IBM_API_KEY', 'ibm-key');
    await using service = await startTokenService(
      (form) => form.get('grant_type') === 'urn:ibm:params:oauth:grant-type:apikey' && form.get('apikey') === 'ibm-key',
    );
    let valid = 0;
    const { upstream } = await startGuarded(
      () => service.issued[Math.max(valid, service.issued.length - 1)],
      /completions$/,
    );
    const block = ISSUE.replace('https://iam.cloud.ibm.com', service.origin);
    const provider = await run([block], upstream.baseURL);
    await survives(provider, () => (valid = service.issued.length));
    expect(service.issued).toHaveLength(3);
    await upstream[Symbol.asyncDispose]();
  });

  it('Databricks logs in as a service principal', async () => {
    vi.stubEnv('DATABRICKS_CLIENT_ID', 'client');
    vi.stubEnv('DATABRICKS_CLIENT_SECRET', 'dose-of-secret');
    const basic = `Basic ${Buffer.from('client:dose-of-secret').toString('base64')}`;
    await using service = await startTokenService(
      (form, { authorization }) =>
        authorization === basic && form.get('grant_type') === 'client_credentials' && form.get('scope') === 'all-apis',
    );
    let valid = 0;
    const { upstream } = await startGuarded(
      () => service.issued[Math.max(valid, service.issued.length - 1)],
      /completions$/,
    );
    const block = blockWith('/oidc/v1/token').replace(
      /const workspace = '[^']*'/,
      `const workspace = '${service.origin}'`,
    );
    const provider = await run([ISSUE, block], upstream.baseURL);
    await survives(provider, () => (valid = service.issued.length));
    expect(service.issued).toHaveLength(3);
    expect(upstream.requests[0]?.body).toMatchObject({ model: 'databricks-gpt-oss-120b' });
    await upstream[Symbol.asyncDispose]();
  });

  it('a workload identity reads its assertion anew for each token', async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, 'token');
    writeFileSync(file, 'assertion-1');
    vi.stubEnv('AZURE_TENANT_ID', 'tenant');
    vi.stubEnv('AZURE_CLIENT_ID', 'client');
    vi.stubEnv('AZURE_FEDERATED_TOKEN_FILE', file);
    const assertions: (string | null)[] = [];
    await using service = await startTokenService((form) => {
      assertions.push(form.get('client_assertion'));
      return (
        form.get('grant_type') === 'client_credentials' &&
        form.get('client_id') === 'client' &&
        form.get('scope') === 'https://ai.azure.com/.default' &&
        form.get('client_assertion_type') === 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
      );
    });
    let valid = 0;
    const { upstream } = await startGuarded(
      () => service.issued[Math.max(valid, service.issued.length - 1)],
      /completions$/,
    );
    const block = blockWith('client_assertion_type').replace('https://login.microsoftonline.com', service.origin);
    const imports = "import { azure } from 'signalbox';\nimport { readFile } from 'node:fs/promises';";
    const provider = await run([imports, ISSUE, block], upstream.baseURL, {
      'node:fs/promises': await import('node:fs/promises'),
    });
    await survives(provider, () => {
      valid = service.issued.length;
      writeFileSync(file, `assertion-${valid + 1}`);
    });
    expect(assertions).toEqual(['assertion-1', 'assertion-2', 'assertion-3']);
    await upstream[Symbol.asyncDispose]();
  });

  it('Claude on Foundry calls the Messages API below its address, with a key or with tokens', async () => {
    vi.stubEnv('FOUNDRY_KEY', 'foundry-key');
    const issuer = tokenIssuer(() => Date.now() + HOUR);
    await using upstream = await startUpstream(messagesProvider);
    const baseURL = `${upstream.baseURL.replace('/v1', '')}/anthropic`;
    const made: signalbox.Provider[] = [];
    const keep = (options: Options): void => {
      made.push(signalbox.anthropic({ ...options, baseURL }));
      const bearer = { ...options, slug: 'entra', baseURL, authorization: 'bearer', apiKey: issuer.give };
      made.push(signalbox.anthropic(bearer as never));
    };
    await run([blockWith("slug: 'foundry'")], baseURL, { signalbox: { anthropic: keep } }).catch(() => {});
    const [withKey, withTokens] = made;
    if (withKey === undefined || withTokens === undefined) throw new RangeError('no provider was made');
    const router = signalbox.createRouter({ providers: [withKey] });
    const request = { model: 'anthropic/claude-sonnet-5', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 10 };
    await router.chat(request as never);
    expect(upstream.requests[0]).toMatchObject({
      path: '/anthropic/v1/messages',
      headers: { 'x-api-key': 'foundry-key', 'anthropic-version': '2023-06-01' },
      body: { model: 'my-claude-deployment' },
    });
    upstream.handler = issuer.guard(messagesProvider);
    await survives(withTokens, () => issuer.revoke());
    expect(issuer.issued).toHaveLength(3);
    await router.close();
  });
});
