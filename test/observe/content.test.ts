import { afterEach, describe, expect, it, vi } from 'vitest';
import { type ContentEvent, createRouter, openaiCompatible, type WarningEvent } from 'signalbox';
import { type OpenTelemetryOptions, openTelemetry } from 'signalbox/opentelemetry';
import { ANSWER, END_USER, OBSERVED_KEY, PROMPT, asking, post, startObservedCell } from '../support/observed-cell.ts';
import { hello, pluginBench, streamed } from '../support/plugins.ts';
import { everythingIn, startTelemetry } from '../support/telemetry.ts';
import { LOOK_UP, call, echoTool, turns } from '../support/tools.ts';
import { answerWith, sendJson, startUpstream } from '../support/upstream.ts';

const VARIABLE = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT';
const ATTRIBUTES = ['gen_ai.system_instructions', 'gen_ai.input.messages', 'gen_ai.tool.definitions'] as const;
const OUTPUT = 'gen_ai.output.messages';

afterEach(() => vi.unstubAllEnvs());

/** What a span holds of content, out of its JSON. */
function contentIn({ attributes }: { readonly attributes: Readonly<Record<string, unknown>> }): object {
  const names = Object.keys(attributes).filter((name) => [...ATTRIBUTES, OUTPUT].includes(name as typeof OUTPUT));
  return Object.fromEntries(names.map((name) => [name, JSON.parse(String(attributes[name])) as unknown]));
}

const TOOL = {
  type: 'function',
  function: { name: 'look_up', description: 'Looks it up.', parameters: { type: 'object', properties: {} } },
} as const;

/** A conversation with instructions, an image, a call and its result, in each API format, and what is recorded of it. */
const FORMATS = {
  '/chat/completions': {
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: PROMPT },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,aGVsbG8=' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look_up', arguments: '{"year":2026}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'none' },
    ],
    tools: [TOOL],
  },
  '/messages': {
    max_tokens: 100,
    system: 'Be brief.',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: PROMPT },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGVsbG8=' } },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'look_up', input: { year: 2026 } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'none' }] },
    ],
    tools: [{ name: 'look_up', description: 'Looks it up.', input_schema: TOOL.function.parameters }],
  },
  '/responses': {
    instructions: 'Be brief.',
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: PROMPT },
          { type: 'input_image', image_url: 'data:image/png;base64,aGVsbG8=' },
        ],
      },
      { type: 'function_call', call_id: 'c1', name: 'look_up', arguments: '{"year":2026}' },
      { type: 'function_call_output', call_id: 'c1', output: 'none' },
    ],
    tools: [{ type: 'function', ...TOOL.function }],
  },
} as const;

const RECORDED = {
  'gen_ai.system_instructions': [{ type: 'text', content: 'Be brief.' }],
  'gen_ai.input.messages': [
    {
      role: 'user',
      parts: [
        { type: 'text', content: PROMPT },
        { type: 'blob', modality: 'image', mime_type: 'image/png', content: '', bytes: expect.any(Number) as number },
      ],
    },
    { role: 'assistant', parts: [{ type: 'tool_call', id: 'c1', name: 'look_up', arguments: { year: 2026 } }] },
    { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: 'none' }] },
  ],
  'gen_ai.tool.definitions': [
    { type: 'function', name: 'look_up', description: 'Looks it up.', parameters: { type: 'object', properties: {} } },
  ],
  [OUTPUT]: [{ role: 'assistant', parts: [{ type: 'text', content: ANSWER }], finish_reason: 'stop' }],
};

