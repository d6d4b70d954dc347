import { describe, expect, it } from 'vitest';
import {
  type HandMade,
  type Part,
  answerOf,
  askModel,
  finishOf,
  handMade,
  helloParts,
  usageOf,
  wholeOf,
} from '../../support/ai-sdk-models.ts';

const VERSIONS = ['v2', 'v3', 'v4'] as const;
type Version = (typeof VERSIONS)[number];

/** A model that says these parts: as they are in a stream, and joined in a whole answer. */
function saying(version: Version, parts: readonly Part[], end: object = {}, made: HandMade = {}): HandMade {
  const finish = { finishReason: finishOf(version, 'stop'), usage: usageOf(version), ...end };
  return {
    version,
    ...made,
    parts: [{ type: 'stream-start', warnings: [] }, ...parts, { type: 'finish', ...finish }],
    answer: { ...wholeOf(version, joined(parts)), ...finish },
  };
}

/** Blocks of a stream, as whole content. */
function joined(parts: readonly Part[]): readonly Part[] {
  const blocks = new Map<unknown, Part>();
  for (const part of parts) {
    const [kind = '', step] = /^(text|reasoning)-(start|delta|end)$/.exec(part.type)?.slice(1) ?? [];
    if (step === undefined) {
      if (!part.type.startsWith('tool-input')) blocks.set(part, part);
      continue;
    }
    const known = blocks.get(`${kind}${String(part['id'])}`) ?? { type: kind, text: '' };
    const { id: _id, type: _type, delta = '', ...more } = part;
    blocks.set(`${kind}${String(part['id'])}`, { ...known, ...more, text: `${String(known['text'])}${String(delta)}` });
  }
  return [...blocks.values()];
}

function text(...deltas: readonly string[]): readonly Part[] {
  return [
    { type: 'text-start', id: 't' },
    ...deltas.map((delta) => ({ type: 'text-delta', id: 't', delta })),
    { type: 'text-end', id: 't' },
  ];
}

const LOOK = { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: '{"at":"map"}' };

