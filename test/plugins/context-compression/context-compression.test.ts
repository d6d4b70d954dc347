import {
  type ChatRequest,
  type ContextCompressionOptions,
  type Message,
  type RouterConfig,
  contextCompression,
  createRouter,
  defaultPlugins,
  gptTokens,
  simulated,
} from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { readFileSync } from 'node:fs';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { standIn, streamed } from '../../support/plugins.ts';

const FIXTURES = readFileSync(new URL('../../fixtures/tokens/likely.txt', import.meta.url), 'utf8');

/** As many tokens by the rule of the simulated provider, four characters each, as there are really. */
const SENTENCE = 'The cat sat on the mat and the dog ran to the old red barn. ';
/** About 1,600 tokens each. */
const PARAGRAPH = SENTENCE.repeat(100);

/** A conversation of so many long messages and a question. */
function conversation(paragraphs: number): readonly Message[] {
  return [
    { role: 'system', content: 'Be brief.' },
    ...Array.from({ length: paragraphs }, (_, index): Message => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: `${index}: ${PARAGRAPH}`,
    })),
    { role: 'user', content: 'What was agreed?' },
  ];
}

/** A router with small and large models that tell how many messages they got, by model. */
function setUp(options?: ContextCompressionOptions, config: Partial<RouterConfig> = {}) {
  const environment = fakeEnvironment();
  const got: { readonly messages: readonly Message[] }[] = [];
  const router = createRouter({
    environment,
    plugins: options === undefined ? defaultPlugins() : [contextCompression(options)],
    ...config,
    providers: [
      simulated({
        slug: 'acme',
        name: 'Acme',
        environment,
        firstTokenMs: 0,
        tokensPerSecond: 0,
        models: {
          'acme/tiny': { contextLength: 4_096, price: { prompt: 1, completion: 1 } },
          'acme/small': { contextLength: 8_192, price: { prompt: 1, completion: 1 } },
          'acme/medium': { contextLength: 16_000, price: { prompt: 2, completion: 2 } },
          'acme/large': { contextLength: 100_000, price: { prompt: 5, completion: 5 } },
          'acme/artist': { contextLength: 4_096, outputModalities: ['image'] },
          'anthropic/few': { contextLength: 1_000_000 },
          'acme/unknown': {},
        },
        answer: ({ messages }) => {
          got.push({ messages });
          return 'Agreed.';
        },
      }),
    ],
  });
  const ask = (model: string, paragraphs: number, more: Partial<ChatRequest> = {}) =>
    router.chat({ model, messages: conversation(paragraphs), ...more }, { metadata: true });
  return { router, got, ask };
}

function lengthOf({ messages }: { readonly messages: readonly Message[] }): number {
  return JSON.stringify(messages).length;
}

const ASKED = { plugins: [{ id: 'context-compression' }] };
const tooLong = { status: 400, errorType: 'context_length_exceeded' };

