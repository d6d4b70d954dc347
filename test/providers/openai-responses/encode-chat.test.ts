import { describe, expect, it } from 'vitest';
import { acceptsOf } from '../../../src/core/accepts.ts';
import { OPENAI } from '../../../src/providers/accepts/openai.ts';
import { encodeChat } from '../../../src/providers/openai-responses/encode-chat.ts';
import { VENDOR_PRESETS } from '../../../src/providers/openai-compatible/presets.ts';
import type { ChatRequest } from '../../../src/protocol/chat-request.ts';
import { serving } from '../../support/requests.ts';

type Fields = Partial<ChatRequest> & Readonly<Record<string, unknown>>;

function encoded(fields: Fields, upstreamModel = 'gpt-5.6', changes: string[] = []): Readonly<Record<string, unknown>> {
  const request = serving({ openai: { upstreamModel } }).request(fields);
  const [endpoint] = request.targets[0]?.endpoints ?? [];
  if (endpoint === undefined) throw new Error('no endpoint');
  const { quirks } = VENDOR_PRESETS.openai;
  const body = encodeChat(request, endpoint, { quirks, acceptsOf: () => acceptsOf(OPENAI, upstreamModel) }, (change) =>
    changes.push(change),
  );
  return JSON.parse(JSON.stringify(body)) as Readonly<Record<string, unknown>>;
}

const TOOL = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } } as const;

describe('a chat request for Responses', () => {
  it('stores nothing, and says limits, efforts and forms in the words of the API', () => {
    const schema = { type: 'object', properties: {}, additionalProperties: false } as const;
    expect(
      encoded({
        max_tokens: 100,
        reasoning: { effort: 'low' },
        verbosity: 'low',
        response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } },
      }),
    ).toMatchObject({
      model: 'gpt-5.6',
      store: false,
      include: ['reasoning.encrypted_content'],
      max_output_tokens: 100,
      reasoning: { effort: 'low' },
      text: { verbosity: 'low', format: { type: 'json_schema', name: 'x', strict: true, schema } },
    });
  });

  it('has flat tools, which are not held to their schema unless that is asked for', () => {
    expect(encoded({ tools: [TOOL], tool_choice: { type: 'function', function: { name: 'f' } } })).toMatchObject({
      tools: [{ type: 'function', name: 'f', strict: false, parameters: { type: 'object', properties: {} } }],
      tool_choice: { type: 'function', name: 'f' },
    });
  });

  it('says what it leaves out, and what it changes', () => {
    const changes: string[] = [];
    const body = encoded({ seed: 1, stop: ['x'], temperature: 0.5, max_tokens: 2, tools: [TOOL] }, 'gpt-5.6', changes);
    expect(body).not.toHaveProperty('seed');
    expect(body).not.toHaveProperty('temperature');
    expect(body).toMatchObject({ max_output_tokens: 16 });
    expect(changes.toSorted()).toEqual([
      'The schema of tools[0] was rewritten in words that the provider takes',
      'max_tokens was set to 16, the nearest that the model takes',
      'seed was left out, because the model does not take it',
      'stop was left out, because the model does not take it',
      'temperature was left out, because the model does not take it',
    ]);
  });

  it('cannot be one that insists on a parameter of chat completions', () => {
    expect(() => encoded({ seed: 1, provider: { require_parameters: true } }, 'codex-mini')).toThrow(
      'The Responses API has no field for the parameter seed',
    );
  });

  it('keeps media in results', () => {
    const { input } = encoded({
      messages: [
        { role: 'user', content: 'Look.' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        {
          role: 'tool',
          tool_call_id: 'a',
          content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }],
        },
      ],
    });
    expect(input).toContainEqual({
      type: 'function_call_output',
      call_id: 'a',
      output: [{ type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' }],
    });
  });
});
