import {
  type ChatRequest,
  type EndpointDeclaration,
  type Explanation,
  type Provider,
  type Router,
  anthropic,
  azure,
  createRouter,
  deepinfra,
  deepseek,
  fireworks,
  fromAiSdk,
  google,
  groq,
  lmstudio,
  mistral,
  ollama,
  openai,
  openaiCompatible,
  openrouter,
  simulated,
  together,
  vllm,
  xai,
} from 'signalbox';
import { describe, expect, it } from 'vitest';
import { handMade } from '../support/ai-sdk-models.ts';

type Asked = Omit<ChatRequest, 'model' | 'messages'> & { readonly content?: unknown };

/** Something that a request may use, what declares that an endpoint can do it, and what declares that it cannot. */
interface Feature {
  readonly request: Asked;
  readonly able: EndpointDeclaration;
  readonly unable: EndpointDeclaration;
  /** Why an endpoint is left out. */
  readonly reason: string;
  /** Not knowing whether an endpoint can do it means that it can: it is what most do. */
  readonly presumed?: boolean;
}

const PICTURE = 'data:image/png;base64,iVBORw0KGgo=';
const TOOLS: Asked = { tools: [{ type: 'function', function: { name: 'look' } }] };

/** A parameter that only counts where the caller says so; otherwise it may be left out. */
function required(name: keyof NonNullable<EndpointDeclaration['abilities']>, request: Asked): Feature {
  return {
    request: { ...request, provider: { require_parameters: true } },
    able: { abilities: { [name]: true, tools: true } },
    unable: { abilities: { [name]: false, tools: true } },
    reason: 'require_parameters',
  };
}

const FEATURES: Readonly<Record<string, Feature>> = {
  tools: {
    request: TOOLS,
    able: { abilities: { tools: true } },
    unable: { abilities: { tools: false } },
    reason: 'tools',
  },
  'a forced tool': {
    request: { ...TOOLS, tool_choice: 'required' },
    able: { abilities: { tools: true }, toolChoices: ['auto', 'required'] },
    unable: { abilities: { tools: true }, toolChoices: ['auto', 'none'] },
    reason: 'tool_choice',
  },
  images: {
    request: { content: [{ type: 'image_url', image_url: { url: PICTURE } }] },
    able: { inputModalities: ['text', 'image'] },
    unable: { inputModalities: ['text'] },
    reason: 'input_modality',
  },
  sound: {
    request: { content: [{ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }] },
    able: { inputModalities: ['text', 'audio'] },
    unable: { inputModalities: ['text', 'image'] },
    reason: 'input_modality',
  },
  video: {
    request: { content: [{ type: 'video_url', video_url: { url: 'https://example.org/a.mp4' } }] },
    able: { inputModalities: ['text', 'video'] },
    unable: { inputModalities: ['text', 'image'] },
    reason: 'input_modality',
  },
  'images as an answer': {
    request: { modalities: ['text', 'image'] },
    able: { outputModalities: ['text', 'image'] },
    unable: { outputModalities: ['text'] },
    reason: 'output_modality',
  },
  'an answer without reasoning': {
    request: { reasoning: { effort: 'none' } },
    able: { reasoning: { efforts: ['none', 'low', 'high'] } },
    unable: { reasoning: { efforts: ['low', 'high'], mandatory: true } },
    reason: 'reasoning',
    presumed: true,
  },
  'a long answer': {
    request: { max_tokens: 50_000 },
    able: { maxOutputTokens: 64_000 },
    unable: { maxOutputTokens: 8_000 },
    reason: 'max_output_tokens',
    presumed: true,
  },
  'a long prompt': {
    request: { content: 'word '.repeat(40_000) },
    able: { contextLength: 400_000 },
    unable: { contextLength: 8_000 },
    reason: 'context_length',
    presumed: true,
  },
  'a JSON Schema that must hold': required('structured_outputs', {
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' } } },
  }),
  'log probabilities that must come': required('logprobs', { logprobs: true }),
  'a seed that must count': required('seed', { seed: 7 }),
  'parallel calls that must not happen': required('parallel_tool_calls', { ...TOOLS, parallel_tool_calls: false }),
  'reasoning that must happen': {
    ...required('reasoning', { reasoning: { effort: 'high' } }),
    unable: { abilities: { reasoning: false, reasoning_effort: false } },
  },
};

type Offers = readonly EndpointDeclaration[];