describe('context-compression', () => {
  it('shortens prompts for small contexts without being asked, and says so', async () => {
    const { ask, got } = setUp();
    const answer = await ask('acme/small', 20);
    const [sent] = got;
    expect(sent?.messages.length).toBeLessThan(22);
    expect([sent?.messages[0]?.content, sent?.messages.at(-1)?.content]).toEqual(['Be brief.', 'What was agreed?']);
    const tokens = countTokens((sent?.messages ?? []).map(({ content }) => content as string).join('\n'));
    expect(tokens).toBeGreaterThan(3_500);
    expect(tokens).toBeLessThan(8_192);
    expect(answer.router_metadata?.pipeline).toEqual([
      {
        type: 'context_compression',
        name: 'context-compression',
        summary: expect.stringMatching(
          /^\d+ of 22 messages removed and \d+ shortened, for acme\/small at Acme$/,
        ) as string,
        data: {
          engine: 'middle-out',
          input_type: 'messages',
          original_count: 22,
          compressed_count: sent?.messages.length,
          removed_count: 22 - (sent?.messages.length ?? 0),
          shortened_count: expect.any(Number) as number,
          original_tokens: expect.any(Number) as number,
          compressed_tokens: expect.any(Number) as number,
          model: 'acme/small',
          provider: 'Acme',
        },
      },
    ]);
  });

  it('leaves short prompts, and long ones that larger contexts hold, as they are', async () => {
    const { ask, got } = setUp();
    const answer = await ask('acme/small', 2);
    const asked = await ask('acme/large', 20, ASKED);
    expect(got.map(({ messages }) => messages.length)).toEqual([4, 22]);
    expect([answer, asked].map((one) => one.router_metadata?.pipeline)).toEqual([undefined, undefined]);
  });

  it.each(['German', 'English', 'French', 'Spanish', 'Italian'])(
    'leaves alone what fits: prose that takes 65 of 100 of the context, asked and unasked (%s)',
    async (language) => {
      const paragraphs = FIXTURES.split(/^=== /m)
        .filter((block) => block.startsWith(`${language}\n`))
        .map((block) => block.slice(language.length + 1));
      let prose = '';
      // As many tokens as a vocabulary of today counts, and not as many as we guess.
      for (let at = 0; countTokens(prose) < 0.65 * 8_192; at += 1) prose += paragraphs[at % paragraphs.length];
      const { router, got } = setUp();
      for (const more of [{}, ASKED]) {
        const messages = [{ role: 'user' as const, content: prose }];
        const answer = await router.chat({ model: 'acme/small', messages, ...more }, { metadata: true });
        expect(answer.router_metadata?.pipeline).toBeUndefined();
        expect(got.at(-1)?.messages).toEqual(messages);
      }
    },
  );

  it('is for larger contexts when a request asks for it, by either name, whole and streamed', async () => {
    const { ask, got, router } = setUp();
    await expect(ask('acme/medium', 40)).rejects.toMatchObject(tooLong);
    await ask('acme/medium', 40, ASKED);
    await ask('acme/medium', 40, { transforms: ['middle-out'] });
    await ask('acme/medium', 40, { plugins: [{ id: 'context-compression', engine: 'middle-out' }] });
    const stream = await streamed(router, { model: 'acme/medium', messages: conversation(40), ...ASKED }, true);
    expect(stream.text).toBe('Agreed.');
    expect(stream.chunks.at(-1)?.router_metadata?.pipeline).toMatchObject([{ type: 'context_compression' }]);
    expect(got).toHaveLength(4);
    expect(new Set(got.map(({ messages }) => messages.length)).size).toBe(1);
  });

  it('is switched off by a request, also where it is the default', async () => {
    const { ask, got } = setUp();
    const off = { plugins: [{ id: 'context-compression', enabled: false }] };
    await expect(ask('acme/tiny', 30, off)).rejects.toMatchObject(tooLong);
    await expect(ask('acme/tiny', 30, { transforms: [] })).rejects.toMatchObject(tooLong);
    expect(got).toEqual([]);
  });

  it('is switched on for everybody, or for an account, by a default', async () => {
    const { ask } = setUp(undefined, { pluginDefaults: [{ id: 'context-compression' }] });
    await expect(ask('acme/medium', 40)).resolves.toMatchObject({ model: 'acme/medium' });
  });

  it('leaves room for the requested answer', async () => {
    const { ask, got } = setUp({});
    await ask('acme/small', 20, { max_tokens: 6_000 });
    await ask('acme/small', 20, { max_tokens: 100 });
    const [little = 0, much = 0] = got.map(lengthOf);
    expect(little).toBeLessThan(much / 2);
    await expect(ask('acme/small', 20, { max_tokens: 9_000 })).rejects.toMatchObject(tooLong);
  });

  it('counts functions and the schema of the answer as a part of the prompt', async () => {
    const { ask, got } = setUp({});
    const parameters = { type: 'object', properties: { a: { type: 'string', description: SENTENCE.repeat(200) } } };
    await ask('acme/small', 20, {
      tools: [{ type: 'function', function: { name: 'f', parameters } }],
      max_tokens: 100,
    });
    await ask('acme/small', 20, { max_tokens: 100 });
    const [beside = 0, alone = 0] = got.map(lengthOf);
    expect(beside).toBeLessThan(0.7 * alone);
  });

  it('prefers endpoints that hold the whole prompt, unless the request orders them', async () => {
    const { router } = setUp();
    const plan = await router.explain({
      model: 'acme/small',
      models: ['acme/large'],
      messages: conversation(8),
      provider: { sort: { by: 'price', partition: 'none' } },
    });
    expect(plan.plugins).toMatchObject([{ id: 'context-compression', because: 'itself' }]);
    expect(plan.steps.map(({ model, why }) => [model, why.includes('with a shortened prompt')])).toEqual([
      ['acme/large', false],
      ['acme/small', true],
    ]);
    const ordered = await router.explain({
      model: 'acme/small',
      models: ['acme/large'],
      messages: conversation(8),
      provider: { order: ['acme'], sort: { by: 'price', partition: 'none' } },
    });
    expect(ordered.steps[0]?.model).toBe('acme/small');
  });

  it('takes contexts of half the need, or else the longest that there is', async () => {
    const { router } = setUp();
    const models = ['acme/small', 'acme/medium'];
    const stepsFor = async (paragraphs: number): Promise<readonly string[]> => {
      const plan = await router.explain({ model: 'acme/tiny', models, messages: conversation(paragraphs), ...ASKED });
      return plan.steps.map((step) => step.model);
    };
    expect(await stepsFor(9)).toEqual(['acme/small', 'acme/medium']);
    expect(await stepsFor(40)).toEqual(['acme/medium']);
  });

  it('says the same in explain as it does', async () => {
    const { router, got } = setUp();
    for (const paragraphs of [1, 4, 7, 12, 30]) {
      const request = { model: 'acme/small', messages: conversation(paragraphs) };
      const plan = await router.explain(request);
      const { model } = await router.chat(request);
      expect([plan.steps[0]?.model, plan.steps[0]?.why.includes('shortened')]).toEqual([
        model,
        (got.at(-1)?.messages.length ?? 0) < paragraphs + 2 || JSON.stringify(got.at(-1)?.messages).includes('[…]'),
      ]);
    }
  });

  it('leaves alone what only draws, what has no known context, and what cannot be made to fit', async () => {
    const { ask, got } = setUp();
    await expect(ask('acme/artist', 30, { modalities: ['image'], ...ASKED })).rejects.toMatchObject(tooLong);
    await ask('acme/unknown', 30, ASKED);
    expect(got[0]?.messages).toHaveLength(32);
    const instructions: Message = { role: 'system', content: PARAGRAPH.repeat(30) };
    const messages = [instructions, { role: 'user' as const, content: 'Hi' }];
    await expect(ask('acme/small', 0, { messages })).rejects.toMatchObject(tooLong);
    await expect(ask('acme/small', 0, { messages, ...ASKED })).rejects.toMatchObject(tooLong);
  });

  it('shortens documents in a system prompt, in one question and in the result of a tool by relevance', async () => {
    const { ask, got } = setUp();
    const fact = 'The lighthouse of Harwick was painted in 1931.';
    const question = 'When was the lighthouse of Harwick painted?';
    const paragraphs = Array.from({ length: 30 }, (_, index) => `${index}. ${PARAGRAPH}`);
    const documents = [...paragraphs.slice(0, 14), fact, ...paragraphs.slice(14)].join('\n\n');
    const calls = [{ id: 'call_1', type: 'function' as const, function: { name: 'search', arguments: '{}' } }];
    const prompts: readonly (readonly Message[])[] = [
      [
        { role: 'system', content: documents },
        { role: 'user', content: question },
      ],
      [{ role: 'user', content: `${documents}\n\n${question}` }],
      [
        { role: 'user', content: question },
        { role: 'assistant', content: null, tool_calls: calls },
        { role: 'tool', tool_call_id: 'call_1', content: documents },
      ],
    ];
    for (const messages of prompts) {
      await ask('acme/small', 0, { messages, plugins: [{ id: 'context-compression', engine: 'relevant' }] });
      const sent = got.at(-1)?.messages ?? [];
      expect(sent).toHaveLength(messages.length);
      const text = sent.map(({ content }) => content as string).join('\n');
      expect(text).toContain(fact);
      expect(text).toContain(question);
      expect(countTokens(text)).toBeLessThan(8_192);
    }
  });

  it('keeps to the number of messages that a provider takes', async () => {
    const { router, got } = setUp();
    const messages = Array.from({ length: 1_401 }, (_, index): Message => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: `${index}`,
    }));
    await router.chat({ model: 'anthropic/few', messages, ...ASKED });
    await router.chat({ model: 'anthropic/few', messages });
    expect(got.map((one) => one.messages.length)).toEqual([
      expect.toSatisfy((count) => count >= 998 && count <= 1_000),
      1_401,
    ]);
    const strict = setUp({ maxMessages: () => 10 });
    await strict.ask('acme/large', 20, ASKED);
    expect(strict.got[0]?.messages.length).toBeLessThanOrEqual(10);
  });

  it('shortens for each endpoint anew when one fails', async () => {
    const environment = fakeEnvironment();
    const router = createRouter({
      environment,
      providers: [
        simulated({
          slug: 'acme',
          environment,
          firstTokenMs: 0,
          tokensPerSecond: 0,
          models: { 'acme/tiny': { contextLength: 6_000 }, 'acme/small': { contextLength: 8_000 } },
          failures: [{ kind: 'quota' }],
        }),
      ],
    });
    const request = { model: 'acme/tiny', models: ['acme/small'], messages: conversation(7) } as const;
    const asked = router.chat(request, { metadata: true });
    await environment.advance(60_000);
    const { router_metadata: metadata } = await asked;
    const stages = metadata?.pipeline?.map((stage) => stage.data) ?? [];
    expect(stages.map((data) => data?.['model'])).toEqual(['acme/tiny', 'acme/small']);
    expect(stages[0]?.['compressed_tokens']).toBeLessThan(Number(stages[1]?.['compressed_tokens']));
  });

  it('counts exactly when it is given a counter', async () => {
    const estimated = setUp({});
    const exact = setUp({ countTokens: gptTokens(), tokenFactor: () => 1 });
    await estimated.ask('acme/small', 20);
    await exact.ask('acme/small', 20);
    const tokens = [estimated, exact].map(({ got }) =>
      countTokens((got[0]?.messages ?? []).map(({ content }) => content as string).join('\n')),
    );
    // Both use the room that a quarter of the context is kept free of; the estimate may only be a little over.
    for (const used of tokens) expect(used).toBeGreaterThanOrEqual(0.97 * (8_192 - 2_048));
    expect(tokens[0]).toBeLessThanOrEqual(1.1 * (8_192 - 2_048));
    expect(tokens[1]).toBeLessThanOrEqual(8_192 - 2_048);
    // A prompt that only the estimate finds too long is left alone.
    await estimated.ask('acme/tiny', 2, { max_tokens: 900 });
    await exact.ask('acme/tiny', 2, { max_tokens: 900 });
    expect(exact.got[1]?.messages[1]).toEqual(conversation(2)[1]);
  });

  it('goes on without a counter that fails, or does not, as its program says', async () => {
    const broken = (): never => {
      throw new Error('no vocabulary');
    };
    // The simulated provider finds the prompt too long by itself then.
    const skips = setUp({ countTokens: broken });
    await expect(skips.ask('acme/small', 30)).rejects.toMatchObject(tooLong);
    const fails = setUp({ countTokens: broken, whenItThrows: 'fail' });
    await expect(fails.ask('acme/small', 30)).rejects.toMatchObject({ status: 502 });
  });

  it('refuses other engines with a message that names the right one', async () => {
    const { ask } = setUp();
    await expect(
      ask('acme/small', 1, { plugins: [{ id: 'context-compression', engine: 'summary' }] }),
    ).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(/plugins\[0\]\.engine.*middle-out/) as string,
    });
  });

  it('sees what other plugins add to a prompt', async () => {
    const adding = {
      ...standIn('adding'),
      onRequest: ({ messages }: { readonly messages: readonly Message[] }) => ({
        type: 'continue' as const,
        change: { messages: [...conversation(30).slice(1, -1), ...messages] },
      }),
    };
    const { router, got } = setUp(undefined, { plugins: [adding, contextCompression()] });
    await router.chat({
      model: 'acme/small',
      messages: [{ role: 'user', content: 'Hi' }],
      plugins: [{ id: 'adding' }],
    });
    expect(got[0]?.messages.length).toBeLessThan(31);
    expect(got[0]?.messages.at(-1)?.content).toBe('Hi');
  });
});

describe('gptTokens', () => {
  it('counts like the vocabulary, also what looks like a control token', async () => {
    const count = await gptTokens()();
    const options = { disallowedSpecial: new Set<string>() };
    for (const text of [PARAGRAPH, '<|endoftext|> is text', 'Grüße aus Wien 👋', '']) {
      expect(count(text)).toBe(countTokens(text, options));
    }
    expect((await gptTokens('cl100k_base')())('清晨的菜市场')).toBeGreaterThan(count('清晨的菜市场'));
  });

  it('takes texts without a space in pieces, so that time does not grow with the square', async () => {
    const count = await gptTokens()();
    const before = process.cpuUsage();
    expect(count('ab'.repeat(100_000))).toBeGreaterThanOrEqual(50_000);
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_000);
  });
});
