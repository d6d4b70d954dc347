import type { Usage } from '../protocol/usage.ts';
import type { Price } from './price.ts';

/** What an answer costs, in whole nano-dollars (10⁻⁹ USD), so that sums never drift. */
export interface Cost {
  readonly promptNanoUsd: number;
  readonly completionNanoUsd: number;
  /** Always the sum of the two. */
  readonly totalNanoUsd: number;
}

/** Token counts that a price applies to, each token in exactly one of them. */
interface BilledTokens {
  readonly text: number;
  readonly cached: number;
  readonly written: number;
  readonly writtenForAnHour: number;
  readonly audio: number;
}

/**
 * Prices a usage report. Every token is billed once: the parts of the prompt add up to `prompt_tokens`, those of the
 * answer to `completion_tokens`, also when a provider reports parts that overlap or exceed the whole.
 *
 * @param inputImages - Images in the request, for prices per image.
 */
export function priceUsage(price: Price, usage: Usage, inputImages = 0): Cost {
  const webSearches = usage.server_tool_use?.web_search_requests ?? 0;
  const perUnit =
    (price.request ?? 0) + inputImages * (price.image ?? 0) + Math.max(0, webSearches) * (price.webSearch ?? 0);
  const prompt = promptCost(price, billedPrompt(usage), picoFromUsd(perUnit));
  const completion = completionCost(price, usage);
  return { promptNanoUsd: prompt, completionNanoUsd: completion, totalNanoUsd: prompt + completion };
}

/** Nano-dollars as US dollars, for the wire. */
export function usdFromNano(nanoUsd: number): number {
  return nanoUsd / 1e9;
}

/** US dollars as whole nano-dollars. */
export function nanoFromUsd(usd: number): number {
  return Math.round(usd * 1e9);
}

function billedPrompt(usage: Usage): BilledTokens {
  let rest = Math.max(0, usage.prompt_tokens);
  const take = (count: number | undefined): number => {
    const taken = Math.min(Math.max(0, count ?? 0), rest);
    rest -= taken;
    return taken;
  };
  const details = usage.prompt_tokens_details;
  const cached = take(details?.cached_tokens);
  const writtenForAnHour = take(usage.cache_creation?.ephemeral_1h_input_tokens);
  const written = take((details?.cache_write_tokens ?? 0) - writtenForAnHour);
  const audio = take(details?.audio_tokens);
  return { text: rest, cached, written, writtenForAnHour, audio };
}

function promptCost(price: Price, tokens: BilledTokens, perUnitPico: number): number {
  const write = price.cacheWrite ?? price.prompt;
  return toNano(
    tokens.text * picoPerToken(price.prompt) +
      tokens.cached * picoPerToken(price.cacheRead ?? price.prompt) +
      tokens.written * picoPerToken(write) +
      tokens.writtenForAnHour * picoPerToken(price.cacheWrite1h ?? write) +
      tokens.audio * picoPerToken(price.audioPrompt ?? price.prompt) +
      perUnitPico,
  );
}

function completionCost(price: Price, usage: Usage): number {
  const details = usage.completion_tokens_details;
  let rest = Math.max(0, usage.completion_tokens);
  const take = (count: number | undefined): number => {
    const taken = Math.min(Math.max(0, count ?? 0), rest);
    rest -= taken;
    return taken;
  };
  const reasoning = take(details?.reasoning_tokens);
  const audio = take(details?.audio_tokens);
  const image = take(details?.image_tokens);
  return toNano(
    rest * picoPerToken(price.completion) +
      reasoning * picoPerToken(price.reasoning ?? price.completion) +
      audio * picoPerToken(price.audioCompletion ?? price.completion) +
      image * picoPerToken(price.imageCompletion ?? price.completion),
  );
}

/** One USD per million tokens is a million pico-dollars per token. */
function picoPerToken(usdPerMillion: number): number {
  return Math.round(usdPerMillion * 1e6);
}

function picoFromUsd(usd: number): number {
  return Math.round(usd * 1e12);
}

function toNano(pico: number): number {
  return Math.round(pico / 1_000);
}