describe.each(VERSIONS)('an answer of version %s', (version) => {
  it('says its text, why it ended and what it used', async () => {
    const { choice, usage, result } = await answerOf(handMade(saying(version, text('Grüße', ' 🚦', '\n"a\\b"'))));
    expect(choice).toMatchObject({
      finish_reason: 'stop',
      native_finish_reason: 'stop',
      message: { content: 'Grüße 🚦\n"a\\b"' },
    });
    expect(usage).toMatchObject({
      prompt_tokens: version === 'v2' ? 32 : 20,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens: 12 },
      completion_tokens_details: { reasoning_tokens: 3 },
    });
    expect(result.choices).toHaveLength(1);
  });

  it('says the same with a call that was streamed, and one that was not', async () => {
    const parts = [
      { type: 'tool-input-start', id: 'c1', toolName: 'look' },
      { type: 'tool-input-delta', id: 'c1', delta: '{"at":' },
      { type: 'tool-input-delta', id: 'c1', delta: '"map"}' },
      { type: 'tool-input-end', id: 'c1' },
      LOOK,
      { ...LOOK, toolCallId: 'c2', toolName: 'ring', input: '' },
    ];
    const { choice } = await answerOf(
      handMade(saying(version, parts, { finishReason: finishOf(version, 'tool-calls') })),
    );
    expect(choice).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        content: null,
        tool_calls: [
          { id: 'c1', index: 0, function: { name: 'look', arguments: '{"at":"map"}' } },
          { id: 'c2', index: 1, function: { name: 'ring', arguments: '{}' } },
        ],
      },
    });
  });

  it('has images, sounds and citations', async () => {
    const data = (base64: string): unknown => (version === 'v4' ? { type: 'data', data: base64 } : base64);
    const bytes = version === 'v4' ? { type: 'data', data: Uint8Array.of(1, 2) } : Uint8Array.of(1, 2);
    const parts = [
      ...text('See'),
      { type: 'source', sourceType: 'url', id: 's1', url: 'https://a.example', title: 'A' },
      { type: 'source', sourceType: 'document', id: 's2', mediaType: 'application/pdf', title: 'B' },
      { type: 'file', mediaType: 'image/png', data: data('iVBO') },
      { type: 'file', mediaType: 'image/jpeg', data: bytes },
      { type: 'file', mediaType: 'audio/wav', data: data('UklG') },
      { type: 'file', mediaType: 'application/zip', data: data('UEsD') },
    ];
    const { choice } = await answerOf(handMade(saying(version, parts)));
    expect(choice?.message).toMatchObject({
      content: 'See',
      annotations: [{ type: 'url_citation', url_citation: { url: 'https://a.example', title: 'A' } }],
      images: [
        { image_url: { url: 'data:image/png;base64,iVBO' } },
        { image_url: { url: 'data:image/jpeg;base64,AQI=' } },
      ],
      audio: { data: 'UklG' },
    });
  });

  it('leaves out tools that the provider runs itself, and what it does not know', async () => {
    const parts = [
      { type: 'tool-input-start', id: 's1', toolName: 'web_search', providerExecuted: true },
      { type: 'tool-input-delta', id: 's1', delta: '{"query":"a"}' },
      { type: 'tool-input-end', id: 's1' },
      { ...LOOK, toolCallId: 's1', toolName: 'web_search', providerExecuted: true },
      { type: 'tool-result', toolCallId: 's1', toolName: 'web_search', result: {} },
      { type: 'raw', rawValue: { secret: 1 } },
      { type: 'custom', kind: 'a.b' },
      { type: 'from-the-future', delta: 'x' },
      ...text('Found.'),
    ];
    const { choice } = await answerOf(
      handMade(saying(version, parts, { finishReason: finishOf(version, 'tool-calls') })),
    );
    expect(choice).toMatchObject({ finish_reason: 'stop', message: { content: 'Found.' } });
    expect(choice?.message).not.toHaveProperty('tool_calls');
  });

  it.each([
    ['length', 'length'],
    ['content-filter', 'content_filter'],
    ['tool-calls', 'stop'],
    ['stop', 'stop'],
  ])('that ended with %s ends with %s', async (unified, reason) => {
    const { choice } = await answerOf(
      handMade(saying(version, text('Hi'), { finishReason: finishOf(version, unified, 'native') })),
    );
    expect(choice).toMatchObject({
      finish_reason: reason,
      native_finish_reason: version === 'v2' ? unified : 'native',
    });
  });

  it('that ended with an error is a failure, with or without content', async () => {
    for (const parts of [[], text('Hi')]) {
      const made = handMade(saying(version, parts, { finishReason: finishOf(version, 'error') }));
      expect((await askModel(made)).failure?.kind).toBe('server');
      const streamed = await askModel(made, {}, { stream: true });
      expect(streamed.pieces.at(-2)).toMatchObject({ type: 'finish', reason: 'error' });
    }
  });
});

