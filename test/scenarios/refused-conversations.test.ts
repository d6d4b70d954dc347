import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createMistral } from '@ai-sdk/mistral';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  anthropic,
  type ChatRequest,
  createRouter,
  fromAiSdk,
  google,
  openaiCompatible,
  type Provider,
} from 'signalbox';
import { deepseek, mistral, ollama, openai, lmstudio, vllm } from 'signalbox/providers';
import { describe, expect, it } from 'vitest';
import { problemsOfBody } from '../support/anthropic-schema.ts';
import { BODIES } from '../support/conversation-bodies.ts';
import { MOUNTS } from '../support/mounts.ts';
import {
  alternatingTurns,
  everyCallHasItsResult,
  filesWithNames,
  geminiTurns,
  mediaOfUsersOnly,
  orderOfMistral,
  reasoningComesBack,
  refusing,
  responsesItems,
  type SentMessage,
  stringsOnly,
  systemFirstAndOnce,
} from '../support/refusing-upstream.ts';
import { startUpstream, type Upstream, type UpstreamHandler } from '../support/upstream.ts';

type Messages = ChatRequest['messages'];

/** A provider behind a server that refuses what the real one does. */
interface Refusing {
  readonly handler: UpstreamHandler;
  readonly make: (baseURL: string) => Provider;
}

const inputModalities = ['text', 'image', 'file'] as const;
const named = (upstreamModel: string) => ({ models: { 'acme/one': { upstreamModel, inputModalities } } });
const anyServer = (upstreamModel: string) => (baseURL: string) =>
  openaiCompatible({ slug: 'up', baseURL, ...named(upstreamModel) });

type SdkModel = Parameters<typeof fromAiSdk>[0] & { readonly specificationVersion: string };

const sdk = (model: SdkModel) => fromAiSdk({ slug: 'up', models: { 'acme/one': { model, inputModalities } } });

