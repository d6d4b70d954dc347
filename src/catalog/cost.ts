import type { Rates } from './price.ts';
import type { Usage } from '../protocol/usage.ts';

/** What an answer costs, in whole nano-dollars (10⁻⁹ USD), so that sums never drift. */
export interface Cost {
  /** What was billed, each at its own rate. They add up to the totals, to the nano-dollar. */
  readonly parts: readonly CostPart[];
  readonly promptNanoUsd: number;
  readonly completionNanoUsd: number;
  /** Web searches that the provider ran. */
  readonly toolsNanoUsd: number;
  /** Always the sum of the three. */
  readonly totalNanoUsd: number;
}

/** What an item of a cost breakdown is for. */
type BilledItem =
  | 'prompt'
  | 'cache_read'
  | 'cache_write'
  | 'cache_write_1h'
  | 'prompt_audio'
  | 'prompt_image'
  | 'prompt_video'
  | 'request'
  | 'input_image'
  | 'completion'
  | 'reasoning'
  | 'completion_audio'
  | 'completion_image'
  | 'output_image'
  | 'web_search';

/** An item of a cost breakdown. */
export interface CostPart {
  readonly item: BilledItem;
  /** Tokens, images, requests or searches. */
  readonly units: number;
  readonly nanoUsd: number;
}

/** Images of a request and its answer, for prices per image. */
export interface ImageCounts {
  readonly input: number;
  readonly output: number;
}

/**
 * Prices a usage report. Every token is billed once: the parts of the prompt add up to `prompt_tokens`, those of the
 * answer to `completion_tokens`, also when a provider reports parts that overlap or exceed the whole. Undefined when
 * something was used whose price is unknown and that has no price to are in.
 */
export function priceUsage(rates: Rates, usage: Usage, images: ImageCounts = NO_IMAGES): Cost | undefined {
  const { prompt, completion, webSearches } = billedCounts(usage);
  if (webSearches > 0 && rates.webSearch === undefined) return undefined;
  const sum = new CostSum();
  const write = rates.cacheWrite ?? rates.prompt;
  sum.tokens('prompt', prompt.text, rates.prompt);
  sum.tokens('cache_read', prompt.cached, rates.cacheRead ?? rates.prompt);
  sum.tokens('cache_write', prompt.written, write);
  sum.tokens('cache_write_1h', prompt.writtenForAnHour, rates.cacheWrite1h ?? write);
  sum.tokens('prompt_audio', prompt.audio, rates.audioPrompt ?? rates.prompt);
  sum.tokens('prompt_image', prompt.image, rates.imagePrompt ?? rates.prompt);
  sum.tokens('prompt_video', prompt.video, rates.videoPrompt ?? rates.prompt);
  sum.units('request', 1, rates.request);
  sum.units('input_image', images.input, rates.image);
  const promptNanoUsd = sum.subtotal();
  sum.tokens('completion', completion.text, rates.completion);
  sum.tokens('reasoning', completion.reasoning, rates.reasoning ?? rates.completion);
  sum.tokens('completion_audio', completion.audio, rates.audioCompletion ?? rates.completion);
  sum.tokens('completion_image', completion.image, rates.imageCompletion ?? rates.completion);
  sum.units('output_image', images.output, rates.outputImage);
  const completionNanoUsd = sum.subtotal();
  sum.units('web_search', webSearches, rates.webSearch);
  const toolsNanoUsd = sum.subtotal();
  return {
    parts: sum.parts,
    promptNanoUsd,
    completionNanoUsd,
    toolsNanoUsd,
    totalNanoUsd: promptNanoUsd + completionNanoUsd + toolsNanoUsd,
  };
}

const NO_IMAGES: ImageCounts = { input: 0, output: 0 };

/** Nano-dollars as US dollars, for the wire. */
export function usdFromNano(nanoUsd: number): number {
  return nanoUsd / 1e9;
}

