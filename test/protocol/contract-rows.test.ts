import { createRouter } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { fedProvider } from '../support/fed-provider.ts';
import { chatBody, send } from '../support/http-call.ts';

/** Status and message of a request with these fields. */
async function ask(fields: Readonly<Record<string, unknown>>, path = '/chat/completions'): Promise<string> {
  const provider = fedProvider({ script: (fed) => fed.answer('Hi') });
  const router = createRouter({ providers: [provider], on: { warning: () => undefined } });
  const { status, json } = await send(router, {
    path,
    body: path === '/responses' ? { model: 'acme/one', ...fields } : chatBody(fields),
  });
  const error = json['error'] as { message: string } | undefined;
  return `${status} ${error?.message ?? ''}`.trim();
}

type Fields = Readonly<Record<string, unknown>>;

const user = (content: unknown): Fields => ({ messages: [{ role: 'user', content }] });
const image = (url: string): Fields => user([{ type: 'image_url', image_url: { url } }]);

describe('content without parts', () => {
  it.each(['user', 'system', 'developer'])('is refused from %s', async (role) => {
    expect(await ask({ messages: [{ role, content: [] }] })).toMatch(
      /^400 messages\[0\]\.content must have at least 1/,
    );
  });

  it('is taken from tools, which may have nothing to say, and beside calls of them', async () => {
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [], tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: [] },
    ];
    expect(await ask({ messages })).toBe('200');
  });
});

describe('usage that a provider does not report', () => {
  it.each([' ', 'a', 'Hi', 'Hello, you'])(
    'is estimated, and never none, for a prompt as short as %j',
    async (content) => {
      const provider = fedProvider({ script: (fed) => fed.answer('Hi') });
      const router = createRouter({ providers: [provider] });
      const { usage } = await router.chat({ model: 'acme/one', messages: [{ role: 'user', content }] });
      expect(usage?.prompt_tokens).toBeGreaterThan(0);
      expect(usage?.completion_tokens).toBeGreaterThan(0);
      const streaming = fedProvider({
        script: (fed) => fed.push('Hi', { type: 'finish', index: 0, reason: 'stop', native: 'stop' }, { type: 'end' }),
      });
      const streams = createRouter({ providers: [streaming] });
      const counts: unknown[] = [];
      for await (const chunk of streams.stream({ model: 'acme/one', messages: [{ role: 'user', content }] })) {
        if (chunk.usage != null) counts.push(chunk.usage.prompt_tokens, chunk.usage.completion_tokens);
      }
      expect(counts).toEqual([usage?.prompt_tokens, usage?.completion_tokens]);
    },
  );
});

describe('two efforts', () => {
  it('contradict each other when they differ', async () => {
    expect(await ask({ reasoning_effort: 'low', reasoning: { effort: 'high' } })).toBe(
      '400 reasoning_effort must not differ from reasoning.effort ("low" and "high").',
    );
    expect(await ask({ reasoning_effort: 'low', reasoning: { effort: 'low' } })).toBe('200');
  });
});

describe('a number of tokens', () => {
  it.each(['max_tokens', 'max_completion_tokens'])('may be no larger than providers can read: %s', async (name) => {
    expect(await ask({ [name]: 2_147_483_647 })).toBe('200');
    expect(await ask({ [name]: 2_147_483_648 })).toMatch(new RegExp(`^400 ${name} must be at most 2,147,483,647`));
    expect(await ask({ [name]: 1e12 })).toMatch(/^400 /);
  });
});

describe('logit_bias', () => {
  it.each(['hello', '-1', '1.5', '', ' 1', '0x1f', '12345678901'])('takes ids of tokens only, not %j', async (key) => {
    expect(await ask({ logit_bias: { 1: 0, [key]: 1 } })).toBe(
      `400 logit_bias must have ids of tokens, such as "1234" as its keys, not "${key}".`,
    );
  });

  it('takes so many pairs and no more', async () => {
    const biases = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, at) => [at, 1]));
    expect(await ask({ logit_bias: biases(1_024) })).toBe('200');
    expect(await ask({ logit_bias: biases(1_025) })).toBe('400 logit_bias must have at most 1024 pairs, not 1025.');
  });
});

