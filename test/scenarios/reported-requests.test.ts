import {
  anthropic,
  createRouter,
  deepseek,
  groq,
  lmstudio,
  mistral,
  ollama,
  openai,
  openaiCompatible,
  type Provider,
  vllm,
  xai,
} from 'signalbox';
import { describe, expect, it } from 'vitest';
import { type Asked, CALLERS, type Format, sendAs } from '../support/callers.ts';
import { answerOnAnyWire, refuse } from '../support/strict-schemas.ts';
import { type ReceivedRequest, startUpstream, type Upstream } from '../support/upstream.ts';

type Json = Readonly<Record<string, unknown>>;
type Make = (upstream: Upstream) => Provider;
type Problem = (body: Json) => string | undefined;

const MODEL = 'acme/one';
const as =
  (make: typeof openai, upstreamModel: string): Make =>
  ({ baseURL }) =>
    make({ baseURL, apiKey: 'any', models: { [MODEL]: { upstreamModel } } });

/** What a provider answers that refuses what a report says. */
async function ask(
  make: Make,
  problem: Problem,
  format: Format,
  stream: boolean,
  asked: Asked,
): Promise<readonly Json[]> {
  const refused: string[] = [];
  await using upstream = await startUpstream((request: ReceivedRequest, response, raw) => {
    const said = problem(request.body);
    if (said === undefined) return answerOnAnyWire(request, response, raw);
    refused.push(said);
    refuse(response, request, said);
  });
  const router = createRouter({ providers: [make(upstream)], allowAnonymous: true });
  const { status, text } = await sendAs(router, format, stream, asked);
  await router.close();
  expect(refused).toEqual([]);
  expect([status, text.includes('Fine.')]).toEqual([200, true]);
  return upstream.requests.map(({ body }) => body);
}

const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : []);
const holds = (value: unknown, ...words: readonly string[]): string | undefined =>
  words.find((word) => JSON.stringify(value ?? null).includes(`"${word}":`));

/** A conversation with a call whose turn says nothing, in every format. */
const CALLED: Asked = {
  model: MODEL,
  tools: [{ name: 'add', parameters: { type: 'object', properties: {} } }],
  chat: {
    messages: [
      { role: 'user', content: 'Add.' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'add', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: '2' },
    ],
  },
  messages: {
    messages: [
      { role: 'user', content: 'Add.' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'add', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: '2' }] },
    ],
  },
  responses: {
    input: [
      { role: 'user', content: 'Add.' },
      { type: 'function_call', call_id: 'c1', name: 'add', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: '2' },
    ],
  },
};

const noNull: Problem = ({ messages }) =>
  list(messages).some(({ content }) => content === null || content === undefined)
    ? 'invalid message content type: <nil>'
    : undefined;

const PARAMETERS = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 9 },
    tags: { type: 'array', items: { type: 'string', format: 'uri' }, minItems: 1 },
    extra: { type: 'object' },
  },
  required: ['name', 'tags', 'extra'],
} as const;
const WITH_TOOL: Asked = { model: MODEL, tools: [{ name: 'tag', parameters: PARAMETERS }] };
const STRICT: Asked = { model: MODEL, tools: [{ name: 'tag', parameters: PARAMETERS, strict: true }] };
const FORM = { name: 'tags', strict: true, schema: PARAMETERS } as const;
const WITH_FORM: Asked = {
  model: MODEL,
  chat: { response_format: { type: 'json_schema', json_schema: FORM } },
  messages: { output_config: { format: { type: 'json_schema', schema: PARAMETERS } } },
  responses: { text: { format: { type: 'json_schema', ...FORM } } },
};

const LONG = `mcp__${'a_server_with_a_long_name_'.repeat(3)}__list`.slice(0, 100);
const IMAGE = 'data:image/png;base64,iVBORw0KGgo=';