/** Every way to make a provider, for a model with these endpoints. */
const PROVIDERS: Readonly<Record<string, (models: { readonly 'acme/one': Offers }) => Provider>> = {
  openai: (models) => openai({ apiKey: 'key', models }),
  anthropic: (models) => anthropic({ apiKey: 'key', models }),
  google: (models) => google({ apiKey: 'key', models }),
  azure: (models) => azure({ resource: 'mine', apiKey: 'key', models }),
  groq: (models) => groq({ apiKey: 'key', models }),
  together: (models) => together({ apiKey: 'key', models }),
  fireworks: (models) => fireworks({ apiKey: 'key', models }),
  deepinfra: (models) => deepinfra({ apiKey: 'key', models }),
  deepseek: (models) => deepseek({ apiKey: 'key', models }),
  mistral: (models) => mistral({ apiKey: 'key', models }),
  xai: (models) => xai({ apiKey: 'key', models }),
  openrouter: (models) => openrouter({ apiKey: 'key', models }),
  ollama: (models) => ollama({ models }),
  vllm: (models) => vllm({ models }),
  lmstudio: (models) => lmstudio({ models }),
  house: (models) => openaiCompatible({ slug: 'house', baseURL: 'http://127.0.0.1:9/v1', models }),
  sdk: ({ 'acme/one': offers }) =>
    fromAiSdk({
      slug: 'sdk',
      models: { 'acme/one': offers.map((offer) => ({ ...offer, model: handMade({ provider: 'own-server.chat' }) })) },
    }),
  simulated: (models) => simulated({ models }),
};

/** Parameters that a wire has no words for, so that no declaration helps. */
const SPEECHLESS: Readonly<Record<string, readonly string[]>> = {
  anthropic: ['log probabilities that must come', 'a seed that must count'],
  google: ['parallel calls that must not happen'],
  groq: ['log probabilities that must come'],
  mistral: ['log probabilities that must come'],
  deepseek: ['a seed that must count'],
};

function routerOver(slug: string, offers: Offers, unknownCapability: 'allow' | 'exclude'): Router {
  const provider = PROVIDERS[slug]?.({ 'acme/one': offers });
  if (provider === undefined) throw new RangeError(slug);
  return createRouter({ providers: [provider], selection: { unknownCapability } });
}

async function explained(router: Router, { content = 'Hello', ...request }: Asked): Promise<Explanation | undefined> {
  const body = { model: 'acme/one', messages: [{ role: 'user', content }], ...request };
  return router.explain(body as unknown as ChatRequest);
}

/** What would happen to each endpoint: `used`, or the reason why not. */
async function fates(router: Router, request: Asked): Promise<Readonly<Record<string, string>>> {
  const { steps = [], rejected = [] } = (await explained(router, request)) ?? {};
  return Object.fromEntries([
    ...steps.map(({ tag }) => [tag.split('/')[1], 'used']),
    ...rejected.map(({ tag, reason, undeclared }) => [tag.split('/')[1], undeclared === true ? `${reason}?` : reason]),
  ]) as Readonly<Record<string, string>>;
}

describe.each(Object.keys(PROVIDERS))('endpoints of %s', (slug) => {
  it.each(Object.entries(FEATURES))('are asked for %s only where they can do it', async (name, feature) => {
    const { request, able, unable, reason, presumed = false } = feature;
    const offers = [{ tag: 'able', ...able }, { tag: 'unable', ...unable }, { tag: 'silent' }];
    const mute = SPEECHLESS[slug]?.includes(name) === true;
    const open = await fates(routerOver(slug, offers, 'allow'), request);
    expect(open).toEqual({
      able: mute ? reason : 'used',
      unable: reason,
      silent: mute ? reason : 'used',
    });
    const strict = await fates(routerOver(slug, offers, 'exclude'), request);
    expect(strict['unable']).toBe(reason);
    // What nobody declared is told apart from what cannot be.
    if (!mute) expect(strict['silent']).toMatch(presumed ? /^used$/ : /\?$/);
  });

  it('are asked for files whatever they take, because files can be parsed into text', async () => {
    const file = { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' };
    const offers = [
      { tag: 'able', inputModalities: ['text', 'file'] },
      { tag: 'unable', inputModalities: ['text'] },
    ] as const;
    const router = routerOver(slug, offers, 'allow');
    expect(await fates(router, { content: [{ type: 'file', file }] })).toEqual({ able: 'used', unable: 'used' });
  });

  it('are asked for one answer, whatever number a request names', async () => {
    const router = routerOver(slug, [{ tag: 'able' }], 'exclude');
    expect(await fates(router, { n: 4 } as unknown as Asked)).toEqual({ able: 'used' });
  });
});
