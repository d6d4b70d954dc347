import { anthropic, createRouter, google, mistral, openai, type ChatRequest, type Provider } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { answerOnAnyWire } from '../support/strict-schemas.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

type Make = (upstream: Upstream) => Provider;
const MODEL = 'acme/one';
const HI = [{ role: 'user', content: 'How is it?' }] as const;
const models = (upstreamModel: string): { readonly [MODEL]: { readonly upstreamModel: string } } => ({
  [MODEL]: { upstreamModel },
});

const claude =
  (name: string): Make =>
  ({ baseURL }) =>
    anthropic({ baseURL, apiKey: 'any', models: models(name) });
const gpt =
  (name: string): Make =>
  ({ baseURL }) =>
    openai({ baseURL, apiKey: 'any', models: models(name) });
const gemini =
  (name: string): Make =>
  ({ baseURL }) =>
    google({ baseURL, apiKey: 'any', models: models(name) });
const mixtral: Make = ({ baseURL }) => mistral({ baseURL, apiKey: 'any', models: models('mistral-large-latest') });

/** What metadata says was changed for the only attempt of a request. */
async function adjustmentsOf(make: Make, asked: Partial<ChatRequest>): Promise<readonly string[] | undefined> {
  await using upstream = await startUpstream((request, response, raw) => {
    if (!request.path.includes('generateContent')) return answerOnAnyWire(request, response, raw);
    const content = { role: 'model', parts: [{ text: 'Fine.' }] };
    sendJson(response, 200, { candidates: [{ content, finishReason: 'STOP', index: 0 }] });
  });
  const router = createRouter({ providers: [make(upstream)], fallback: { triesPerEndpoint: 1 } });
  const answer = await router.chat({ model: MODEL, messages: HI, ...asked }, { metadata: true });
  await router.close();
  const [attempt] = answer.router_metadata?.attempts ?? [];
  expect(attempt).toMatchObject({ status: 200 });
  return attempt?.adjustments;
}

const NESTED = {
  type: 'object',
  properties: { a: { type: 'string', minLength: 2 } },
  required: ['a'],
  anyOf: [{ required: ['a'] }],
};
const TOOLS = [{ type: 'function', function: { name: 'f', parameters: NESTED } }] as const;

describe('metadata says what a record changed', () => {
  it.each<readonly [string, Make, Partial<ChatRequest>, readonly string[]]>([
    [
      'a parameter that the model does not take',
      gpt('o4-mini'),
      { temperature: 0.5 },
      ['temperature was left out, because the model does not take it'],
    ],
    [
      'a parameter that the vendor has no words for',
      gpt('gpt-4.1'),
      { top_k: 5 },
      ['top_k was left out, because the model does not take it'],
    ],
    [
      'the same at Anthropic',
      claude('claude-opus-4-8'),
      { temperature: 0.5, top_k: 3 },
      [
        'temperature was left out, because the model does not take it',
        'top_k was left out, because the model does not take it',
      ],
    ],
    [
      'one of two that exclude each other',
      claude('claude-sonnet-4-5'),
      { temperature: 0.5, top_p: 0.9 },
      ['top_p was left out, because the model does not take it'],
    ],
    [
      'the same at Google',
      gemini('gemini-2.5-flash'),
      { presence_penalty: 1 },
      ['presence_penalty was left out, because the model does not take it'],
    ],
    [
      'an effort that the model does not take',
      gpt('gpt-5-mini'),
      { reasoning: { effort: 'none' } },
      ['reasoning_effort was set to minimal, the nearest that the model takes'],
    ],
    [
      'the same at Anthropic',
      claude('claude-opus-4-6'),
      { reasoning: { effort: 'xhigh' } },
      ['reasoning_effort was set to high, the nearest that the model takes'],
    ],
    [
      'the same at Google',
      gemini('gemini-3.7-flash'),
      { reasoning: { effort: 'minimal' } },
      ['reasoning_effort was set to low, the nearest that the model takes'],
    ],
    [
      'a limit that is more than the model writes',
      claude('claude-opus-4-1'),
      { max_tokens: 90_000 },
      ['max_tokens was set to 32000, the nearest that the model takes'],
    ],
    [
      'a temperature that is too high',
      mixtral,
      { temperature: 1.9 },
      ['temperature was set to 1.5, the nearest that the model takes'],
    ],
    [
      'a schema that is said in other words',
      claude('claude-sonnet-4-5'),
      { tools: TOOLS },
      ['The schema of tools[0] was rewritten in words that the provider takes'],
    ],
    [
      'the same at Google',
      gemini('gemini-3-flash'),
      { tools: TOOLS },
      ['The schema of tools[0] was rewritten in words that the provider takes'],
    ],
    [
      'a form of the answer that tools leave no room for',
      gemini('gemini-2.5-flash'),
      { tools: TOOLS.map((tool) => ({ ...tool, function: { name: 'f' } })), response_format: { type: 'json_object' } },
      ['response_format was left out, because the model has tools'],
    ],
    [
      'a choice that cannot be forced',
      claude('claude-sonnet-5-5'),
      { tools: [{ type: 'function', function: { name: 'f' } }], tool_choice: 'required' },
      ['tool_choice became an instruction, because the model cannot be forced to call a tool'],
    ],
    [
      'a strict tool that cannot be held',
      gpt('gpt-4.1'),
      {
        tools: [
          {
            type: 'function',
            function: {
              name: 'f',
              strict: true,
              parameters: { type: 'object', properties: {}, additionalProperties: { type: 'string' } },
            },
          },
        ],
      },
      ['tools[0] is not strict, because the provider cannot hold the model to its schema'],
    ],
  ])('%s', async (_what, make, asked, expected) => {
    expect(await adjustmentsOf(make, asked)).toEqual(expected);
  });

  it.each<readonly [string, Make]>([
    ['OpenAI', gpt('gpt-4.1')],
    ['OpenAI over Responses', gpt('gpt-5.6')],
    ['Anthropic', claude('claude-sonnet-4-5')],
    ['Google', gemini('gemini-3-flash')],
    ['Mistral', mixtral],
  ])('and nothing where nothing was: %s', async (_who, make) => {
    expect(await adjustmentsOf(make, {})).toBeUndefined();
    const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } } as const;
    expect(await adjustmentsOf(make, { max_tokens: 100, tools: [tool] })).toBeUndefined();
  });
});
