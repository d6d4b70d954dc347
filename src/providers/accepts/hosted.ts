import type { BuiltInProvider } from '../../options/names.ts';
import { type FamilyAccepts, type VendorAccepts, withDifferences } from '../../core/accepts.ts';
import { parametersLackedBy } from '../../catalog/lacked-parameters.ts';
import { ANY_SERVER } from './any-server.ts';

/** Vendors with an address of the chat completions API, of whom only what is written here is known. */
export type HostedVendor = Extract<
  BuiltInProvider,
  | 'cerebras'
  | 'perplexity'
  | 'cohere'
  | 'huggingface'
  | 'sambanova'
  | 'nvidia'
  | 'github'
  | 'cloudflare'
  | 'moonshot'
  | 'qwen'
  | 'minimax'
  | 'zhipu'
>;

/**
 * The record of a vendor: that of a server of which nothing is known, with what the vendor documents or refuses.
 *
 * @param source - Where the address and the differences are from, and when they were read.
 */
function hosted(
  slug: HostedVendor,
  source: string,
  { parameters, ...others }: FamilyAccepts['accepts'] = {},
  families: readonly FamilyAccepts[] = [],
): VendorAccepts {
  const { conversation, schemas, reasoning, parameters: usual, usage } = ANY_SERVER.all;
  const sourced = {
    conversation: { ...conversation, source },
    schemas: { ...schemas, source },
    reasoning: { ...reasoning, source },
    parameters: { ...usual, source, refused: parametersLackedBy(slug) },
    usage: { ...usage, source },
  };
  return {
    all: withDifferences(sourced, { ...others, ...(parameters === undefined ? {} : { parameters }) }),
    families: [...families, ...ANY_SERVER.families],
  };
}

/** What samples the words of Kimi, which its newer models fix by themselves. */
const KIMI_FIXED = ['temperature', 'top_p', 'frequency_penalty', 'presence_penalty'] as const;

/** What these vendors accept. What is not known of them is not here; a refusal teaches it. */
export const HOSTED: Readonly<Record<HostedVendor, VendorAccepts>> = {
  cerebras: hosted(
    'cerebras',
    'inference-docs.cerebras.ai/resources/openai, hexdocs.pm/req_llm/cerebras.html, 2026-11',
    {
      conversation: { systemTurns: 'first' },
    },
  ),
  perplexity: hosted(
    'perplexity',
    'docs.perplexity.ai; perplexityai/api-discussion#265, opencode#9416, ha-perplexity#117, 2026-11',
    { conversation: { systemTurns: 'first', turns: 'alternating', afterResults: 'assistant' } },
  ),
  cohere: hosted('cohere', 'docs.cohere.com/docs/compatibility-api, 2026-11'),
  huggingface: hosted(
    'huggingface',
    'huggingface.co/docs/inference-providers, tabby.tabbyml.com/docs/references/models-http-api/huggingface, 2026-11',
  ),
  sambanova: hosted(
    'sambanova',
    'docs.sambanova.ai/docs/en/features/openai-compatibility, docs.pipecat.ai/server/services/llm/sambanova, 2026-11',
  ),
  nvidia: hosted('nvidia', 'docs.api.nvidia.com/nim/reference, 2026-11'),
  github: hosted('github', 'docs.github.com/en/rest/models/inference, 2026-11'),
  cloudflare: hosted('cloudflare', 'developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility, 2026-11'),
  moonshot: hosted(
    'moonshot',
    'platform.kimi.ai/docs/api/overview; litellm.vercel.app/docs/providers/moonshot, 2026-11',
    { parameters: { maxTemperature: 1 } },
    [
      {
        models: /^kimi-k(?:2[.-][5-9]|[3-9])/,
        accepts: { parameters: { refused: KIMI_FIXED }, reasoning: { history: 'required' } },
        source: 'java.agentscope.io/v2/en/integration/model/kimi, promptfoo.dev/docs/providers/moonshot, 2026-11',
      },
    ],
  ),
  qwen: hosted('qwen', 'alibabacloud.com/help/en/model-studio/compatibility-of-openai-with-dashscope, 2026-11'),
  minimax: hosted(
    'minimax',
    'platform.minimax.io/docs/api-reference/text-openai-api; promptfoo.dev/docs/providers/minimax, 2026-11',
    { parameters: { maxTemperature: 1 } },
  ),
  zhipu: hosted('zhipu', 'docs.bigmodel.cn/api-reference; java.agentscope.io/v2/en/integration/model/glm, 2026-11', {
    parameters: { maxTemperature: 1, forcedTools: 'never' },
  }),
};
