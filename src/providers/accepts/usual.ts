import type { AcceptedConversation, FamilyAccepts, MediaKind } from '../../core/accepts.ts';

import { CLAUDE_ELSEWHERE, OPENAI_HELD, OPENAI_TOOLS } from './schemas.ts';

/** Values that many records share. A record names each of its fields all the same. */

/** Every kind of media: for servers that do not say which they take. */
export const ANY_MEDIA: readonly MediaKind[] = ['image', 'audio', 'video', 'file'];

/** Pictures and nothing else. */
export const IMAGES: readonly MediaKind[] = ['image'];

export const NO_MEDIA: readonly MediaKind[] = [];

/** Lists of parts in every role. */
export const LISTS_EVERYWHERE: AcceptedConversation['lists'] = {
  system: true,
  user: true,
  assistant: true,
  tool: true,
};

/** Texts in one string, in every role: what every template takes. */
export const STRINGS: AcceptedConversation['lists'] = { system: false, user: false, assistant: false, tool: false };

/** Names of cached tokens as OpenAI has them, and in the forms of others that are seen behind its API. */
export const CACHED_TOKENS: readonly string[] = [
  'cached_tokens',
  'cache_read_input_tokens',
  'cache_read_tokens',
  'prompt_cache_hit_tokens',
];

export const CACHE_WRITE_TOKENS: readonly string[] = [
  'cache_write_tokens',
  'cache_creation_input_tokens',
  'cache_creation_tokens',
];

/**
 * Families of open models, whose templates are strict whoever serves them. Not for the vendors of the models themselves,
 * which have records of their own.
 */
export const OPEN_MODELS: readonly FamilyAccepts[] = [
  {
    models: /(?:^|[/_-])(?:mistral|mixtral|ministral|magistral|devstral|codestral|pixtral|voxtral)/,
    accepts: {
      conversation: {
        systemTurns: 'first',
        turns: 'alternating',
        afterResults: 'assistant',
        lists: STRINGS,
        toolIds: 'nine-alphanumeric',
      },
    },
    source:
      'chat templates of mistralai/Mistral-Small-3.2 and Devstral-Small-2 on huggingface.co; hermes-agent#20154, ' +
      'crush#279, aliou/pi-neuralwatt#12, 2026-11',
  },
  {
    models: /(?:^|[/_-])(?:code)?gemma/,
    accepts: { conversation: { systemTurns: 'none', turns: 'alternating', lists: STRINGS } },
    source: 'chat templates of google/gemma-2-9b-it and gemma-3-27b-it on huggingface.co, 2026-11',
  },
  {
    models: /(?:^|[/_-])(?:qwen|qwq)/,
    accepts: { conversation: { systemTurns: 'first', turns: 'with-user', lists: STRINGS } },
    source:
      'chat template of Qwen/Qwen3.5-27B on huggingface.co; vllm#41114, llama.cpp#20733, Qwen3.8#244, vllm#36432 (a turn of the user), 2026-11',
  },
  {
    models: /(?:^|[/_-])llama-?[34]/,
    accepts: { conversation: { turns: 'with-user', calls: 'one', lists: STRINGS } },
    source:
      'chat template of meta-llama/Llama-3.1-8B-Instruct on huggingface.co; docs.vllm.ai/en/latest/features/tool_calling.html, vllm#11592, 2026-11',
  },
];

/** Models of vendors that refuse the same whoever passes requests on to them. */
export const PASSED_ON: readonly FamilyAccepts[] = [
  {
    models: /claude-/,
    accepts: { schemas: { tools: CLAUDE_ELSEWHERE } },
    source: 'opencode#35516, kimi-code#2328, 2026-11',
  },
  {
    models: /(?:^|\/)(?:gpt-\d|o\d|chatgpt-|codex-)/,
    accepts: { schemas: { tools: OPENAI_TOOLS, strictTools: OPENAI_HELD, formats: OPENAI_HELD } },
    source: 'cecli#281, mcp-grafana#390, 2026-11',
  },
];
