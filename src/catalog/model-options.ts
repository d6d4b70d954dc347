/** The options by which a program declares the models of a provider. */
import type { CallTimeouts, EndpointDeclaration } from './endpoint.ts';
import type { Price, Rates } from './price.ts';
import {
  amount,
  unknown,
  union,
  boolean,
  group,
  array,
  record,
  milliseconds,
  type OptionKind,
  type OptionShape,
  string,
  integer,
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
  above: array(group<Rates & { promptTokens: number }>({ ...rates, promptTokens: amount }, ['promptTokens'])),
  serviceTiers: record(union(amount, (value, path) => price(value, path))),
  changes: array(
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

const tokens = integer(1);

/** What may be said of one way in which a provider offers a model. */
export const DECLARATION_OPTIONS: OptionShape<EndpointDeclaration> = {
  upstreamModel: string,
  variant: string,
  tier: string,
  region: string,
  tag: string,
  price,
  contextLength: tokens,
  maxPromptTokens: tokens,
  maxOutputTokens: tokens,
  parameters: array(string),
  abilities: record(boolean),
  toolChoices: array(string),
  inputModalities: array(string),
  outputModalities: array(string),
  reasoning: record(unknown),
  dataCollection: boolean,
  zeroDataRetention: boolean,
  distillable: boolean,
  quantization: string,
  moderated: boolean,
  implicitCaching: boolean,
  prefill: boolean,
  scores: record(amount),
  scoreCounts: record(amount),
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
export const modelTable: OptionKind = record((value, path) =>
  Array.isArray(value) ? array(declaration)(value, path) : declaration(value, path),
);
