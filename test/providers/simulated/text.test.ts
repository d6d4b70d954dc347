import * as fc from 'fast-check';
import type { ChatRequest } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { ask, hear, hearBoth, hearStream, instantRouter } from '../../support/simulated.ts';

const IMAGE = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } } as const;
const FILE = { type: 'file', file: { file_data: 'data:text/plain;base64,YQ==' } } as const;

describe('the text of a simulated answer', () => {
  it('is the same for the same seed and messages, whole and streamed', async () => {
    const request = ask('How do tides and the moon hang together?');
    const first = await hearBoth(request);
    expect(await hearBoth(request)).toEqual(first);
    expect(first).toMatchObject({ finish: 'stop', fingerprint: 'simulated', calls: [], reasoning: '' });
  });

  it('is the same however often a provider is asked', async () => {
    const router = instantRouter();
    const { text } = await hear(router, ask('Once more about lighthouses'));
    expect((await hearStream(router, ask('Once more about lighthouses'))).text).toBe(text);
  });

  it('changes with the seed of the provider, the seed of the request, the model and the messages', async () => {
    const question = 'How are bridges built?';
    const texts = await Promise.all([
      hearBoth(ask(question)),
      hearBoth(ask(question), { seed: 2 }),
      hearBoth(ask(question, { seed: 7 })),
      hearBoth(ask(question, { model: 'simulated/large' })),
      hearBoth(ask(`${question} `)),
    ]);
    expect(new Set(texts.map(({ text }) => text)).size).toBe(5);
  });

  it('takes up the words of the last user message and says once that it is simulated', async () => {
    const messages = [
      { role: 'user', content: 'Tell me about glaciers' },
      { role: 'assistant', content: 'They move.' },
      { role: 'user', content: 'And simulated volcanoes in Iceland?' },
    ] as const;
    const { text } = await hearBoth({ model: 'simulated/small', messages });
    expect(text).toMatch(/volcanoes/);
    expect(text).toMatch(/Iceland/);
    expect(text).not.toMatch(/glaciers/);
    expect(text.match(/simulat/gi)).toHaveLength(1);
  });

  it('is longer for a longer question, and longer or shorter by verbosity', async () => {
    const long = `Compare sailing ships with steamers ${'in every detail that matters '.repeat(40)}`;
    const lengthOf = async (request: ChatRequest): Promise<number> =>
      (await hearBoth({ ...request, model: 'simulated/large' })).text.length;
    expect(await lengthOf(ask(long))).toBeGreaterThan(2 * (await lengthOf(ask('Compare ships'))));
    const usual = await lengthOf(ask('Compare sailing ships with steamers'));
    expect(await lengthOf(ask('Compare sailing ships with steamers', { verbosity: 'low' }))).toBeLessThan(usual);
    expect(await lengthOf(ask('Compare sailing ships with steamers', { verbosity: 'max' }))).toBeGreaterThan(usual);
  });

  it('tells which attachments came with the conversation', async () => {
    const content = [{ type: 'text', text: 'What is this?' }, IMAGE, IMAGE, FILE] as const;
    const { text } = await hearBoth({ model: 'simulated/large', messages: [{ role: 'user', content }] });
    expect(text).toContain('I have seen 2 images and 1 file in this conversation.');
  });

  it('sums up the last result of a tool', async () => {
    const call = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{}' } }) as const;
    const conversation = (...results: readonly string[]): ChatRequest => ({
      model: 'simulated/small',
      messages: [
        { role: 'user', content: 'How is the weather in Rome?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [call('a', 'get_weather'), call('b', 'get_tides')].slice(0, results.length),
        },
        ...results.map((content, index) => ({ role: 'tool', tool_call_id: index === 0 ? 'a' : 'b', content }) as const),
      ],
    });
    const one = await hearBoth(conversation('{"temperature":21,"sky":"clear"}'));
    expect(one.text).toContain('The result of get_weather is in: temperature is 21 and sky is clear.');
    const two = await hearBoth(conversation('{}', '["high at noon","low at six"]'));
    expect(two.text).toContain('There are 2 results. The last one, from get_tides, says: a list of 2, of which');
    expect((await hearBoth(conversation('Sunny. Warm.'))).text).toContain('get_weather is in: Sunny. Warm.');
    expect((await hearBoth(conversation('[]'))).text).toContain('get_weather is in: an empty list.');
    const rich = await hearBoth(
      conversation(JSON.stringify({ a: [1, 2], b: 'x'.repeat(500), c: 1, d: 2, e: 3, f: 4 })),
    );
    expect(rich.text).toContain(`a is a list of 2, b is ${'x'.repeat(160)}…, c is 1, d is 2 and 2 more.`);
  });

  it('is the same whole and streamed whatever was asked', async () => {
    const anything = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 });
    const router = instantRouter();
    await fc.assert(
      fc.asyncProperty(anything, fc.integer(), async (question, seed) => {
        const { text, finish, usage } = await hear(router, ask(question, { seed }));
        const streamed = await hearStream(router, ask(question, { seed }));
        expect(streamed).toMatchObject({ text, finish });
        expect(streamed.usage?.completion_tokens).toBe(usage?.completion_tokens);
        expect(text).toContain('This answer is simulated');
      }),
    );
  });
});