describe('content on spans', () => {
  const cases = Object.keys(FORMATS).flatMap((path) => [false, true].map((stream) => [path, stream] as const));
  it.each(cases)(
    'is what was asked and answered in the form of the conventions: %s, stream %j',
    async (path, stream) => {
      await using telemetry = startTelemetry();
      await using cell = await startObservedCell({ first: answerWith(ANSWER) });
      await openTelemetry(cell.router, { ...telemetry, content: true });
      const body = { ...FORMATS[path as keyof typeof FORMATS], model: 'acme/one', stream };
      const response = await fetch(`${cell.mounted.baseURL}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer sk-of-the-caller-1234567890' },
        body: JSON.stringify(body),
      });
      expect([response.status, (await response.text()).includes('Nobody')]).toEqual([200, true]);
      const [attempt, request] = telemetry.spans;
      expect(contentIn(request ?? { attributes: {} })).toEqual(RECORDED);
      expect(contentIn(attempt ?? { attributes: {} })).toEqual({});
      const everything = everythingIn(telemetry.spans);
      for (const secret of [OBSERVED_KEY, END_USER, 'sk-of-the-caller-1234567890', 'aGVsbG8=']) {
        expect(everything).not.toContain(secret);
      }
    },
  );

  it('is there with arguments and results of server tools, on the span of the tool', async () => {
    await using telemetry = startTelemetry();
    const model = turns({ toolCalls: [call('echo', { text: 'so' })] }, 'Done');
    const { router } = pluginBench(model.script, { serverTools: [echoTool()] });
    await openTelemetry(router, { ...telemetry, content: true });
    await router.chat(hello({ tools: [{ type: 'router:echo' }] }));
    const { attributes } = telemetry.span('execute_tool echo');
    expect(JSON.parse(String(attributes['gen_ai.tool.call.arguments']))).toEqual({ text: 'so' });
    expect(attributes['gen_ai.tool.call.result']).toBe('echo of so');
    expect(attributes['gen_ai.tool.call.id']).toEqual(expect.any(String));
  });

  it('holds what a stream had said before it broke', async () => {
    await using telemetry = startTelemetry();
    await using upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'So far' } }] })}\n\n`);
      setTimeout(() => response.destroy(), 50);
    });
    const provider = openaiCompatible({ slug: 'up', baseURL: upstream.baseURL, models: { 'acme/one': {} } });
    const router = createRouter({ providers: [provider], on: { warning: () => {} } });
    await openTelemetry(router, { ...telemetry, content: true });
    const { text, error } = await streamed(router, { model: 'acme/one', messages: [{ role: 'user', content: 'x' }] });
    expect([text, String(error)]).toEqual(['So far', expect.stringContaining('failed')]);
    expect(contentIn(telemetry.spans.at(-1) ?? { attributes: {} })).toMatchObject({
      [OUTPUT]: [{ role: 'assistant', parts: [{ type: 'text', content: 'So far' }], finish_reason: 'error' }],
    });
    await router.close();
  });
});

describe('nothing of content', () => {
  async function recordedWith(options: OpenTelemetryOptions, variable?: string): Promise<readonly [boolean, string[]]> {
    vi.stubEnv(VARIABLE, variable);
    await using telemetry = startTelemetry();
    const warnings: WarningEvent[] = [];
    await using cell = await startObservedCell(
      { first: answerWith(ANSWER) },
      { on: { warning: (event) => warnings.push(event) } },
    );
    await openTelemetry(cell.router, { ...telemetry, ...options });
    const { status } = await post(cell, asking());
    expect(status).toBe(200);
    const everything = everythingIn(telemetry.spans);
    expect(everything.includes(PROMPT)).toBe(everything.includes(ANSWER));
    return [
      everything.includes(PROMPT),
      warnings.map(({ code }) => code).filter((code) => code === 'content_recorded'),
    ];
  }

  it.each([
    [{}, undefined, false],
    [{}, 'true', true],
    [{}, 'SPAN_ONLY', true],
    [{}, 'span_and_event', true],
    [{}, 'EVENT_ONLY', false],
    [{}, 'NO_CONTENT', false],
    [{}, 'yes please', false],
    [{ content: false }, 'true', false],
    [{ content: true }, 'NO_CONTENT', true],
  ] as const)('is recorded unless %j or the variable %j says so: %j', async (options, variable, isOn) => {
    expect(await recordedWith(options, variable)).toEqual([isOn, isOn ? ['content_recorded'] : []]);
  });

  it('leaves before redact has seen it; what redact throws, or does not give back, is not recorded', async () => {
    await using telemetry = startTelemetry();
    await using cell = await startObservedCell({ first: answerWith(ANSWER) });
    const seen: string[] = [];
    const detach = await openTelemetry(cell.router, {
      ...telemetry,
      content: true,
      redact(content, { account }) {
        seen.push(`${account} ${Object.keys(content).join(' ')}`);
        if (content.inputMessages === undefined) return undefined;
        return { inputMessages: content.inputMessages.map(({ role }) => ({ role, parts: [] })) };
      },
    });
    await post(cell, asking());
    expect(seen).toEqual(['anonymous systemInstructions inputMessages toolDefinitions', 'anonymous outputMessages']);
    expect(contentIn(telemetry.spans.at(-1) ?? { attributes: {} })).toEqual({
      'gen_ai.input.messages': [{ role: 'user', parts: [] }],
    });
    detach();
    await openTelemetry(cell.router, {
      ...telemetry,
      content: true,
      redact: () => {
        throw new Error('no');
      },
    });
    await post(cell, asking());
    expect(everythingIn(telemetry.spans)).not.toContain(PROMPT);
  });
});

