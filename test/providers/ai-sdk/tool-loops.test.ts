import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { AiSdkModel, ReasoningDetail, ResultMessage, StreamPiece } from 'signalbox';
import type { ScriptedAnswer } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { type Part, askModel, callOf, finishOf, handMade } from '../../support/ai-sdk-models.ts';
import { GEMINI_WIRE, MESSAGES_WIRE, SIGNATURE } from '../../support/ai-sdk-wires.ts';
import { CHAT_WIRE } from '../../support/chat-harness.ts';
import { type Upstream, startUpstream } from '../../support/upstream.ts';
import type { ScriptedWire } from '../../support/wire-harness.ts';

const TOOLS = ['look', 'ring'].map((name) => ({ type: 'function', function: { name } }));
const ASKED = { role: 'user', content: 'Look at the map' };
const THINKING: ScriptedAnswer = {
  reasoning: ['First ', 'the map.'],
  text: ['Looking.'],
  toolCalls: [
    { id: 'call00001', name: 'look', arguments: ['{"at":', '"map"}'] },
    { id: 'call00002', name: 'ring', arguments: [] },
  ],
};
const RESULTS = THINKING.toolCalls?.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: `result of ${id}` }));

/** A server that answers in this wire, always the same. */
function serving(wire: ScriptedWire, answer: ScriptedAnswer): Promise<Upstream> {
  return startUpstream(({ body, path }, response) => {
    const stream = body['stream'] === true || path.includes('streamGenerateContent');
    response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
    response.end(stream ? wire.events(answer) + wire.ending(answer) : wire.whole(answer));
  });
}

/** All reasoning details as they were streamed, for clients who keep them without joining them. */
function fragmentsOf(pieces: readonly StreamPiece[]): readonly ReasoningDetail[] {
  return pieces.flatMap((piece) =>
    typeof piece !== 'string' && piece.type === 'delta' ? (piece.delta.reasoning_details ?? []) : [],
  );
}

/** Goes twice around a loop of tools, and gives the second body that the server got. */
async function secondBody(
  wire: ScriptedWire,
  modelAt: (baseURL: string) => AiSdkModel,
  form: 'whole' | 'streamed' | 'fragments',
): Promise<Readonly<Record<string, unknown>>> {
  await using upstream = await serving(wire, THINKING);
  const model = modelAt(upstream.baseURL);
  const first = await askModel(model, { messages: [ASKED], tools: TOOLS }, { stream: form !== 'whole' });
  expect(first.failure).toBeUndefined();
  const message = first.choice?.message as ResultMessage;
  const details = form === 'fragments' ? fragmentsOf(first.pieces) : message.reasoning_details;
  // A client sends JSON, whatever it got.
  const history = JSON.parse(JSON.stringify({ ...message, reasoning_details: details })) as object;
  const second = await askModel(model, { messages: [ASKED, history, ...(RESULTS ?? [])], tools: TOOLS });
  expect(second.failure).toBeUndefined();
  return upstream.requests[1]?.body ?? {};
}

describe.each(['whole', 'streamed', 'fragments'] as const)('a loop of tools over %s answers', (form) => {
  it('gives Anthropic its thinking back with its signature, byte for byte', async () => {
    const body = await secondBody(
      MESSAGES_WIRE,
      (baseURL) => createAnthropic({ baseURL, apiKey: 'k' })('claude-sonnet-4-5'),
      form,
    );
    expect(body['messages']).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'First the map.', signature: SIGNATURE },
          { type: 'text', text: 'Looking.' },
          { type: 'tool_use', id: 'call00001', name: 'look', input: { at: 'map' } },
          { type: 'tool_use', id: 'call00002', name: 'ring', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call00001', content: 'result of call00001' },
          { type: 'tool_result', tool_use_id: 'call00002', content: 'result of call00002' },
        ],
      },
    ]);
  });

  it('gives Google the signature of each call back on that very call', async () => {
    const body = await secondBody(
      GEMINI_WIRE,
      (baseURL) => createGoogle({ baseURL, apiKey: 'k' })('gemini-3-pro-preview'),
      form,
    );
    expect(body['contents']).toMatchObject([
      { role: 'user' },
      {
        role: 'model',
        parts: [
          { text: 'First the map.', thought: true },
          { text: 'Looking.' },
          { functionCall: { name: 'look', args: { at: 'map' } }, thoughtSignature: SIGNATURE },
          { functionCall: { name: 'ring', args: {} } },
        ],
      },
      {
        role: 'user',
        parts: [{ functionResponse: { name: 'look' } }, { functionResponse: { name: 'ring' } }],
      },
    ]);
    expect(JSON.stringify(body).split(SIGNATURE)).toHaveLength(2);
  });

  it('gives a compatible server its reasoning and the very arguments back', async () => {
    const body = await secondBody(
      CHAT_WIRE,
      (baseURL) => createOpenAICompatible({ name: 'own-server', baseURL, apiKey: 'k' })('one'),
      form,
    );
    expect(body['messages']).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        content: 'Looking.',
        reasoning_content: 'First the map.',
        tool_calls: [
          { id: 'call00001', function: { name: 'look', arguments: '{"at":"map"}' } },
          { id: 'call00002', function: { name: 'ring', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call00001', content: 'result of call00001' },
      { role: 'tool', tool_call_id: 'call00002', content: 'result of call00002' },
    ]);
  });
});

