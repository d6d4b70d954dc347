/** The options of `simulated`. */
import { ConfigError, type ConfigProblem } from '../../protocol/router-error.ts';
import { anyNumber, checkProviderShape } from '../check-options.ts';
import type { Environment } from '../../platform/environment.ts';
import type { ModelTable } from '../openai-compatible/options.ts';
import type { SimulatedOutcome } from './outcomes.ts';
import { unknown, boolean } from '../../schema/scalars.ts';
import {
  callable,
  anyString,
  valueThat,
  type OptionShape,
  nonEmptyString,
  withFunctions,
} from '../../options/values.ts';
import { array, record } from '../../schema/collections.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { ParameterName } from '../../catalog/model.ts';

/** Options of {@link simulated}. */
export interface SimulatedOptions<Model extends string = string> {
  /** Name of the provider in preferences: lower-case letters, digits and dashes. Default `simulated`. */
  readonly slug?: string | undefined;
  /** Display name. Default `Simulated`. */
  readonly name?: string | undefined;
  /** Models on offer. Default: `simulated/small`, `simulated/large`, `simulated/reasoner` and `simulated/embedding`. */
  readonly models?: ModelTable<Model> | undefined;
  /** Same seed and same messages, same answer. Default 1. */
  readonly seed?: number | undefined;
  /** Milliseconds to the first token, give or take a fifth. 0 means at once. Default 120. */
  readonly firstTokenMs?: number | undefined;
  /**
   * Tokens per second, give or take half from token to token. 0 and Infinity mean all at once. Default 80. Endpoints of
   * the tier `priority` or with the tag `turbo` answer twice as fast in all, those of the tier `flex` half as fast.
   */
  readonly tokensPerSecond?: number | undefined;
  /** How the calls come out, one entry per call, in order. Calls behind the last entry follow `failureRate`. */
  readonly failures?: readonly SimulatedOutcome[] | undefined;
  /** Share of calls that fail by chance before they answer, from 0 to 1. Default 0. */
  readonly failureRate?: number | undefined;
  /**
   * Writes answers in place of the provider, for tests that need a certain one. Limits, stop sequences, failures and
   * timing still apply. What it throws counts as a failure of the adapter. Default: answers are made up.
   */
  readonly answer?: AnswerScript | undefined;
  /** True when prompts count as stored or trained on. Default false. */
  readonly dataCollection?: boolean | undefined;
  /** True when nothing counts as kept after the answer. Default false. */
  readonly zeroDataRetention?: boolean | undefined;
  /** Clock and timers. Default: the real ones; under a fake one nothing really waits. */
  readonly environment?: Environment | undefined;
}

const SIMULATED_OPTIONS: OptionShape<SimulatedOptions> = {
  slug: anyString,
  name: nonEmptyString,
  models: record(unknown),
  seed: anyNumber,
  firstTokenMs: valueThat('a number of milliseconds', (value) => typeof value === 'number'),
  tokensPerSecond: anyNumber,
  failures: array(unknown),
  failureRate: anyNumber,
  answer: callable,
  dataCollection: boolean,
  zeroDataRetention: boolean,
  environment: withFunctions('an environment', 'now', 'setTimer'),
};

/**
 * Checks options.
 *
 * @throws {@link ConfigError} with everything that is wrong with them.
 */
export function checkSimulatedOptions(options: SimulatedOptions): void {
  checkProviderShape(SIMULATED_OPTIONS, options, { slug: 'simulated' });
  const { slug = 'simulated', firstTokenMs = 0, tokensPerSecond = 0, failureRate = 0, failures = [] } = options;
  const problems: ConfigProblem[] = [];
  const report = (name: string, problem: string): void => {
    problems.push({ path: `providers.${slug}.${name}`, problem });
  };
  if (!/^[a-z0-9][a-z0-9-]*$/.test(slug)) report('slug', 'must be lower-case letters, digits and dashes');
  if (!(firstTokenMs >= 0 && firstTokenMs < Infinity))
    report('firstTokenMs', 'must be a number of milliseconds, 0 or more');
  if (!(tokensPerSecond >= 0)) report('tokensPerSecond', 'must be 0 or more; 0 and Infinity mean all at once');
  if (!(failureRate >= 0 && failureRate <= 1)) report('failureRate', 'must be from 0 to 1');
  for (const [index, outcome] of failures.entries()) {
    if (typeof outcome === 'string' || !('breakAfterTokens' in outcome)) continue;
    const isCount = Number.isInteger(outcome.breakAfterTokens) && outcome.breakAfterTokens >= 0;
    if (!isCount) report(`failures[${index}].breakAfterTokens`, 'must be a whole number, 0 or more');
  }
  if (problems.length > 0) throw new ConfigError(problems);
}

/** A function call in a scripted answer. */
export interface SimulatedToolCall {
  readonly name: string;
  /** As an object, or as the very text that the model is to write, which need not be JSON. Default `{}`. */
  readonly arguments?: JsonObject | string | undefined;
  /** Default: made from the request, the same for the same request. */
  readonly id?: string | undefined;
}

/** An answer that a test has written itself. */
export interface SimulatedAnswer {
  readonly text?: string | undefined;
  readonly toolCalls?: readonly SimulatedToolCall[] | undefined;
  /** What was thought before; shown unless the request excludes it. */
  readonly reasoning?: string | undefined;
}

/** Writes the answer to a request, or leaves it to the simulated provider by giving undefined. */
export type AnswerScript = (request: NormalizedRequest) => string | SimulatedAnswer | undefined;

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
