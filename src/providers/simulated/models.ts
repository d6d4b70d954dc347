import type { ParameterName } from '../../catalog/model.ts';
import type { ModelTable } from '../openai-compatible/options.ts';

const PARAMETERS: readonly ParameterName[] = [
  'temperature',
  'top_p',
  'frequency_penalty',
  'presence_penalty',
  'max_tokens',
  'max_completion_tokens',
  'seed',
  'stop',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'structured_outputs',
];

const SMALL = {
  contextLength: 32_000,
  maxOutputTokens: 8_000,
  parameters: PARAMETERS,
  inputModalities: ['text'],
  outputModalities: ['text'],
  implicitCaching: true,
} as const;

const LARGE = {
  contextLength: 200_000,
  maxOutputTokens: 32_000,
  parameters: [...PARAMETERS, 'reasoning', 'reasoning_effort', 'include_reasoning', 'verbosity'],
  inputModalities: ['text', 'image', 'audio', 'video', 'file'],
  outputModalities: ['text'],
  implicitCaching: true,
} as const;

const EMBEDDING = {
  contextLength: 8_192,
  parameters: ['dimensions', 'input_type'],
  inputModalities: ['text'],
  outputModalities: ['embeddings'],
} as const;

/**
 * The models that the simulated provider has when it is given none. They differ in price, speed, abilities and data
 * policy, so that every rule of routing has something to choose from.
 */
export const SIMULATED_MODELS = {
  'simulated/small': [
    { ...SMALL, price: { prompt: 0.1, completion: 0.4, cacheRead: 0.025 }, dataCollection: true },
    {
      ...SMALL,
      tag: 'turbo',
      price: { prompt: 0.2, completion: 0.8, cacheRead: 0.05 },
      quantization: 'fp8',
    },
    { ...SMALL, variant: 'free', price: { prompt: 0, completion: 0 }, dataCollection: true },
  ],
  'simulated/large': [
    { ...LARGE, price: { prompt: 2.5, completion: 10, cacheRead: 0.25 } },
    {
      ...LARGE,
      region: 'eu',
      price: { prompt: 2.75, completion: 11, cacheRead: 0.275 },
      zeroDataRetention: true,
    },
  ],
  'simulated/reasoner': [
    { ...LARGE, price: { prompt: 1.25, completion: 5, cacheRead: 0.125 }, reasoning: { mandatory: true } },
    {
      ...LARGE,
      tier: 'flex',
      price: { prompt: 0.625, completion: 2.5, cacheRead: 0.0625 },
      reasoning: { mandatory: true },
    },
  ],
  'simulated/embedding': [
    { ...EMBEDDING, price: { prompt: 0.02, completion: 0 } },
    { ...EMBEDDING, region: 'eu', price: { prompt: 0.022, completion: 0 }, zeroDataRetention: true },
  ],
} as const satisfies ModelTable;

/** Ids of the models that the simulated provider has when it is given none. */
export type SimulatedModel = keyof typeof SIMULATED_MODELS;