/** Reports of comparable systems: what is sent where, and what the provider refuses in it. */
const REPORTS: readonly (readonly [report: string, make: Make, problem: Problem, asked: Asked])[] = [
  ['Ollama takes no null content (cheetahclaws#72)', as(ollama, 'qwen3'), noNull, CALLED],
  ['LM Studio takes none (lmstudio-bug-tracker#261)', as(lmstudio, 'qwen2.5-7b'), noNull, CALLED],
  ['mistral-common takes none (mistral-common#324)', as(vllm, 'mistralai/Mistral-Small-3.2'), noNull, CALLED],
  [
    'proxies take none (one-api#784)',
    ({ baseURL }) => openaiCompatible({ slug: 'up', baseURL, models: { [MODEL]: { upstreamModel: 'one' } } }),
    noNull,
    CALLED,
  ],
  [
    'xAI takes no lengths in tools (openclaw#32080)',
    as(xai, 'grok-4'),
    ({ tools }) => holds(tools, 'minLength', 'maxLength', 'minItems', 'maxItems', 'minContains', 'maxContains'),
    WITH_TOOL,
  ],
  [
    'xAI takes none in a form of the answer',
    as(xai, 'grok-4'),
    ({ response_format: format }) => holds(format, 'minLength', 'maxLength', 'minItems', 'maxItems'),
    WITH_FORM,
  ],
  [
    'an open object must say so at xAI',
    as(xai, 'grok-4'),
    ({ tools }) =>
      JSON.stringify(tools).includes('"additionalProperties":true') ? undefined : 'extra is always empty',
    WITH_TOOL,
  ],
  [
    'Groq takes no minItems (beeai-framework#1215, presenton#165)',
    as(groq, 'openai/gpt-oss-120b'),
    ({ response_format: format }) => {
      const { json_schema: form = {} } = (format ?? {}) as { json_schema?: { strict?: boolean } };
      return form.strict === true ? holds(format, 'minItems', 'maxItems') : undefined;
    },
    WITH_FORM,
  ],
  [
    'DeepSeek takes no objects without properties in strict tools (weave-os/router#163)',
    as(deepseek, 'deepseek-v4-pro'),
    ({ tools }) => {
      const [{ function: tool } = { function: {} }] = list(tools) as readonly { function: { strict?: boolean } }[];
      return tool.strict === true ? 'An object with no properties is not allowed' : undefined;
    },
    STRICT,
  ],
  [
    'OpenAI takes names of 64 characters (litellm#17904, ai-workflows#619)',
    as(openai, 'gpt-4.1'),
    ({ tools }) =>
      list(tools).some((tool) => String((tool['function'] as Json)['name']).length > 64)
        ? "Invalid 'tools[0].function.name': string too long."
        : undefined,
    // The other formats take no more themselves.
    { model: MODEL, messages: { tools: [{ name: LONG, input_schema: { type: 'object', properties: {} } }] } },
  ],
  [
    'Claude takes no empty text, and no mark on one (claude-code#61123, vercel/ai#5576)',
    as(anthropic, 'claude-sonnet-4-5'),
    ({ messages }) =>
      list(messages).some(({ content }) => list(content).some(({ type, text }) => type === 'text' && text === ''))
        ? 'messages: text content blocks must be non-empty'
        : undefined,
    {
      model: MODEL,
      chat: {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'image_url', image_url: { url: IMAGE } },
              { type: 'text', text: '', cache_control: { type: 'ephemeral' } },
            ],
          },
        ],
      },
      responses: {
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_image', image_url: IMAGE },
              { type: 'input_text', text: '' },
            ],
          },
        ],
      },
    },
  ],
  [
    'OpenAI takes no empty text beside a picture either',
    as(openai, 'gpt-4.1'),
    ({ messages }) =>
      list(messages).some(({ content }) => list(content).some(({ type, text }) => type === 'text' && text === ''))
        ? 'text content must be non-empty'
        : undefined,
    {
      model: MODEL,
      messages: {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
              { type: 'text', text: '', cache_control: { type: 'ephemeral' } },
            ],
          },
        ],
      },
    },
  ],
  [
    'Mistral wants a name for the form of an answer (Portkey gateway#1615)',
    as(mistral, 'mistral-large-latest'),
    ({ response_format: format }) => {
      const { json_schema: form } = (format ?? {}) as { json_schema?: { name?: string } };
      return form !== undefined && !form.name ? 'json_schema.name: Field required' : undefined;
    },
    WITH_FORM,
  ],
];

describe.each(CALLERS)('a report from elsewhere, of a client on %s', (_name, format, stream) => {
  it.each(REPORTS)('%s', async (_report, make, problem, asked) => {
    const bodies = await ask(make, problem, format, stream, asked);
    expect(bodies).toHaveLength(1);
  });
});