describe('reasoning that another provider made', () => {
  it('is not shown to Anthropic, which refuses what it did not sign', async () => {
    await using gemini = await serving(GEMINI_WIRE, THINKING);
    await using claude = await serving(MESSAGES_WIRE, { text: ['Fine.'] });
    const first = await askModel(createGoogle({ baseURL: gemini.baseURL, apiKey: 'k' })('gemini-3-pro-preview'), {
      messages: [ASKED],
      tools: TOOLS,
    });
    const messages = [ASKED, first.choice?.message, ...(RESULTS ?? [])];
    const model = createAnthropic({ baseURL: claude.baseURL, apiKey: 'k' })('claude-sonnet-4-5');
    const warnings: unknown[] = [];
    const asking = { onWarning: (warning: unknown) => warnings.push(warning) };
    expect((await askModel(model, { messages, tools: TOOLS, max_tokens: 100 }, asking)).failure).toBeUndefined();
    expect(JSON.stringify(claude.requests[0]?.body)).not.toMatch(/thinking|First the map/);
    expect(warnings).toEqual([]);
  });

  it('is text to Google, and a call without a signature of its own gets none of others', async () => {
    await using gemini = await serving(GEMINI_WIRE, { text: ['Fine.'] });
    const details = [{ type: 'reasoning.text', text: 'Hm.', signature: 'of-claude', format: 'anthropic-claude-v1' }];
    const assistant = { role: 'assistant', content: 'x', reasoning_details: details };
    const model = createGoogle({ baseURL: gemini.baseURL, apiKey: 'k' })('gemini-3-pro-preview');
    await askModel(model, { messages: [ASKED, assistant, ASKED] });
    expect(gemini.requests[0]?.body['contents']).toMatchObject([
      {},
      { parts: [{ text: 'Hm.', thought: true }, { text: 'x' }] },
      {},
    ]);
    expect(JSON.stringify(gemini.requests[0]?.body)).not.toContain('of-claude');
  });
});

/** What comes back to a model as assistant content after it said these parts. */
async function comesBack(provider: string, parts: readonly Part[]): Promise<readonly unknown[]> {
  const finish = { type: 'finish', finishReason: finishOf('v4', 'stop', 'stop'), usage: {} };
  const made = { provider, parts: [...parts, finish] };
  const { choice, failure } = await askModel(handMade(made), {}, { stream: true });
  expect(failure).toBeUndefined();
  const history = JSON.parse(JSON.stringify(choice?.message)) as object;
  const { prompt } = await callOf(handMade(made), { messages: [ASKED, history] });
  const message = prompt[1];
  return message?.role === 'assistant' ? message.content : [];
}

