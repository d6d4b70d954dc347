import { createRouter } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { GOOD_END, fedProvider } from '../support/fed-provider.ts';
import { chatBody } from '../support/http-call.ts';
import { MOUNTS, type Mounted } from '../support/mounts.ts';
import { startNginx } from '../support/nginx.ts';

describe('a stream through nginx as it is installed', () => {
  it('comes piece by piece, because its headers switch the buffer of nginx off', async () => {
    const provider = fedProvider({ script: (fed) => fed.push('First') });
    const router = createRouter({ providers: [provider], allowAnonymous: true });
    await using mount = (await MOUNTS['node']?.(router)) as Mounted;
    await using nginx = await startNginx(`location / { proxy_pass ${mount.baseURL}/; }`);
    const response = await fetch(`${nginx.url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(chatBody({ stream: true })),
    });
    expect(response.status).toBe(200);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes('First')) text += (await reader?.read())?.value ?? '';
    // The provider goes on only after its first word has come through.
    provider.calls[0]?.push('Second', ...GOOD_END);
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) text += next.value;
    expect(text).toContain('Second');
    expect(text).toContain('data: [DONE]');
  });
});