describe('a data URL', () => {
  it.each([
    'data:',
    'data:image/png;base64',
    'data:image/png;base64,',
    'data:image/png;base64,!!!!',
    'data:image/png;base64,AAAA*AAA',
    'data:image/png;base64,AAAA=A',
    'data:image/png;base64,AAAA===',
    'data:image/png;base64,A',
    'DATA:image/png;BASE64,%%%',
  ])('must have data: %s', async (url) => {
    expect(await ask(image(url))).toMatch(
      /^400 messages\[0\]\.content\[0\]\.image_url\.url must be a data URL with valid base64 in it/,
    );
    expect(await ask(user([{ type: 'file', file: { file_data: url } }]))).toMatch(
      /^400 .*file_data must be a data URL/,
    );
  });

  it.each([
    'data:image/png;base64,AAAA',
    'data:image/png;base64,AA==',
    'data:image/png;base64,AA',
    'data:image/png;base64,AAAA\nAAA=',
    'data:image/png;base64,-_-_',
    'data:image/svg+xml,<svg/>',
    'https://example.com/data:',
  ])('may have any data: %s', async (url) => {
    expect(await ask(image(url))).toBe('200');
  });
});

describe('media as base64', () => {
  const INVALID = ['', '!!!!', 'A', 'AAAA*AAA', 'AAAA=A', 'data:audio/wav;base64,AAAA', 'https://example.com/a.wav'];

  it.each(INVALID)('must be that in audio: %j', async (data) => {
    expect(await ask(user([{ type: 'input_audio', input_audio: { data, format: 'wav' } }]))).toMatch(
      /^400 messages\[0\]\.content\[0\]\.input_audio\.data must /,
    );
  });

  it.each(INVALID)('must be that in bodies of other shapes, where the caller put it: %j', async (data) => {
    const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } };
    const document = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } };
    for (const block of [picture, document]) {
      expect(await ask({ max_tokens: 9, ...user([block]) }, '/messages')).toMatch(
        /^400 messages\[0\]\.content\[0\]\.source\.data must /,
      );
    }
    const audio = { type: 'input_audio', input_audio: { data, format: 'wav' } };
    expect(await ask({ input: [{ role: 'user', content: [audio] }] }, '/responses')).toMatch(
      /^400 input\[0\]\.content\[0\]\.input_audio\.data must /,
    );
  });

  it('must be that in images of earlier answers', async () => {
    const earlier = (url: string): Fields => ({
      messages: [
        { role: 'assistant', content: 'Here:', images: [{ image_url: { url } }] },
        { role: 'user', content: 'Hi' },
      ],
    });
    expect(await ask(earlier('data:image/png;base64,'))).toMatch(
      /^400 messages\[0\]\.images\[0\]\.image_url\.url must /,
    );
    expect(await ask(earlier('data:image/png;base64,AAAA'))).toBe('200');
  });

  it.each(['AAAA', 'AA==', 'AA', '-_-_', 'AAAA\nAAA='])('may be any: %j', async (data) => {
    expect(await ask(user([{ type: 'input_audio', input_audio: { data, format: 'wav' } }]))).toBe('200');
  });
});

describe('fetching of web pages', () => {
  it.each(['auto', 'native', 'router', 'openrouter'])('takes the engine %s', async (engine) => {
    expect(await ask({ tools: [{ type: 'router:web_fetch', parameters: { engine } }] })).toBe('200');
    expect(await ask({ plugins: [{ id: 'web-fetch', engine }] })).toBe('200');
  });

  it('takes no engine that there is none of', async () => {
    expect(await ask({ tools: [{ type: 'router:web_fetch', parameters: { engine: 'exa' } }] })).toMatch(
      /^400 tools\[0\]\.parameters\.engine must be one of/,
    );
  });
});
