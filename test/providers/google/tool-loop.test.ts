import {
  type AssistantMessage,
  type ChatRequest,
  type Router,
  createRouter,
  google,
  openaiCompatible,
} from 'signalbox';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SignatureMemory } from '../../../src/providers/signed-parts.ts';
import { geminiBodySchema } from '../../support/gemini-schema.ts';
import { turnsOf } from '../../support/google-wire.ts';
import { type Upstream, answerWith, sendJson, startUpstream } from '../../support/upstream.ts';

/** Signatures with everything that an encoding could change. */
const THOUGHT_SIGNATURE = 'th+/=AB==';
const CALL_SIGNATURE = 'EvIBCu8BAf+/weather==\u00a0';
const TEXT_SIGNATURE = 'tx/+==';

const PARTS = [
  { text: 'Look first.', thought: true, thoughtSignature: THOUGHT_SIGNATURE },
  { text: 'I will ' },
  { text: 'look.', thoughtSignature: TEXT_SIGNATURE },
  { functionCall: { name: 'look', args: { at: 'the box' } }, thoughtSignature: CALL_SIGNATURE },
  { functionCall: { name: 'ring', args: {} } },
];

const TOOLS = ['look', 'ring'].map((name) => ({ type: 'function' as const, function: { name } }));
const ASKED: ChatRequest['messages'] = [{ role: 'user', content: 'What is in the box?' }];

let upstream: Upstream;
let router: Router;

beforeEach(async () => {
  upstream = await startUpstream(({ path, body }, response) => {
    // Whatever is sent must be something that Google accepts.
    const { contents } = geminiBodySchema.parse(body);
    const asks = contents.length === 1;
    const parts = asks ? PARTS : [{ text: 'A fox.' }];
    if (!path.includes('alt=sse')) {
      return sendJson(response, 200, { candidates: [{ content: { parts }, finishReason: 'STOP' }] });
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const part of parts) response.write(eventOf([part]));
    response.end(eventOf([], 'STOP'));
  });
  router = createRouter({ providers: [google({ baseURL: upstream.baseURL, apiKey: 'key-1' })] });
});
afterEach(async () => {
  await router.close();
  await upstream[Symbol.asyncDispose]();
});

function eventOf(parts: readonly object[], finishReason?: string): string {
  return `data: ${JSON.stringify({ candidates: [{ content: { parts }, finishReason }] })}\r\n\r\n`;
}

/** The model's first answer, put together by a client that keeps everything. */
async function firstAnswer(stream: boolean): Promise<AssistantMessage> {
  const request = { model: 'google/gemini-3-flash', messages: ASKED, tools: TOOLS };
  if (!stream) return (await router.chat(request)).choices[0]?.message as AssistantMessage;
  let content = '';
  const details: object[] = [];
  const calls: object[] = [];
  for await (const chunk of router.stream(request)) {
    const delta = chunk.choices[0]?.delta;
    content += delta?.content ?? '';
    details.push(...(delta?.reasoning_details ?? []));
    calls.push(...(delta?.tool_calls ?? []));
  }
  return { role: 'assistant', content, reasoning_details: details, tool_calls: calls } as unknown as AssistantMessage;
}

/** The turn that goes back to Google for a message. */
async function returned(message: AssistantMessage, model = 'google/gemini-3-flash'): Promise<unknown> {
  const results = (message.tool_calls ?? []).map(({ id }) => ({
    role: 'tool' as const,
    tool_call_id: id,
    content: 'ok',
  }));
  await router.chat({ model, messages: [...ASKED, message, ...results], tools: TOOLS });
  return geminiBodySchema.parse(upstream.requests.at(-1)?.body).contents[1]?.parts;
}

/** The parts as they came, with the ids that the calls were given. */
function sameParts({ tool_calls: calls }: AssistantMessage): object[] {
  const ids = (calls ?? []).map(({ id }) => id);
  return PARTS.map((part) => {
    const { functionCall: call, ...rest } = part;
    return call === undefined ? rest : { functionCall: { id: ids.shift(), ...call }, ...rest };
  });
}

describe.each([false, true])('a tool loop (streamed: %s)', (stream) => {
  it('gives back every signature, byte for byte, on the part it came with', async () => {
    const message = await firstAnswer(stream);
    expect(await returned(message)).toEqual(sameParts(message));
  });

  it('gives back the signatures of calls that a client of the chat completions layer kept', async () => {
    const { reasoning_details: _, ...message } = await firstAnswer(stream);
    const [call] = message.tool_calls ?? [];
    expect(call?.extra_content).toEqual({ google: { thought_signature: CALL_SIGNATURE } });
    const parts = await returned(message);
    expect(parts).toContainEqual(expect.objectContaining({ thoughtSignature: CALL_SIGNATURE }));
  });

  it('remembers the signatures of calls for clients that keep nothing', async () => {
    const { content, tool_calls: calls } = await firstAnswer(stream);
    const bare = (calls ?? []).map(({ id, type, function: called }) => ({ id, type, function: called }));
    const parts = await returned({ role: 'assistant', content, tool_calls: bare });
    expect(parts).toEqual([
      { text: 'I will look.' },
      expect.objectContaining({ thoughtSignature: CALL_SIGNATURE }),
      expect.not.objectContaining({ thoughtSignature: expect.anything() as unknown }),
    ]);
  });

  it('gives every call an id of its own', async () => {
    const ids = [await firstAnswer(stream), await firstAnswer(stream)].flatMap(({ tool_calls: calls }) =>
      (calls ?? []).map(({ id }) => id),
    );
    expect(new Set(ids).size).toBe(4);
    expect(ids.every((id) => /^call_\w+$/.test(id))).toBe(true);
  });
});