describe('the limits of a simulated answer', () => {
  it('ends it after the most tokens that are allowed', async () => {
    const { text: full } = await hearBoth(ask('How do bees find home?'));
    const cut = await hearBoth(ask('How do bees find home?', { max_completion_tokens: 12 }));
    expect(cut.finish).toBe('length');
    expect(cut.usage?.completion_tokens).toBe(12);
    expect(full.startsWith(cut.text)).toBe(true);
    expect(cut.text.length).toBeLessThan(full.length);
  });

  it('takes the limits of the endpoint into account', async () => {
    const models = { 'acme/short': { maxOutputTokens: 5 }, 'acme/tight': { contextLength: 14 } };
    const short = await hearBoth(ask('How do bees find home?', { model: 'acme/short' }), { models });
    expect(short).toMatchObject({ finish: 'length', usage: { completion_tokens: 5 } });
    const tight = await hearBoth(ask('How do bees find home?', { model: 'acme/tight' }), { models });
    expect(tight.usage?.total_tokens).toBe(14);
    const router = instantRouter({ models });
    const tooLong = ask('How do bees find home? '.repeat(4), { model: 'acme/tight' });
    await expect(router.chat(tooLong)).rejects.toMatchObject({ status: 400, errorType: 'context_length_exceeded' });
  });

  it('ends it in front of the first stop sequence', async () => {
    const { text: full } = await hearBoth(ask('How do bees find home?'));
    const cut = await hearBoth(ask('How do bees find home?', { stop: ['fact.', ' simulated'] }));
    expect(cut).toMatchObject({ finish: 'stop', text: full.slice(0, full.indexOf(' simulated')) });
  });

  it('leaves out what the endpoint does not take, as a real one would not see it', async () => {
    const models = { 'acme/plain': { parameters: ['temperature'] } } as const;
    const plain = ask('How do bees find home?', { model: 'acme/plain', stop: 'a', max_completion_tokens: 1 });
    const { text } = await hearBoth(plain, { models });
    expect(text).toContain('This answer is simulated');
  });
});

describe('a scripted answer', () => {
  it('replaces the text, the reasoning and the calls, and leaves the rest of the requests alone', async () => {
    const answer = ({ messages }: { messages: readonly { content?: unknown }[] }) => {
      if (messages[0]?.content === 'text') return 'Just this.';
      if (messages[0]?.content !== 'calls') return undefined;
      return { reasoning: 'Hm.', toolCalls: [{ name: 'look', arguments: { at: 'it' }, id: 'call_1' }, { name: 'go' }] };
    };
    expect((await hearBoth(ask('text'), { answer })).text).toBe('Just this.');
    expect((await hearBoth(ask('neither'), { answer })).text).toContain('This answer is simulated');
    const { reasoning, calls, finish } = await hearBoth(ask('calls'), { answer });
    expect({ reasoning, finish }).toEqual({ reasoning: 'Hm.', finish: 'tool_calls' });
    expect(calls).toEqual([
      { id: 'call_1', name: 'look', arguments: '{"at":"it"}' },
      { id: expect.stringMatching(/^call_[a-z0-9]{24}$/), name: 'go', arguments: '{}' },
    ]);
  });

  it('keeps to the limits of the request', async () => {
    const request = ask('anything', { stop: 'four', max_completion_tokens: 2 });
    const { text, finish } = await hearBoth(request, { answer: () => 'one two three four' });
    expect({ text, finish }).toEqual({ text: 'one two', finish: 'length' });
  });

  it('that throws is a failure of the provider,', async () => {
    const failing = instantRouter({
      answer: () => {
        throw new Error('no answer');
      },
    });
    await expect(failing.chat(ask('anything'))).rejects.toMatchObject({ status: 502 });
  });
});
