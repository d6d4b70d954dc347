import { describe, expect, it } from 'vitest';
import type { VendorQuirks } from '../../../src/providers/openai-compatible/vendor-quirks.ts';
import { AZURE_QUIRKS, VENDOR_PRESETS } from '../../../src/providers/openai-compatible/presets.ts';
import { acceptsOfVendor, encodedWhole } from '../../support/encoded.ts';
import { readProjectFile } from '../../support/source-files.ts';

/** A request that touches everything in which vendors differ. */
const RICH = {
  messages: [
    { role: 'developer', content: 'Be brief.' },
    {
      role: 'user',
      name: 'Ada',
      content: [
        { type: 'text', text: 'Look', cache_control: { type: 'ephemeral' } },
        { type: 'image_url', image_url: { url: 'https://x.test/a.png', detail: 'original' } },
      ],
    },
    {
      role: 'assistant',
      content: 'Looking',
      reasoning: 'Hm.',
      reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }],
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'Seen' },
  ],
  tools: [{ type: 'function', function: { name: 'f' } }],
  tool_choice: 'required',
  parallel_tool_calls: true,
  max_tokens: 100,
  temperature: 1.8,
  seed: 7,
  top_k: 40,
  logprobs: true,
  verbosity: 'low',
  prediction: { type: 'content', content: 'x' },
  reasoning: { effort: 'xhigh' },
  service_tier: 'flex',
  prompt_cache_key: 'k',
  stream: true,
};

/** What of it differs from this, by vendor. */
const PLAIN = {
  model: 'one-instruct',
  messages: [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      name: 'Ada',
      content: [
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url: 'https://x.test/a.png', detail: 'high' } },
      ],
    },
    { role: 'assistant', content: 'Looking', tool_calls: RICH.messages[2]?.tool_calls },
    { role: 'tool', tool_call_id: 'call_1', content: 'Seen' },
  ],
  tools: RICH.tools,
  tool_choice: 'required',
  parallel_tool_calls: true,
  max_tokens: 100,
  temperature: 1.8,
  seed: 7,
  top_k: 40,
  logprobs: true,
  verbosity: 'low',
  prediction: { type: 'content', content: 'x' },
  reasoning_effort: 'xhigh',
  user: 'user_test',
  stream: true,
  stream_options: { include_usage: true },
};

function withoutMedia(message: (typeof RICH.messages)[number]): object {
  const { content } = message;
  return typeof content === 'string' ? message : { ...message, content: content.filter(({ type }) => type === 'text') };
}

type Differences = Readonly<Record<string, unknown>>;

/** A message of {@link PLAIN} with differences of its own. */
const message = (index: number, differences: object): unknown => ({ ...PLAIN.messages[index], ...differences });
const messages = (changes: Readonly<Record<number, object>>): readonly unknown[] =>
  PLAIN.messages.map((_, index) => message(index, changes[index] ?? {}));
const original = { type: 'image_url', image_url: { url: 'https://x.test/a.png', detail: 'original' } };
const high = { type: 'image_url', image_url: { url: 'https://x.test/a.png', detail: 'high' } };
const withoutName = [{ type: 'text', text: 'Ada:' }, { type: 'text', text: 'Look' }, high];