/** US dollars as whole nano-dollars. */
export function nanoFromUsd(usd: number): number {
  return Math.round(usd * 1e9);
}

/**
 * Rounds the sum of all lines up to a subtotal, not each line: a line gets what the rounded sum grows by. So the parts
 * add up to what the whole costs, however many lines it is split into.
 */
class CostSum {
  readonly parts: CostPart[] = [];
  /** Since the last subtotal, in pico-dollars (10⁻¹² USD). */
  #picoUsd = 0;
  /** Since the last subtotal, in nano-dollars. */
  #billed = 0;

  /** One USD per million tokens is a million pico-dollars per token. */
  tokens(item: BilledItem, units: number, usdPerMillion: number): void {
    if (units !== 0) this.#line(item, units, Math.round(usdPerMillion * 1e6));
  }

  /** What has no price of its own is not billed. */
  units(item: BilledItem, units: number, usd: number | undefined): void {
    if (units !== 0 && usd !== undefined) this.#line(item, units, Math.round(usd * 1e12));
  }

  /** Nano-dollars of the lines since the last subtotal. */
  subtotal(): number {
    const billed = this.#billed;
    this.#picoUsd = 0;
    this.#billed = 0;
    return billed;
  }

  #line(item: BilledItem, units: number, picoUsd: number): void {
    this.#picoUsd += units * picoUsd;
    const total = Math.round(this.#picoUsd / 1_000);
    this.parts.push({ item, units, nanoUsd: total - this.#billed });
    this.#billed = total;
  }
}

/** Counts that prices apply to, each token in exactly one of them. */
interface BillableCounts {
  readonly prompt: {
    readonly text: number;
    readonly cached: number;
    readonly written: number;
    readonly writtenForAnHour: number;
    readonly audio: number;
    readonly image: number;
    readonly video: number;
  };
  readonly completion: {
    readonly text: number;
    readonly reasoning: number;
    readonly audio: number;
    readonly image: number;
  };
  /** Searches that the provider ran; those of our own tools are not in its charges. */
  readonly webSearches: number;
}

/** Splits a usage report so that the parts add up, also where a provider's parts overlap or exceed the whole. */
function billedCounts(usage: Usage): BillableCounts {
  return {
    prompt: promptCounts(usage),
    completion: completionCounts(usage),
    webSearches: Math.max(0, usage.server_tool_use?.web_search_requests ?? 0),
  };
}

function promptCounts(usage: Usage): BillableCounts['prompt'] {
  const whole = new Whole(usage.prompt_tokens);
  const details = usage.prompt_tokens_details;
  const minutes = usage.cache_creation?.ephemeral_5m_input_tokens ?? 0;
  const cached = whole.take(details?.cached_tokens);
  const writtenForAnHour = whole.take(usage.cache_creation?.ephemeral_1h_input_tokens);
  // Some report writes by lifetime, some as one number that includes both, and some both ways.
  const written = whole.take(Math.max((details?.cache_write_tokens ?? 0) - writtenForAnHour, minutes));
  const audio = whole.take(details?.audio_tokens);
  const image = whole.take(details?.image_tokens);
  const video = whole.take(details?.video_tokens);
  return { text: whole.rest, cached, written, writtenForAnHour, audio, image, video };
}

function completionCounts(usage: Usage): BillableCounts['completion'] {
  const whole = new Whole(usage.completion_tokens);
  const details = usage.completion_tokens_details;
  const reasoning = whole.take(details?.reasoning_tokens);
  const audio = whole.take(details?.audio_tokens);
  const image = whole.take(details?.image_tokens);
  return { text: whole.rest, reasoning, audio, image };
}

/** A count that parts are taken from, as long as there is something left. */
class Whole {
  #left: number;

  constructor(count: number) {
    this.#left = Math.max(0, count);
  }

  take(count: number | undefined): number {
    const taken = Math.min(Math.max(0, count ?? 0), this.#left);
    this.#left -= taken;
    return taken;
  }

  get rest(): number {
    return this.#left;
  }
}