const PROVIDERS: Readonly<Record<string, Refusing>> = {
  OpenAI: {
    handler: refusing(mediaOfUsersOnly, everyCallHasItsResult, filesWithNames),
    make: (baseURL) => openai({ apiKey: 'k', baseURL, ...named('gpt-5-mini') }),
  },
  DeepSeek: {
    handler: refusing(mediaOfUsersOnly, everyCallHasItsResult, systemFirstAndOnce, stringsOnly, reasoningComesBack),
    make: (baseURL) => deepseek({ apiKey: 'k', baseURL, ...named('deepseek-v4-pro') }),
  },
  Mistral: {
    handler: refusing(mediaOfUsersOnly, everyCallHasItsResult, orderOfMistral),
    make: (baseURL) => mistral({ apiKey: 'k', baseURL, ...named('mistral-large-latest') }),
  },
  'Qwen on vLLM': {
    handler: refusing(mediaOfUsersOnly, everyCallHasItsResult, systemFirstAndOnce, stringsOnly),
    make: (baseURL) => vllm({ baseURL, ...named('Qwen/Qwen3.5-27B') }),
  },
  'Devstral on LM Studio': {
    handler: refusing(
      mediaOfUsersOnly,
      everyCallHasItsResult,
      systemFirstAndOnce,
      stringsOnly,
      alternatingTurns,
      (messages) => (messages.at(-1)?.role === 'assistant' ? undefined : orderOfMistral(messages, {})),
    ),
    make: (baseURL) => lmstudio({ baseURL, ...named('mistralai/devstral-small-2') }),
  },
  'Llama on Ollama': {
    handler: refusing(mediaOfUsersOnly, everyCallHasItsResult, systemFirstAndOnce, stringsOnly),
    make: (baseURL) => ollama({ baseURL, ...named('llama4') }),
  },
  'a server that nothing is known of': {
    handler: refusing(mediaOfUsersOnly, everyCallHasItsResult, systemFirstAndOnce, stringsOnly, filesWithNames),
    make: anyServer('some-model'),
  },
  'DeepSeek behind a server that nothing is known of': {
    handler: refusing(everyCallHasItsResult, stringsOnly, reasoningComesBack),
    make: anyServer('deepseek-reasoner'),
  },
  "OpenAI's Responses": {
    handler: (request, response, raw) => {
      const handler = request.path.endsWith('/responses')
        ? responsesItems
        : refusing(mediaOfUsersOnly, everyCallHasItsResult, filesWithNames);
      handler(request, response, raw);
    },
    make: (baseURL) => openai({ apiKey: 'k', baseURL, nativeApiFormats: ['responses'], ...named('gpt-5-mini') }),
  },
  Gemini: {
    handler: geminiTurns,
    make: (baseURL) => google({ apiKey: 'k', baseURL: baseURL.replace('/v1', '/v1beta'), ...named('gemini-3-flash') }),
  },
  'a server through the AI SDK that wants names of files': {
    handler: refusing(mediaOfUsersOnly, everyCallHasItsResult, filesWithNames),
    make: (baseURL) => sdk(createOpenAICompatible({ name: 'own-server', baseURL })('one')),
  },
  'Mistral through the AI SDK': {
    handler: refusing(mediaOfUsersOnly, everyCallHasItsResult, orderOfMistral),
    make: (baseURL) => sdk(createMistral({ apiKey: 'k', baseURL })('mistral-large-latest')),
  },
  'Gemini through the AI SDK': {
    handler: geminiTurns,
    make: (baseURL) => sdk(createGoogleGenerativeAI({ apiKey: 'k', baseURL })('gemini-3-flash')),
  },
  'Qwen through the AI SDK': {
    handler: refusing(mediaOfUsersOnly, everyCallHasItsResult, systemFirstAndOnce, stringsOnly),
    make: (baseURL) => sdk(createOpenAICompatible({ name: 'own-server', baseURL })('Qwen/Qwen3.5-27B')),
  },
  Anthropic: {
    handler: (request, response) => {
      const problems = problemsOfBody(request.body);
      response.writeHead(problems.length === 0 ? 200 : 400, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify(
          problems.length === 0
            ? {
                id: 'msg_1',
                type: 'message',
                role: 'assistant',
                model: 'm',
                content: [{ type: 'text', text: 'Understood' }],
                stop_reason: 'end_turn',
                usage: { input_tokens: 1, output_tokens: 1 },
              }
            : { type: 'error', error: { type: 'invalid_request_error', message: problems.join('; ') } },
        ),
      );
    },
    make: (baseURL) => anthropic({ apiKey: 'k', baseURL, ...named('claude-sonnet-4-5') }),
  },
};

const user = (content: string) => ({ role: 'user', content }) as const;
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } } as const;
const text = (said: string) => ({ type: 'text', text: said }) as const;
const pdf = { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=' } } as const;
const calls = (...ids: readonly string[]): Extract<Messages[number], { readonly role: 'assistant' }> => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })),
});
const result = (id: string, content: string | readonly object[] = 'Clear.') =>
  ({ role: 'tool', tool_call_id: id, content }) as Messages[number];

