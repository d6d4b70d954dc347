import { createServer } from 'node:http';
import { apiKeys, createRouter } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { describe, expect, it } from 'vitest';
import { GOOD_END, fedProvider } from '../support/fed-provider.ts';
import { chatBody } from '../support/http-call.ts';
import { startNginx } from '../support/nginx.ts';
import { readProjectFile } from '../support/source-files.ts';

/** What docs/deployment.md sets in front of a router, in a real nginx. */

const page = readProjectFile('docs/deployment.md');
const snippet = /```nginx\n([\s\S]*?)```/.exec(page)?.[1] ?? '';

/** The directives that ingress-nginx writes for the annotations in the table, in its own order. */
function ingressDirectives(): string {
  const row = page.split('\n').find((line) => line.startsWith('| Kubernetes ingress-nginx')) ?? '';
  const annotations = Object.fromEntries(
    [...row.matchAll(/`?([a-z-]+): "?(\w+)"?/g)].map(([, name = '', value = '']) => [name, value]),
  );
  const { 'proxy-buffering': buffering, 'proxy-read-timeout': seconds, 'proxy-body-size': size } = annotations;
  return `location / {
    proxy_pass http://127.0.0.1:3000;
    proxy_http_version 1.1;
    proxy_buffering ${buffering};
    proxy_read_timeout ${seconds}s;
    client_max_body_size ${size};
  }`;
}

const KEY = 'sk-behind-a-proxy-01';
const provider = fedProvider({
  script: (fed) => (fed.call.request.stream ? fed.push('First') : fed.answer('Hi')),
});
const router = createRouter({ providers: [provider], authenticate: apiKeys([{ id: 'team', key: KEY }]) });

describe.each([
  ['the nginx block', snippet],
  ['the annotations of ingress-nginx', ingressDirectives()],
])('%s of the deployment page', (_name, locations) => {
  it('passes streams on as they come, and large bodies', async () => {
    const server = createServer(nodeRouter(router, { basePath: '/v1' })).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { readonly port: number };
    await using nginx = await startNginx(locations.replace('127.0.0.1:3000', `127.0.0.1:${port}`));
    const post = (body: object, key = KEY): Promise<Response> =>
      fetch(`${nginx.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify(body),
      });
    const streamed = await post(chatBody({ stream: true }));
    const reader = streamed.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes('First')) text += (await reader?.read())?.value ?? '';
    // The provider goes on only after its first word has come through.
    provider.calls.at(-1)?.push('Second', ...GOOD_END);
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) text += next.value;
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    // More than nginx takes by itself: the router answers.
    const large = { model: 'acme/none', messages: [{ role: 'user', content: 'word '.repeat(1_000_000) }] };
    const refused = await post(large);
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: { code: 400 } }]);
    // And it is said who calls, so that nobody passes for this machine.
    expect((await post(chatBody(), 'sk-wrong')).status).toBe(401);
    server.close();
    server.closeAllConnections();
  });

  it('waits longer than the router does, and takes as much', () => {
    const { limits, timeouts } = router.internals.config;
    const seconds = Number(/proxy_read_timeout (\d+)s/.exec(locations)?.[1]);
    expect(seconds * 1_000).toBeGreaterThan(timeouts.totalMs);
    const megabytes = Number(/client_max_body_size (\d+)m/.exec(locations)?.[1]);
    expect(megabytes * 1_048_576).toBeGreaterThanOrEqual(limits.bodyBytes);
  });
});