const VENDORS: Readonly<Record<string, readonly [quirks: VendorQuirks, differences: Differences]>> = {
  openai: [
    VENDOR_PRESETS.openai.quirks,
    {
      messages: messages({
        0: { role: 'developer' },
        1: { content: [{ type: 'text', text: 'Look', prompt_cache_breakpoint: { mode: 'explicit' } }, original] },
      }),
      max_tokens: undefined,
      max_completion_tokens: 100,
      top_k: undefined,
      user: undefined,
      safety_identifier: 'user_test',
      service_tier: 'flex',
      prompt_cache_key: 'k',
      stream_options: { include_usage: true, include_obfuscation: false },
    },
  ],
  azure: [
    AZURE_QUIRKS,
    {
      messages: messages({ 0: { role: 'developer' } }),
      max_tokens: undefined,
      max_completion_tokens: 100,
      top_k: undefined,
      prompt_cache_key: 'k',
    },
  ],
  groq: [
    VENDOR_PRESETS.groq.quirks,
    {
      messages: messages({ 1: { name: undefined, content: withoutName } }),
      max_tokens: undefined,
      max_completion_tokens: 100,
      top_k: undefined,
      logprobs: undefined,
      prediction: undefined,
      verbosity: undefined,
      reasoning_effort: undefined,
      service_tier: 'flex',
    },
  ],
  together: [
    VENDOR_PRESETS.together.quirks,
    { messages: messages({ 2: { reasoning: 'Hm.' } }), verbosity: undefined, prediction: undefined },
  ],
  fireworks: [
    VENDOR_PRESETS.fireworks.quirks,
    { messages: messages({ 2: { reasoning_content: 'Hm.' } }), verbosity: undefined },
  ],
  deepinfra: [
    VENDOR_PRESETS.deepinfra.quirks,
    { messages: messages({ 2: { reasoning_content: 'Hm.' } }), verbosity: undefined, prediction: undefined },
  ],
  deepseek: [
    VENDOR_PRESETS.deepseek.quirks,
    {
      // It reads no pictures.
      messages: messages({ 1: { content: 'Look' }, 2: { reasoning_content: 'Hm.' } }),
      seed: undefined,
      top_k: undefined,
      verbosity: undefined,
      prediction: undefined,
      thinking: { type: 'enabled' },
      reasoning_effort: 'max',
      user: undefined,
      user_id: 'user_test',
    },
  ],
  mistral: [
    VENDOR_PRESETS.mistral.quirks,
    {
      messages: messages({
        1: { name: undefined, content: withoutName },
        2: { tool_calls: [expect.objectContaining({ id: expect.stringMatching(/^[a-zA-Z0-9]{9}$/) })] },
        3: { tool_call_id: expect.stringMatching(/^[a-zA-Z0-9]{9}$/) },
      }),
      tool_choice: 'any',
      temperature: 1.5,
      seed: undefined,
      random_seed: 7,
      top_k: undefined,
      logprobs: undefined,
      verbosity: undefined,
      reasoning_effort: 'max',
      user: undefined,
      stream_options: undefined,
    },
  ],
  xai: [
    VENDOR_PRESETS.xai.quirks,
    {
      messages: messages({ 2: { reasoning_content: 'Hm.' } }),
      max_tokens: undefined,
      max_completion_tokens: 100,
      top_k: undefined,
      verbosity: undefined,
      prediction: undefined,
      reasoning_effort: 'high',
    },
  ],
  openrouter: [
    VENDOR_PRESETS.openrouter.quirks,
    {
      messages: messages({
        1: { content: [{ type: 'text', text: 'Look', cache_control: { type: 'ephemeral' } }, original] },
        2: { reasoning: 'Hm.', reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }] },
      }),
      reasoning_effort: undefined,
      reasoning: { effort: 'xhigh' },
      service_tier: 'flex',
      prompt_cache_key: 'k',
    },
  ],
  ollama: [
    VENDOR_PRESETS.ollama.quirks,
    {
      messages: messages({ 2: { reasoning: 'Hm.' } }),
      verbosity: undefined,
      prediction: undefined,
      reasoning_effort: 'high',
    },
  ],
  vllm: [
    VENDOR_PRESETS.vllm.quirks,
    { messages: messages({ 2: { reasoning_content: 'Hm.' } }), verbosity: undefined, prediction: undefined },
  ],
  lmstudio: [
    VENDOR_PRESETS.lmstudio.quirks,
    { messages: messages({ 2: { reasoning: 'Hm.' } }), verbosity: undefined, prediction: undefined },
  ],
  cerebras: [VENDOR_PRESETS.cerebras.quirks, { frequency_penalty: undefined }],
  perplexity: [VENDOR_PRESETS.perplexity.quirks, {}],
  cohere: [VENDOR_PRESETS.cohere.quirks, { prediction: undefined, parallel_tool_calls: undefined, user: undefined }],
  huggingface: [VENDOR_PRESETS.huggingface.quirks, {}],
  sambanova: [VENDOR_PRESETS.sambanova.quirks, {}],
  nvidia: [VENDOR_PRESETS.nvidia.quirks, {}],
  github: [VENDOR_PRESETS.github.quirks, {}],
  cloudflare: [VENDOR_PRESETS.cloudflare.quirks, {}],
  moonshot: [
    VENDOR_PRESETS.moonshot.quirks,
    { messages: messages({ 2: { reasoning_content: 'Hm.' } }), temperature: 1 },
  ],
  qwen: [VENDOR_PRESETS.qwen.quirks, { messages: messages({ 2: { reasoning_content: 'Hm.' } }) }],
  minimax: [VENDOR_PRESETS.minimax.quirks, { messages: messages({ 2: { reasoning_content: 'Hm.' } }), temperature: 1 }],
  zhipu: [
    VENDOR_PRESETS.zhipu.quirks,
    {
      messages: [
        ...messages({ 1: { name: undefined, content: withoutName }, 2: { reasoning_content: 'Hm.' } }),
        { role: 'user', content: 'Call one of the tools now.' },
      ],
      temperature: 1,
      tool_choice: undefined,
      stream_options: undefined,
    },
  ],
};

describe('a rich request', () => {
  it.each(Object.entries(VENDORS))('is written for %s in its own way', async (slug, [quirks, differences]) => {
    const vendor = await acceptsOfVendor(slug);
    const pictures = vendor.all.conversation.media.user.includes('image');
    const request = pictures ? RICH : { ...RICH, messages: RICH.messages.map(withoutMedia) };
    expect(encodedWhole(request as never, quirks, {}, vendor)).toEqual({ ...PLAIN, ...differences });
  });

  it('is written here for every vendor there is', () => {
    expect(Object.keys(VENDORS).sort()).toEqual([...Object.keys(VENDOR_PRESETS), 'azure'].sort());
  });
});

describe('the page about providers', () => {
  const page = readProjectFile('docs/providers.md');
  const [, rows = ''] = /^## Addresses and sources\n[\s\S]*?\|---\|---\|---\|\n([\s\S]*?)\n\n/m.exec(page) ?? [];

  it('has the address of each vendor, its source and when that was read, as the records have them', async () => {
    const expected = await Promise.all(
      Object.entries(VENDOR_PRESETS).map(async ([slug, { baseURL }]) => {
        const { all } = await acceptsOfVendor(slug);
        return `| \`${slug}\` | \`${baseURL}\` | ${all.parameters.source} |`;
      }),
    );
    expect(rows.split('\n')).toEqual(expected);
  });

  it.each(Object.values(VENDOR_PRESETS))('has the variables of the key of $slug', ({ slug, apiKeyVariables }) => {
    const [, cell = ''] = new RegExp(`^\\| \`${slug}\` \\|([^|]*)\\|`, 'm').exec(page) ?? [];
    expect([...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual(apiKeyVariables);
  });
});