describe('the end of an answer', () => {
  it('that the interface has no word for is the one that the provider names', async () => {
    const made = saying('v4', text('Hi'), { finishReason: { unified: 'other', raw: 'content_filter' } });
    expect((await answerOf(handMade(made))).choice?.finish_reason).toBe('content_filter');
    const odd = saying('v4', text('Hi'), { finishReason: { unified: 'other', raw: 'tired' } });
    expect((await answerOf(handMade(odd))).choice).toMatchObject({
      finish_reason: 'stop',
      native_finish_reason: 'tired',
    });
  });

  it('that nobody named is no good end of a stream', async () => {
    for (const unified of ['other', 'interrupted']) {
      const made = saying('v4', text('Hi'), { finishReason: { unified, raw: undefined } });
      const { failure, pieces } = await askModel(handMade(made), {}, { stream: true });
      expect(failure).toMatchObject({ kind: 'bad_response' });
      expect(pieces.some((piece) => typeof piece !== 'string' && piece.type === 'finish')).toBe(false);
    }
    const unknown = saying('v2', text('Hi'), { finishReason: 'unknown' });
    expect((await answerOf(handMade(unknown))).choice?.finish_reason).toBe('stop');
  });

  it('without any content is a failure unless somebody named it', async () => {
    for (const finishReason of ['unknown', { unified: 'other', raw: 'tired' }]) {
      const { choice, failure } = await askModel(handMade(saying('v4', [], { finishReason })));
      expect([choice, failure?.kind]).toEqual([undefined, 'server']);
    }
  });

  it('that never came leaves the stream open', async () => {
    const parts = helloParts('v4').slice(0, -1);
    const { pieces } = await askModel(handMade({ parts }), {}, { stream: true });
    expect(pieces.filter((piece) => typeof piece !== 'string' && ['finish', 'end'].includes(piece.type))).toEqual([]);
  });

  it('may come twice: the last usage counts', async () => {
    const usage = { inputTokens: { total: 30 }, outputTokens: { total: 9 } };
    const parts = [...helloParts('v4'), { type: 'finish', finishReason: finishOf('v4', 'stop'), usage }];
    expect((await askModel(handMade({ parts }), {}, { stream: true })).usage).toMatchObject({ total_tokens: 39 });
    const cut = { type: 'finish', finishReason: { unified: 'interrupted' }, usage };
    const broken = await askModel(handMade({ parts: [...helloParts('v4'), cut] }), {}, { stream: true });
    expect(broken.failure?.kind).toBe('bad_response');
  });
});

const LOOK_TOOL = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } };

describe('a tool call', () => {
  it('gets what was not streamed of its input, and an id if it has none', async () => {
    const parts = [
      { type: 'tool-input-start', id: 'c1', toolName: 'look' },
      { type: 'tool-input-delta', id: 'c1', delta: '{"at"' },
      { ...LOOK, input: '{"at":"map"}' },
      { ...LOOK, input: '{"at":"map"}' },
      { ...LOOK, toolCallId: undefined, toolName: 'ring', input: '{}' },
    ];
    const { choice, pieces } = await askModel(handMade(saying('v4', parts)), { tools: [LOOK_TOOL] }, { stream: true });
    expect(choice?.message.tool_calls).toMatchObject([
      { id: 'c1', function: { arguments: '{"at":"map"}' } },
      { id: expect.stringMatching(/^call_.+_0_1$/), function: { name: 'ring', arguments: '{}' } },
    ]);
    expect(pieces.filter((piece) => typeof piece !== 'string' && piece.type === 'delta')).toHaveLength(4);
  });

  it('keeps pieces of parallel calls apart', async () => {
    const parts = [
      { type: 'tool-input-start', id: 'a', toolName: 'look' },
      { type: 'tool-input-start', id: 'b', toolName: 'look' },
      { type: 'tool-input-delta', id: 'b', delta: '{"n":' },
      { type: 'tool-input-delta', id: 'a', delta: '{"m":' },
      { type: 'tool-input-delta', id: 'b', delta: '2}' },
      { type: 'tool-input-delta', id: 'a', delta: '1}' },
    ];
    const { choice } = await askModel(handMade(saying('v4', parts)), {}, { stream: true });
    expect(choice?.message.tool_calls?.map((call) => call.function.arguments)).toEqual(['{"m":1}', '{"n":2}']);
  });

  it('whose input is no JSON is wrapped into some', async () => {
    const parts = [
      { type: 'tool-input-start', id: 'c1', toolName: 'look', inputEncoding: 'text' },
      { type: 'tool-input-delta', id: 'c1', delta: 'SELECT' },
      { ...LOOK, input: JSON.stringify('SELECT "1"') },
    ];
    const wrapped = JSON.stringify({ input: 'SELECT "1"' });
    for (const said of [parts, parts.slice(2)]) {
      for (const stream of [true, false]) {
        const { choice } = await askModel(handMade(saying('v4', said)), {}, { stream });
        expect(choice?.message.tool_calls?.[0]?.function.arguments).toBe(wrapped);
      }
    }
    const unfinished = await askModel(handMade(saying('v4', parts.slice(0, 2))), {}, { stream: true });
    expect(unfinished.choice?.message.tool_calls?.[0]?.function.arguments).toBe('{"input":"SELECT"}');
    const raw = [...parts.slice(0, 2), { ...LOOK, input: 'SELECT 1' }];
    const { choice } = await askModel(handMade(saying('v4', raw)), {}, { stream: true });
    expect(choice?.message.tool_calls?.[0]?.function.arguments).toBe('{"input":"SELECT 1"}');
  });

  it('that the provider ran itself is not the caller’s, also where only its whole says so', async () => {
    const parts = [
      { type: 'tool-input-start', id: 's1', toolName: 'x_search' },
      { type: 'tool-input-delta', id: 's1', delta: '{"q":1}' },
      { ...LOOK, toolCallId: 's1', toolName: 'x_search', input: '{"q":1}', providerExecuted: true },
      { type: 'tool-input-start', id: 'c1', toolName: 'look' },
      { type: 'tool-input-delta', id: 'c1', delta: '{}' },
    ];
    const { choice, pieces } = await askModel(handMade(saying('v4', parts)), { tools: [LOOK_TOOL] }, { stream: true });
    expect(choice?.message.tool_calls?.map(({ id }) => id)).toEqual(['c1']);
    expect(JSON.stringify(pieces)).not.toContain('x_search');
  });

  it('too many are an impossible answer', async () => {
    const parts = Array.from({ length: 1_100 }, (_, index) => ({ ...LOOK, toolCallId: `c${index}` }));
    const { failure } = await askModel(handMade(saying('v4', parts)), {}, { stream: true });
    expect(failure).toMatchObject({ kind: 'bad_response', message: expect.stringContaining('tool calls') });
  });
});