const CONVERSATIONS: Readonly<Record<string, Messages>> = {
  'a picture in a result': [user('Look'), calls('a', 'b'), result('a', [text('Seen'), image]), result('b', [image])],
  'a picture in a result, and a question after it': [
    user('Look'),
    calls('a'),
    result('a', [image]),
    user('What is it?'),
  ],
  'a file without a name': [{ role: 'user', content: [text('Read'), pdf] }],
  'a file in a result': [user('Look'), calls('a'), result('a', [text('Here'), pdf])],
  'calls of which one has a result': [user('Look'), calls('a', 'b'), result('a'), user('Well?')],
  'a call without a result': [user('Look'), calls('a'), user('Never mind')],
  'a call at the end': [user('Look'), calls('a')],
  'results in another order': [user('Look'), calls('a', 'b'), result('b'), result('a')],
  'a result twice': [user('Look'), calls('a'), result('a'), result('a'), user('Well?')],
  'a second result': [user('Look'), calls('a'), result('a'), result('a', 'Now red.'), user('Well?')],
  'a result after the user went on': [user('Look'), calls('a'), user('Are you there?'), result('a')],
  'a history that begins with a call': [calls('a'), result('a'), user('Well?')],
  'a history that begins with a call after instructions': [
    { role: 'system', content: 'Be brief.' },
    calls('a'),
    result('a'),
  ],
  'the user after a result': [user('Look'), calls('a'), result('a'), user('And now?')],
  'instructions after a result': [
    user('Look'),
    calls('a'),
    result('a'),
    { role: 'system', content: 'Answer in French.' },
    user('And now?'),
  ],
  'instructions in the middle': [
    { role: 'system', content: 'Be brief.' },
    user('Hi'),
    { role: 'assistant', content: 'Hello' },
    user('Look'),
    { role: 'system', content: 'Answer in French.' },
  ],
  'several instructions at the beginning': [
    { role: 'system', content: [text('Be brief.'), text('Be kind.')] },
    { role: 'developer', content: 'Be right.' },
    user('Hi'),
  ],
  'texts in parts': [
    { role: 'system', content: [text('Be brief.')] },
    { role: 'user', content: [text('One.'), text('Two.')] },
    { role: 'assistant', content: [text('Three.'), text('Four.')] },
    user('Look'),
    calls('a'),
    result('a', [text('Five.'), text('Six.')]),
  ],
  'marked blocks': [
    { role: 'system', content: [{ ...text('Be brief.'), cache_control: { type: 'ephemeral' } }] },
    { role: 'user', content: [{ ...text('Hi'), cache_control: { type: 'ephemeral' } }] },
  ],
  'empty parts and turns': [
    { role: 'user', content: [text(''), text('Look')] },
    { role: 'assistant', content: [text('')] },
    { role: 'user', content: [text('Well?')] },
  ],
  'turns of one role after each other': [user('One.'), user('Two.'), { role: 'assistant', content: 'A.' }, user('B?')],
  'a model that speaks first': [{ role: 'assistant', content: 'Hello' }, user('Hi')],
  'a beginning to go on with': [user('Count'), { role: 'assistant', content: 'One, two,' }],
};

interface Asked {
  readonly status: number;
  readonly text: string;
}

