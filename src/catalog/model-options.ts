/** The options by which a program declares the models of a provider. */
import type { CallTimeouts, EndpointDeclaration } from './endpoint.ts';
import type { Price, Rates } from './price.ts';
import {
  amount,
  anything,
  either,
  flag,
  group,
  listOf,
  mapOf,
  milliseconds,
  type OptionKind,
  type OptionShape,
  text,
  wholeNumber,
} from '../platform/option-kinds.ts';

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

const price: OptionKind = group<Price>({
  ...rates,
  above: listOf(group<Rates & { promptTokens: number }>({ ...rates, promptTokens: amount }, ['promptTokens'])),
  serviceTiers: mapOf(either(amount, (value, path) => price(value, path))),
  changes: listOf(
    group<{ from: number; hours: object; price: Price }>(
      {
        from: amount,
        hours: group<{ from: number; to: number }>({ from: amount, to: amount }, ['from', 'to']),
        price: (value, path) => price(value, path),
      },
      ['price'],
    ),
  ),
});

const tokens = wholeNumber(1);

/** What may be said of one way in which a provider offers a model. */
export const DECLARATION_OPTIONS: OptionShape<EndpointDeclaration> = {
  upstreamModel: text,
  variant: text,
  tier: text,
  region: text,
  tag: text,
  price,
  contextLength: tokens,
  maxPromptTokens: tokens,
  maxOutputTokens: tokens,
  parameters: listOf(text),
  abilities: mapOf(flag),
  toolChoices: listOf(text),
  inputModalities: listOf(text),
  outputModalities: listOf(text),
  reasoning: mapOf(anything),
  dataCollection: flag,
  zeroDataRetention: flag,
  distillable: flag,
  quantization: text,
  moderated: flag,
  implicitCaching: flag,
  prefill: flag,
  scores: mapOf(amount),
  scoreCounts: mapOf(amount),
  rpm: tokens,
  tpm: tokens,
  concurrency: tokens,
  timeouts: (value, path) => callTimeouts(value, path),
};

/** Time limits of one call. */
export const callTimeouts: OptionKind = group<CallTimeouts>({
  connectMs: milliseconds,
  firstTokenMs: milliseconds,
  answerMs: milliseconds,
  idleMs: milliseconds,
});

const declaration = group(DECLARATION_OPTIONS);

/** The models that a provider offers, by id. */
export const modelTable: OptionKind = mapOf((value, path) =>
  Array.isArray(value) ? listOf(declaration)(value, path) : declaration(value, path),
);
