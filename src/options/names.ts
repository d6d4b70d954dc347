/** Names that editors complete where an option or a request names a provider or a plugin. Others are taken, too. */

/** Slugs of the providers that come with the package. */
export type BuiltInProvider =
  | 'anthropic'
  | 'azure'
  | 'bedrock'
  | 'cerebras'
  | 'cloudflare'
  | 'cohere'
  | 'deepinfra'
  | 'deepseek'
  | 'fireworks'
  | 'github'
  | 'google'
  | 'groq'
  | 'huggingface'
  | 'lmstudio'
  | 'minimax'
  | 'mistral'
  | 'moonshot'
  | 'nvidia'
  | 'ollama'
  | 'openai'
  | 'openrouter'
  | 'perplexity'
  | 'qwen'
  | 'sambanova'
  | 'simulated'
  | 'together'
  | 'vllm'
  | 'xai'
  | 'zhipu';

/** A provider by its slug or its display name, or one of its endpoints. Those of the package complete in the editor. */
export type ProviderName = BuiltInProvider | (string & {});

/** Ids of plugins that come with the router. */
export type BuiltInPlugin =
  | 'auto-beta-router'
  | 'auto-router'
  | 'bodybuilder'
  | 'context-compression'
  | 'file-parser'
  | 'fusion'
  | 'guardrails'
  | 'moderation'
  | 'pareto-router'
  | 'response-healing'
  | 'web'
  | 'web-fetch';

/** Id of a plugin. Those that come with the router complete in the editor; your own are taken, too. */
export type PluginId = BuiltInPlugin | (string & {});
