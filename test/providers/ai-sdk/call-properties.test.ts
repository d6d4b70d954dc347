import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Message, SpecVersion } from 'signalbox';
import type { AssistantPrompt, UpstreamCallOptions } from '../../../src/providers/ai-sdk/model.ts';
import { callSchema } from '../../support/ai-sdk-call-schema.ts';
import { callOf, handMade } from '../../support/ai-sdk-models.ts';
import { runs } from '../../support/properties.ts';

const PROVIDERS = [
  'anthropic.messages',
  'amazon-bedrock',
  'google.generative-ai',
  'openai.responses',
  'azure.chat',
  'mistral.chat',
  'xai.chat',
  'cohere.chat',
  'own-server.chat',
  'odd',
] as const;

const text = fc.oneof(fc.string({ unit: 'grapheme', minLength: 1 }), fc.constantFrom('\n', '"\\', '{}', '<script>'));
const mark = fc.option(fc.constant({ type: 'ephemeral' } as const), { nil: undefined });
const textPart = fc.record(
  { type: fc.constant('text'), text, cache_control: mark },
  { requiredKeys: ['type', 'text'] },
);
const imagePart = fc
  .constantFrom('data:image/png;base64,AAAA', 'https://a.example/b.png', 'https://a.example/b')
  .map((url) => ({ type: 'image_url', image_url: { url } }));
const filePart = fc.constantFrom('data:application/pdf;base64,AAAA', 'data:text/plain,a%20b').map((url) => ({
  type: 'file',
  file: { file_data: url, filename: 'a.pdf' },
}));
const content = fc.oneof(text, fc.array(fc.oneof(textPart, imagePart, filePart), { minLength: 1, maxLength: 3 }));

const FORMATS = ['anthropic-claude-v1', 'google-gemini-v1', 'openai-responses-v1', 'unknown', null] as const;
const detail = fc
  .record({
    format: fc.constantFrom(...FORMATS),
    kind: fc.constantFrom('text', 'signed', 'summary', 'encrypted'),
    index: fc.nat(3),
    said: text,
    proof: fc.base64String({ minLength: 4 }),
  })
  .map(({ format, kind, index, said, proof }) => {
    const base = { format, index, id: kind === 'summary' ? `rs_${index}` : null };
    if (kind === 'encrypted') return { ...base, type: 'reasoning.encrypted', data: proof };
    if (kind === 'summary') return { ...base, type: 'reasoning.summary', summary: said };
    return { ...base, type: 'reasoning.text', text: said, ...(kind === 'signed' ? { signature: proof } : {}) };
  });

const input = fc.oneof(
  fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })).map((value) => JSON.stringify(value)),
  fc.constantFrom('', '{"a":', '[1]', 'null'),
);

/** A turn: what the user said, what the assistant thought, said and called, and what came of it. */
const turn = fc
  .record({
    instructions: fc.option(fc.oneof(text, fc.array(textPart, { minLength: 1, maxLength: 2 })), { nil: undefined }),
    asked: content,
    name: fc.option(fc.constantFrom('Ada', 'Łukasz'), { nil: undefined }),
    said: fc.option(text, { nil: null }),
    reasoning: fc.option(text, { nil: undefined }),
    details: fc.array(detail, { maxLength: 3 }),
    inputs: fc.array(input, { maxLength: 3 }),
    results: fc.array(content, { minLength: 3, maxLength: 3 }),
  })
  .map(({ instructions, asked, name, said, reasoning, details, inputs, results }) => (position: number): Message[] => {
    const calls = inputs.map((one, index) => ({
      id: `call_${position}_${index}`,
      type: 'function',
      function: { name: `tool_${index}`, arguments: one },
    }));
    return [
      ...(instructions === undefined ? [] : [{ role: 'system', content: instructions }]),
      { role: 'user', content: asked, ...(name === undefined ? {} : { name }) },
      {
        role: 'assistant',
        content: said,
        ...(reasoning === undefined ? {} : { reasoning }),
        ...(details.length === 0 ? {} : { reasoning_details: details }),
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
      },
      ...calls.map(({ id }, index) => ({ role: 'tool', tool_call_id: id, content: results[index] ?? '' })),
    ] as unknown as Message[];
  });

const conversation = fc.array(turn, { minLength: 1, maxLength: 3 }).map((turns) => turns.flatMap((one, at) => one(at)));

const parameters = fc.record(
  {
    temperature: fc.constantFrom(0, 0.7, 2),
    top_p: fc.constantFrom(0, 1),
    top_k: fc.constantFrom(0, 40),
    seed: fc.integer(),
    max_tokens: fc.integer({ min: 1, max: 100_000 }),
    stop: fc.constantFrom('END', ['a', 'b']),
    reasoning: fc.constantFrom({ effort: 'high' }, { effort: 'none' }, { max_tokens: 500 }, { enabled: true }),
    parallel_tool_calls: fc.boolean(),
    logit_bias: fc.constant({ 5: 1 }),
    verbosity: fc.constant('low'),
    tools: fc.constant([{ type: 'function', function: { name: 'tool_0' } }]),
    tool_choice: fc.constantFrom('auto', 'none', 'required', { type: 'function', function: { name: 'tool_0' } }),
    response_format: fc.constantFrom(
      { type: 'json_object' },
      { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' }, strict: true } },
    ),
    cache_control: fc.constant({ type: 'ephemeral' }),
    service_tier: fc.constantFrom('flex', 'priority'),
  },
  { requiredKeys: [] },
);

/** Everything that a prompt says in text, one after the other. */
function wordsOf({ prompt }: UpstreamCallOptions): string {
  return prompt
    .flatMap((message): readonly string[] => {
      if (message.role === 'system') return [message.content];
      return (message.content as readonly { type: string; text?: string; output?: { value: unknown } }[]).map(
        (part) => {
          if (part.type === 'reasoning') return '';
          return (
            part.text ?? (typeof part.output?.value === 'string' ? part.output.value : JSON.stringify(part.output))
          );
        },
      );
    })
    .join('\u0000');
}

function textsOf(value: Message['content']): readonly string[] {
  if (typeof value === 'string') return [value];
  return (value ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : []));
}