/** Asks a router in front of a server that refuses, over sockets on both sides. */
async function ask(name: string, path: string, body: object): Promise<Asked & { readonly sent: Upstream['requests'] }> {
  const provider = PROVIDERS[name];
  if (provider === undefined) throw new Error(`no provider ${name}`);
  await using upstream = await startUpstream(provider.handler);
  const router = createRouter({
    providers: [provider.make(upstream.baseURL)],
    allowAnonymous: true,
    fallback: { triesPerEndpoint: 1 },
    on: { warning: () => {} },
  });
  await using mounted = await MOUNTS['node']?.(router);
  const response = await fetch(`${mounted?.baseURL}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-router-metadata': 'enabled' },
    body: JSON.stringify({ model: 'acme/one', ...body }),
  });
  const asked = { status: response.status, text: await response.text(), sent: upstream.requests };
  await router.close();
  return asked;
}

// A native body to Anthropic stays as the caller wrote it.
const formatsOf = (name: string): readonly string[] =>
  Object.keys(BODIES).filter((path) => name !== 'Anthropic' || path !== '/messages');

/** What a model cannot be shown in any way: its endpoint is left out, with the reason. */
const UNSEEN: Readonly<Record<string, RegExp>> = {
  DeepSeek: /\b(?:picture|file)\b/,
  'Llama on Ollama': /\bfile\b/,
  'Devstral on LM Studio': /\bfile\b/,
};

describe.each(Object.keys(PROVIDERS))('%s takes', (name) => {
  it.each(Object.entries(CONVERSATIONS))('%s', async (conversation, messages) => {
    if (UNSEEN[name]?.test(conversation) === true) {
      const { status, text: answer, sent } = await ask(name, '/chat/completions', { messages });
      expect([status, sent]).toEqual([400, []]);
      return expect(answer).toMatch(/is of the kind (?:image|file), which this provider does not take/);
    }
    for (const path of formatsOf(name)) {
      for (const stream of [false, true]) {
        const { status, text: answer } = await ask(name, path, { ...BODIES[path]?.(messages), stream });
        expect([path, stream, status, status === 200 ? '' : answer]).toEqual([path, stream, 200, '']);
        expect(answer).toContain('Understood');
      }
    }
  });
});

describe('what goes to the provider', () => {
  const sentTo = async (name: string, messages: Messages): Promise<readonly SentMessage[]> => {
    const { sent } = await ask(name, '/chat/completions', { messages });
    return sent[0]?.body['messages'] as readonly SentMessage[];
  };

  it('has pictures of results behind the last of them', async () => {
    expect(await sentTo('OpenAI', CONVERSATIONS['a picture in a result'] ?? [])).toMatchObject([
      { role: 'user' },
      { role: 'assistant' },
      { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'Seen' }] },
      { role: 'tool', tool_call_id: 'b', content: 'The result follows in the next message.' },
      { role: 'user', content: [image, image] },
    ]);
  });

  it('has instructions in one text at the beginning, and later ones where they were', async () => {
    const several = await sentTo('Qwen on vLLM', CONVERSATIONS['several instructions at the beginning'] ?? []);
    expect(several[0]).toEqual({ role: 'system', content: 'Be brief.\n\nBe kind.\n\nBe right.' });
    const later = await sentTo('Qwen on vLLM', CONVERSATIONS['instructions in the middle'] ?? []);
    expect(later.at(-1)).toEqual({ role: 'user', content: 'Answer in French.' });
  });

  it('has a short turn of the model between results and the user at Mistral, and nowhere else', async () => {
    const conversation = CONVERSATIONS['the user after a result'] ?? [];
    expect((await sentTo('Mistral', conversation)).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
    ]);
    expect(await sentTo('OpenAI', conversation)).toHaveLength(4);
  });

  it('is the very conversation where nothing has to be changed', async () => {
    const plain: Messages = [
      { role: 'system', content: 'Be brief.' },
      user('Look'),
      { ...calls('a'), content: 'Yes.' },
      result('a'),
      { role: 'assistant', content: 'Clear.' },
      user('Thanks'),
    ];
    for (const name of ['OpenAI', 'Qwen on vLLM', 'a server that nothing is known of']) {
      expect(await sentTo(name, plain)).toEqual(plain);
    }
  });
});

describe('what was repaired', () => {
  it('is said in metadata, the same for every provider', async () => {
    for (const name of ['OpenAI', 'Gemini']) {
      const { text: answer } = await ask(name, '/chat/completions', {
        messages: CONVERSATIONS['calls of which one has a result'],
      });
      const { router_metadata: metadata } = JSON.parse(answer) as Record<string, { attempts: object[] }>;
      expect(metadata?.attempts[0]).toMatchObject({
        adjustments: ['A tool call without a result got one that says so'],
      });
    }
    const { text: plain } = await ask('OpenAI', '/chat/completions', { messages: [user('Hi')] });
    expect(plain).not.toContain('adjustments');
  });
});

describe('a document that is named by its address', () => {
  const messages: Messages = [
    {
      role: 'user',
      content: [text('Read'), { type: 'file', file: { file_data: 'http://127.0.0.1:1/report.pdf' } }],
    },
  ];

  it('is fetched by the guarded fetcher, and another endpoint is asked where that refuses', async () => {
    await using strict = await startUpstream(PROVIDERS['OpenAI']?.handler);
    await using lenient = await startUpstream();
    const router = createRouter({
      providers: [
        openai({ apiKey: 'k', baseURL: strict.baseURL, ...named('gpt-5-mini') }),
        openaiCompatible({
          slug: 'lenient',
          baseURL: lenient.baseURL,
          quirks: { conversation: { fileAddresses: true } },
          ...named('one'),
        }),
      ],
      // The door lets it through, and the fetcher finds nobody there.
      net: { allowPrivate: ['127.0.0.1:1'] },
      on: { warning: () => {} },
    });
    const { provider } = await router.chat({
      model: 'acme/one',
      messages,
      provider: { order: ['openai', 'lenient'] },
    });
    expect([provider, strict.requests.length, lenient.requests.length]).toEqual(['lenient', 0, 1]);
    await expect(router.chat({ model: 'acme/one', messages, provider: { only: ['openai'] } })).rejects.toThrow(
      'messages[0].content[1].file.file_data cannot be used with this provider.',
    );
    await router.close();
  });
});