describe('citations', () => {
  it('count from the beginning of the whole answer', async () => {
    const source = { type: 'source', sourceType: 'url', id: 's', url: 'https://a.example' };
    const citations = [
      { source, startIndex: 1, endIndex: 3, citedText: 'so it is' },
      { source: { sourceType: 'document' } },
    ];
    const parts = [
      ...text('12345'),
      { type: 'text-start', id: 'u' },
      { type: 'text-delta', id: 'u', delta: 'abc' },
      { type: 'text-end', id: 'u', citations },
    ];
    const { choice } = await answerOf(handMade(saying('v4', parts)));
    expect(choice?.message.annotations).toEqual([
      {
        type: 'url_citation',
        url_citation: { url: 'https://a.example', content: 'so it is', start_index: 6, end_index: 8 },
      },
    ]);
  });
});

describe('usage', () => {
  /** What is reported for usage in an answer. */
  async function usageFor(usage: unknown, made: HandMade = {}, providerMetadata?: unknown): Promise<unknown> {
    const version = made.version ?? 'v4';
    return (await answerOf(handMade(saying(version, text('Hi'), { usage, providerMetadata }, made)))).usage;
  }

  it('is what was counted, and nothing that was not', async () => {
    const none = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
    expect(await usageFor({ inputTokens: none, outputTokens: { total: undefined } })).toBeUndefined();
    expect(await usageFor({ inputTokens: undefined, outputTokens: undefined }, { version: 'v2' })).toBeUndefined();
    expect(await usageFor({ inputTokens: { total: 5 }, outputTokens: { total: 0 } })).toEqual({
      prompt_tokens: 5,
      completion_tokens: 0,
      total_tokens: 5,
    });
    expect(
      await usageFor({ inputTokens: { noCache: 5, cacheRead: 2, cacheWrite: 3 }, outputTokens: { text: 4 } }),
    ).toEqual({
      prompt_tokens: 10,
      completion_tokens: 4,
      total_tokens: 14,
      prompt_tokens_details: { cached_tokens: 2, cache_write_tokens: 3 },
    });
  });

  it('takes no nonsense for counts', async () => {
    for (const bad of [-1, Number.NaN, Infinity, '7', null, {}]) {
      expect(await usageFor({ inputTokens: { total: bad }, outputTokens: { total: bad } })).toBeUndefined();
    }
    expect(await usageFor('nothing')).toBeUndefined();
  });

  it('counts reasoning once, also where version 2 counted it beside the output', async () => {
    const google = { version: 'v2', provider: 'google.generative-ai' } as const;
    const beside = { inputTokens: 10, outputTokens: 4, reasoningTokens: 6, totalTokens: 20 };
    expect(await usageFor(beside, google)).toMatchObject({
      completion_tokens: 10,
      total_tokens: 20,
      completion_tokens_details: { reasoning_tokens: 6 },
    });
    const inside = { inputTokens: 10, outputTokens: 10, reasoningTokens: 6, totalTokens: 20 };
    expect(await usageFor(inside, { version: 'v2', provider: 'openai.chat' })).toMatchObject({ completion_tokens: 10 });
  });

  it('counts cached tokens as part of the prompt, also where version 2 did not', async () => {
    const usage = { inputTokens: 5, outputTokens: 1, totalTokens: 6, cachedInputTokens: 100 };
    const written = { anthropic: { cacheCreationInputTokens: 20 } };
    expect(await usageFor(usage, { version: 'v2' }, written)).toMatchObject({
      prompt_tokens: 125,
      prompt_tokens_details: { cached_tokens: 100, cache_write_tokens: 20 },
    });
    const bedrock = { bedrock: { usage: { cacheWriteInputTokens: 30 } } };
    expect(await usageFor(usage, { version: 'v2', provider: 'amazon-bedrock' }, bedrock)).toMatchObject({
      prompt_tokens: 135,
    });
    const openai = { ...usage, inputTokens: 105 };
    expect(await usageFor(openai, { version: 'v2', provider: 'openai.chat' })).toMatchObject({ prompt_tokens: 105 });
  });

  it("adds what only the provider's own report says", async () => {
    const raw = {
      cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4, other: 'x' },
      server_tool_use: { web_search_requests: 2 },
      prompt_tokens_details: { audio_tokens: 5, cached_tokens: 999 },
      completion_tokens_details: { accepted_prediction_tokens: 6 },
      cost: 0.25,
    };
    expect(await usageFor({ inputTokens: { total: 9 }, outputTokens: { total: 8 }, raw })).toEqual({
      prompt_tokens: 9,
      completion_tokens: 8,
      total_tokens: 17,
      prompt_tokens_details: { audio_tokens: 5 },
      completion_tokens_details: { accepted_prediction_tokens: 6 },
      cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 },
      server_tool_use: { web_search_requests: 2 },
      reportedCost: 0.25,
    });
  });
});