describe('the bytes of an attribute', () => {
  it.each([100, 1_000, 64_000])('are %d at most, and still JSON', async (contentBytes) => {
    await using telemetry = startTelemetry();
    const { router } = pluginBench('ä'.repeat(200_000));
    await openTelemetry(router, { ...telemetry, content: true, contentBytes });
    const messages = Array.from({ length: 400 }, (_, index) => ({
      role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content: `${index} ${'ü'.repeat(900)}`,
    }));
    await router.chat(hello({ messages: [...messages, { role: 'user', content: 'last' }], tools: [LOOK_UP] }));
    const request = telemetry.spans.at(-1);
    const texts = Object.entries(request?.attributes ?? {}).filter(([name]) => /messages$|definitions$/.test(name));
    expect(texts).toHaveLength(3);
    for (const [, text] of texts) {
      expect(Buffer.byteLength(String(text))).toBeLessThanOrEqual(contentBytes);
      expect(Array.isArray(JSON.parse(String(text)))).toBe(true);
    }
    if (contentBytes === 64_000) expect(String(request?.attributes['gen_ai.input.messages'])).toContain('last');
  });

  it('are checked', async () => {
    const { router } = pluginBench('Hello');
    await expect(openTelemetry(router, { contentBytes: 3 })).rejects.toThrow('openTelemetry.contentBytes');
    await expect(openTelemetry(router, { content: 'yes' as never })).rejects.toThrow('openTelemetry.content');
  });
});

describe('the event "content"', () => {
  it('is told to those who listen, with a warning, and is part of no other event', async () => {
    await using upstream = await startUpstream((_request, response) =>
      sendJson(response, 200, {
        choices: [{ index: 0, message: { role: 'assistant', content: 'Yes' }, finish_reason: 'stop' }],
      }),
    );
    const told: ContentEvent[] = [];
    const warnings: WarningEvent[] = [];
    const router = createRouter({
      providers: [openaiCompatible({ slug: 'up', baseURL: upstream.baseURL, models: { 'acme/one': {} } })],
      on: { content: (event) => told.push(event), warning: (event) => warnings.push(event) },
    });
    await router.chat({ model: 'acme/one', messages: [{ role: 'user', content: 'Well?' }] });
    expect(told).toMatchObject([
      { type: 'request', messages: [{ role: 'user', content: 'Well?' }], tools: [] },
      { type: 'answer', choices: [{ message: { content: 'Yes' } }] },
    ]);
    expect(warnings.map(({ code }) => code)).toContain('content_recorded');
    await router.close();
  });
});

describe('requests of every kind', () => {
  it('are on spans with content: those that the cache answers, and those of a batch', async () => {
    await using telemetry = startTelemetry();
    const model = turns('Cached answer');
    const { router } = pluginBench(model.script);
    await openTelemetry(router, { ...telemetry, content: true });
    for (const _ of [1, 2]) await router.chat(hello(), { cache: { enabled: true } });
    expect(model.requests).toHaveLength(1);
    await router.batches.create({
      endpoint: '/v1/chat/completions',
      model: hello().model ?? '',
      requests: [{ custom_id: 'a', body: { messages: [{ role: 'user', content: 'In a batch' }] } }],
    });
    await router.batches.start();
    await vi.waitFor(() => expect(everythingIn(telemetry.spans)).toContain('In a batch'), 10_000);
    await router.batches.stop({ graceMs: 0 });
    const requests = telemetry.spans.filter(({ attributes }) => attributes[OUTPUT] !== undefined);
    expect(requests).toHaveLength(3);
    for (const { attributes } of requests) expect(String(attributes[OUTPUT])).toContain('Cached answer');
    await router.close();
  });
});