function assistants({ prompt }: UpstreamCallOptions): readonly AssistantPrompt[] {
  return prompt.flatMap((message) => (message.role === 'assistant' ? message.content : []));
}

async function written(
  messages: readonly Message[],
  fields: object,
  provider: string,
  version: SpecVersion,
): Promise<UpstreamCallOptions> {
  const download = (): Promise<{ data: Uint8Array }> => Promise.resolve({ data: Uint8Array.of(1) });
  return callOf(handMade({ version, provider }), { messages, ...fields }, { download });
}

const cases = [conversation, parameters, fc.constantFrom(...PROVIDERS), fc.constantFrom('v2', 'v3', 'v4')] as const;

describe('a chat request as a call of a model', () => {
  it('is one that the interface of its version has', async () => {
    await fc.assert(
      fc.asyncProperty(...cases, async (messages, fields, provider, version) => {
        callSchema(version).parse(await written(messages, fields, provider, version));
      }),
      runs(150),
    );
  });

  it('keeps everything that was said, in order', async () => {
    await fc.assert(
      fc.asyncProperty(...cases, async (messages, fields, provider, version) => {
        const words = wordsOf(await written(messages, fields, provider, version));
        let from = 0;
        for (const message of messages) {
          // A result that is JSON may be passed as a value.
          if (message.role === 'tool') continue;
          for (const said of textsOf(message.content)) {
            // Claude refuses texts of nothing but space.
            if (said.trim() === '') continue;
            const found = words.indexOf(said, from);
            expect(found).toBeGreaterThanOrEqual(from);
            from = found + said.length;
          }
        }
      }),
      runs(150),
    );
  });

  it('keeps every tool call with its id, its name, its input and its result', async () => {
    await fc.assert(
      fc.asyncProperty(...cases, async (messages, fields, provider, version) => {
        const call = await written(messages, fields, provider, version);
        const asked = messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []));
        const calls = assistants(call).filter((part) => part.type === 'tool-call');
        expect(calls.map(({ toolName }) => toolName)).toEqual(asked.map((one) => one.function.name));
        const ids = calls.map(({ toolCallId }) => toolCallId);
        // Mistral wants nine letters and digits; ids that may be anything stay as they are.
        if (provider === 'mistral.chat') for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
        else expect(ids).toEqual(asked.map(({ id }) => id));
        expect(new Set(ids).size).toBe(ids.length);
        for (const [index, { input: value }] of calls.entries()) {
          const source = asked[index]?.function.arguments ?? '';
          expect(value).toEqual(
            /^\{.*\}$/s.test(source) ? JSON.parse(source) : source === '' ? {} : { arguments: source },
          );
        }
        const results = call.prompt.flatMap((message) => (message.role === 'tool' ? message.content : []));
        expect(results.map(({ toolCallId, toolName }) => [toolCallId, toolName])).toEqual(
          calls.map(({ toolCallId, toolName }) => [toolCallId, toolName]),
        );
      }),
      runs(150),
    );
  });

  it('keeps the signatures of its own family byte for byte, and sends no other', async () => {
    const families = [
      ['anthropic.messages', 'anthropic-claude-v1'],
      ['amazon-bedrock', 'anthropic-claude-v1'],
      ['google.generative-ai', 'google-gemini-v1'],
    ] as const;
    const one = fc.record({
      said: text,
      proof: fc.base64String({ minLength: 8 }),
      format: fc.constantFrom(...FORMATS),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(one, { maxLength: 4 }),
        fc.constantFrom(...families),
        async (blocks, [provider, own]) => {
          const details = blocks.map(({ said, proof, format }, index) => ({
            type: 'reasoning.text',
            text: said,
            signature: proof,
            format,
            index,
          }));
          const assistant = { role: 'assistant', content: 'x', reasoning_details: details } as unknown as Message;
          const parts = assistants(await written([assistant], {}, provider, 'v4')).filter(
            ({ type }) => type === 'reasoning',
          );
          const signed = parts.filter(({ providerOptions }) => providerOptions !== undefined);
          const ours = blocks.filter(
            ({ format }) => format === own || (format === null && own === 'anthropic-claude-v1'),
          );
          expect(signed.map((part) => Object.values(Object.values(part.providerOptions ?? {})[0] ?? {})[0])).toEqual(
            ours.map(({ proof }) => proof),
          );
          expect(signed.map((part) => ('text' in part ? part.text : ''))).toEqual(ours.map(({ said }) => said));
        },
      ),
      runs(150),
    );
  });
});