describe('facts about an answer', () => {
  it('are its id and the tier that served it', async () => {
    const providerMetadata = { anthropic: { serviceTier: 'priority' } };
    const made = saying('v4', [{ type: 'response-metadata', id: 'msg_1' }, ...text('Hi')], { providerMetadata });
    const answer = { ...(made.answer as object), response: { id: 'msg_1', timestamp: new Date(0) } };
    const { result } = await answerOf(handMade({ ...made, answer }));
    expect(result).toMatchObject({ upstreamId: 'msg_1', serviceTier: 'priority' });
  });
});

describe('an answer that makes no sense', () => {
  it.each([undefined, null, 7, 'text', [], {}, { content: 7 }, { content: null }, { stream: 7 }, { stream: {} }])(
    'is a failure: %j',
    async (answer) => {
      const model = handMade({ answer });
      const odd = { ...model, doGenerate: () => Promise.resolve(answer), doStream: () => Promise.resolve(answer) };
      for (const stream of [false, true]) {
        expect((await askModel(odd, {}, { stream })).failure).toMatchObject({ kind: 'bad_response' });
      }
    },
  );

  it('may hold parts that are none', async () => {
    const parts = [null, 7, 'x', [], {}, { type: 7 }] as unknown as readonly Part[];
    const { choice } = await askModel(handMade({ parts: [...parts, ...helloParts('v4')] }), {}, { stream: true });
    expect(choice?.message.content).toBe('Hello');
  });
});
