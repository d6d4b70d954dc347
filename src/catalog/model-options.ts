/** The options by which a program declares the models of a provider. */
import { lazy } from '../schema/modifiers.ts';
import type { CallTimeouts, EndpointDeclaration } from './endpoint.ts';
import type { Price, Rates } from './price.ts';
import { amount, group, milliseconds, type OptionShape, nonEmptyString, wholeNumber } from '../options/values.ts';
import { unknown, boolean } from '../schema/scalars.ts';
import { narrowed, union } from '../schema/choices.ts';
import { array, record } from '../schema/collections.ts';
import type { AnySchema } from '../schema/form.ts';

const rates: OptionShape<Rates> = {
  prompt: amount,
  completion: amount,
  cacheRead: amount,
  cacheWrite: amount,
  cacheWrite1h: amount,
  reasoning: amount,
  audioPrompt: amount,
  imagePrompt: amount,
  videoPrompt: amount,
  audioCompletion: amount,
  imageCompletion: amount,
  request: amount,
  image: amount,
  outputImage: amount,
  webSearch: amount,
};

const price: AnySchema = group<Price>({
  ...rates,
  above: array(group<Rates & { promptTokens: number }>({ ...rates, promptTokens: amount }, ['promptTokens'])),
  serviceTiers: record(union([amount, lazy(() => price)])),
  changes: array(
    group<{ from: number; hours: object; price: Price }>(
      {
        from: amount,
        hours: group<{ from: number; to: number }>({ from: amount, to: amount }, ['from', 'to']),
        price: lazy(() => price),
      },
      ['price'],
    ),
  ),
});

const tokens = wholeNumber(1);

/** Time limits of one call. */
export const callTimeouts: AnySchema = group<CallTimeouts>({
  connectMs: milliseconds,
  firstTokenMs: milliseconds,
  answerMs: milliseconds,
  idleMs: milliseconds,
});

/** What may be said of one way in which a provider offers a model. */
export const DECLARATION_OPTIONS: OptionShape<EndpointDeclaration> = {
  upstreamModel: nonEmptyString,
  variant: nonEmptyString,
  tier: nonEmptyString,
  region: nonEmptyString,
  tag: nonEmptyString,
  price,
  contextLength: tokens,
  maxPromptTokens: tokens,
  maxOutputTokens: tokens,
  parameters: array(nonEmptyString),
  abilities: record(boolean),
  toolChoices: array(nonEmptyString),
  inputModalities: array(nonEmptyString),
  outputModalities: array(nonEmptyString),
  reasoning: record(unknown),
  dataCollection: boolean,
  zeroDataRetention: boolean,
  distillable: boolean,
  quantization: nonEmptyString,
  moderated: boolean,
  implicitCaching: boolean,
  prefill: boolean,
  scores: record(amount),
  scoreCounts: record(amount),
  rpm: tokens,
  tpm: tokens,
  concurrency: tokens,
  timeouts: callTimeouts,
};

const declaration = group(DECLARATION_OPTIONS);
const declarations = array(declaration);

/** The models that a provider offers, by id. */
export const modelTable: AnySchema = record(
  narrowed(unknown, (value) => (Array.isArray(value) ? declarations : declaration)),
);