describe('a proof of reasoning comes back', () => {
  it('as redacted data for Claude, here and on Bedrock', async () => {
    const parts = [
      { type: 'reasoning-start', id: '0', providerMetadata: { bedrock: { redactedData: 'b3BhcXVl' } } },
      { type: 'reasoning-end', id: '0' },
      { type: 'reasoning-start', id: '1' },
      { type: 'reasoning-delta', id: '1', delta: 'Hm.' },
      { type: 'reasoning-delta', id: '1', delta: '', providerMetadata: { bedrock: { signature: 's+/=' } } },
      { type: 'reasoning-end', id: '1' },
    ];
    for (const [provider, key] of [
      ['amazon-bedrock', 'bedrock'],
      ['anthropic.messages', 'anthropic'],
    ] as const) {
      expect(await comesBack(provider, parts)).toEqual([
        { type: 'reasoning', text: '', providerOptions: { [key]: { redactedData: 'b3BhcXVl' } } },
        { type: 'reasoning', text: 'Hm.', providerOptions: { [key]: { signature: 's+/=' } } },
      ]);
    }
  });

  it('as items with their ids for OpenAI, and for Azure under its own name', async () => {
    for (const [provider, name] of [
      ['openai.responses', 'openai'],
      ['azure.responses', 'azure'],
    ] as const) {
      const proof = (sealed: string | null): object => ({
        providerMetadata: { [name]: { itemId: 'rs_1', reasoningEncryptedContent: sealed } },
      });
      const parts = [
        { type: 'reasoning-start', id: 'rs_1:0', ...proof(null) },
        { type: 'reasoning-delta', id: 'rs_1:0', delta: 'One', ...proof(null) },
        { type: 'reasoning-end', id: 'rs_1:0', ...proof('gAAA') },
        { type: 'reasoning-start', id: 'rs_1:1', ...proof(null) },
        { type: 'reasoning-delta', id: 'rs_1:1', delta: 'Two' },
        { type: 'reasoning-end', id: 'rs_1:1', ...proof('gAAA') },
      ];
      const options = { providerOptions: { [name]: { itemId: 'rs_1', reasoningEncryptedContent: 'gAAA' } } };
      expect(await comesBack(provider, parts)).toEqual([
        { type: 'reasoning', text: 'One', ...options },
        { type: 'reasoning', text: 'Two', ...options },
      ]);
    }
  });

  it('as an id alone where OpenAI keeps the rest', async () => {
    const kept = { providerMetadata: { openai: { itemId: 'rs_1', reasoningEncryptedContent: null } } };
    const parts = [
      { type: 'reasoning-start', id: 'rs_1:0', ...kept },
      { type: 'reasoning-end', id: 'rs_1:0', ...kept },
    ];
    expect(await comesBack('openai.responses', parts)).toEqual([
      { type: 'reasoning', text: '', providerOptions: { openai: { itemId: 'rs_1' } } },
    ]);
  });

  it('on the very stretch of text that Google signed', async () => {
    const signed = (signature: string): object => ({ providerMetadata: { google: { thoughtSignature: signature } } });
    const parts = [
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'Plain. ' },
      { type: 'text-delta', id: '0', delta: 'Signed.', ...signed('one') },
      { type: 'text-delta', id: '0', delta: '', ...signed('two') },
      { type: 'text-end', id: '0' },
    ];
    expect(await comesBack('google.generative-ai', parts)).toEqual([
      { type: 'text', text: 'Plain. ' },
      { type: 'text', text: 'Signed.', providerOptions: { google: { thoughtSignature: 'one' } } },
      { type: 'text', text: '', providerOptions: { google: { thoughtSignature: 'two' } } },
    ]);
  });

  it('on the image that Google signed', async () => {
    const providerMetadata = { google: { thoughtSignature: 'one' } };
    const parts = [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBO' }, providerMetadata }];
    expect(await comesBack('google.generative-ai', parts)).toEqual([
      {
        type: 'file',
        mediaType: 'image/png',
        data: { type: 'data', data: 'iVBO' },
        providerOptions: { google: { thoughtSignature: 'one' } },
      },
    ]);
  });

  it('as it was for a provider of which nothing is known', async () => {
    const metadata = { ownServer: { chain: [{ deep: 'ü' }], n: 1 } };
    const parts = [
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'Hm.' },
      { type: 'reasoning-end', id: '0', providerMetadata: metadata },
    ];
    expect(await comesBack('own-server.chat', parts)).toEqual([
      { type: 'reasoning', text: 'Hm.', providerOptions: metadata },
    ]);
    expect(await comesBack('another.chat', parts)).toEqual([{ type: 'reasoning', text: 'Hm.' }]);
  });

  it('once, however often a provider repeats it', async () => {
    const providerMetadata = { anthropic: { signature: 'sig' } };
    const parts = [
      { type: 'reasoning-start', id: '0', providerMetadata },
      { type: 'reasoning-delta', id: '0', delta: 'Hm.', providerMetadata },
      { type: 'reasoning-end', id: '0', providerMetadata },
    ];
    expect(await comesBack('anthropic.messages', parts)).toEqual([
      { type: 'reasoning', text: 'Hm.', providerOptions: { anthropic: { signature: 'sig' } } },
    ]);
  });
});