const FOREIGN: AssistantMessage = {
  role: 'assistant',
  content: 'Looking.',
  reasoning: 'Look first.',
  reasoning_details: [
    {
      type: 'reasoning.text',
      text: 'Look first.',
      signature: 'anthropic-sig',
      format: 'anthropic-claude-v1',
      index: 0,
    },
    { type: 'reasoning.text', text: 'Without a format.', signature: 'unknown-sig', index: 1 },
    { type: 'reasoning.encrypted', id: 'c1', data: 'openai-blob', format: 'openai-responses-v1', index: 2 },
  ],
  tool_calls: [
    { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } },
    { id: 'c2', type: 'function', function: { name: 'ring', arguments: '{}' } },
  ],
};

describe('a history of another vendor', () => {
  const history: ChatRequest['messages'] = [...ASKED, FOREIGN];

  it('carries nothing of its thoughts to Google, and the mark that there is no signature', () => {
    expect(turnsOf(history)[1]?.parts).toEqual([
      { text: 'Looking.' },
      { functionCall: { id: 'c1', name: 'look', args: {} }, thoughtSignature: 'skip_thought_signature_validator' },
      { functionCall: { id: 'c2', name: 'ring', args: {} } },
    ]);
  });

  it('needs no mark for models that ask for none', () => {
    expect(JSON.stringify(turnsOf(history, { model: 'gemini-2.5-pro' }))).not.toContain('thoughtSignature');
  });
});

describe("Google's signatures", () => {
  it('never go to a provider of another wire', async () => {
    const message = await firstAnswer(false);
    await using other = await startUpstream(answerWith('A fox.'));
    const elsewhere = createRouter({
      providers: [openaiCompatible({ slug: 'other', baseURL: other.baseURL, models: { 'acme/one': {} } })],
    });
    const results = (message.tool_calls ?? []).map(({ id }) => ({
      role: 'tool' as const,
      tool_call_id: id,
      content: 'ok',
    }));
    await elsewhere.chat({ model: 'acme/one', messages: [...ASKED, message, ...results], tools: TOOLS });
    await elsewhere.close();
    const sent = JSON.stringify(other.requests[0]?.body);
    expect(sent).toContain('look');
    for (const signature of [THOUGHT_SIGNATURE, CALL_SIGNATURE, TEXT_SIGNATURE]) expect(sent).not.toContain(signature);
  });

  it('stay with a text that was changed meanwhile, in an empty part behind it', () => {
    const format = 'google-gemini-v1';
    const message: AssistantMessage = {
      role: 'assistant',
      content: 'Cut',
      reasoning_details: [{ type: 'reasoning.encrypted', id: 'text:7-12', data: TEXT_SIGNATURE, format, index: 0 }],
    };
    expect(turnsOf([...ASKED, message])[1]?.parts).toEqual([
      { text: 'Cut' },
      { text: '', thoughtSignature: TEXT_SIGNATURE },
    ]);
  });

  it('go back with their image', () => {
    const message: AssistantMessage = {
      role: 'assistant',
      content: 'Here: ',
      images: [{ image_url: { url: 'data:image/png;base64,aGk=' } }],
      reasoning_details: [
        { type: 'reasoning.text', text: 'Draft', format: 'google-gemini-v1', index: 0 },
        { type: 'reasoning.encrypted', id: 'image:0', data: 'img==', format: 'google-gemini-v1', index: 1 },
      ],
    };
    expect(turnsOf([...ASKED, message])[1]?.parts).toEqual([
      { text: 'Draft', thought: true },
      { text: 'Here: ' },
      { inlineData: { mimeType: 'image/png', data: 'aGk=' }, thoughtSignature: 'img==' },
    ]);
  });

  it('are left out with thoughts that led to nothing', () => {
    const message: AssistantMessage = {
      role: 'assistant',
      content: '',
      reasoning_details: [{ type: 'reasoning.text', text: 'Hm.', format: 'google-gemini-v1', index: 0 }],
    };
    expect(turnsOf([...ASKED, message])).toHaveLength(1);
  });
});

describe('the memory of signatures', () => {
  it('knows calls by account', () => {
    const memory = new SignatureMemory();
    memory.remember('a', 'call_1', 'sig-a');
    expect([memory.recall('a', 'call_1'), memory.recall('b', 'call_1')]).toEqual(['sig-a', undefined]);
  });

  it('forgets the oldest before it grows without end', () => {
    const memory = new SignatureMemory();
    for (let call = 0; call <= 10_000; call += 1) memory.remember('a', `call_${call}`, 's');
    expect([memory.recall('a', 'call_0'), memory.recall('a', 'call_1')]).toEqual([undefined, 's']);
    const large = 'x'.repeat(900_000);
    for (let call = 0; call < 20; call += 1) memory.remember('a', `large_${call}`, large);
    expect([memory.recall('a', 'large_0'), memory.recall('a', 'large_19')]).toEqual([undefined, large]);
    memory.remember('a', 'huge', 'x'.repeat(2_000_000));
    expect(memory.recall('a', 'huge')).toBeUndefined();
  });
});
