import type { Usage } from '../protocol/chunk.ts';
import type { Rates } from './price.ts';

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

/** What a line of a bill is for. */
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

/** A line of a bill. */
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
 * something was used whose price nobody knows and that has no price to stand in.
 */
export function priceUsage(rates: Rates, usage: Usage, images: ImageCounts = NO_IMAGES): Cost | undefined {
  const { prompt, completion, webSearches } = billedCounts(usage);
  const promptParts = bill([...promptLines(rates, prompt), ...perUnitLines(rates, images)]);
  const completionParts = bill([
    ...completionLines(rates, completion),
    unitLine('output_image', images.output, rates.outputImage),
  ]);
  if (webSearches > 0 && rates.webSearch === undefined) return undefined;
  const toolParts = bill([unitLine('web_search', webSearches, rates.webSearch)]);
  const [promptNanoUsd, completionNanoUsd, toolsNanoUsd] = [sum(promptParts), sum(completionParts), sum(toolParts)];
  return {
    parts: [...promptParts, ...completionParts, ...toolParts],
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

interface Line {
  readonly item: BilledItem;
  readonly units: number;
  /** Pico-dollars (10⁻¹² USD) per unit. */
  readonly picoUsd: number;
}

/**
 * Rounds the sum of all lines, not each line: a line gets what the rounded sum grows by. So the parts add up to
 * what the whole costs, however many lines it is split into.
 */
function bill(lines: readonly Line[]): readonly CostPart[] {
  const parts: CostPart[] = [];
  let picoUsd = 0;
  let billed = 0;
  for (const { item, units, picoUsd: each } of lines) {
    if (units === 0) continue;
    picoUsd += units * each;
    const total = Math.round(picoUsd / 1_000);
    parts.push({ item, units, nanoUsd: total - billed });
    billed = total;
  }
  return parts;
}

function sum(parts: readonly CostPart[]): number {
  return parts.reduce((total, part) => total + part.nanoUsd, 0);
}

function promptLines(rates: Rates, tokens: BillableCounts['prompt']): readonly Line[] {
  const write = rates.cacheWrite ?? rates.prompt;
  return [
    tokenLine('prompt', tokens.text, rates.prompt),
    tokenLine('cache_read', tokens.cached, rates.cacheRead ?? rates.prompt),
    tokenLine('cache_write', tokens.written, write),
    tokenLine('cache_write_1h', tokens.writtenForAnHour, rates.cacheWrite1h ?? write),
    tokenLine('prompt_audio', tokens.audio, rates.audioPrompt ?? rates.prompt),
    tokenLine('prompt_image', tokens.image, rates.imagePrompt ?? rates.prompt),
    tokenLine('prompt_video', tokens.video, rates.videoPrompt ?? rates.prompt),
  ];
}

function perUnitLines(rates: Rates, images: ImageCounts): readonly Line[] {
  return [unitLine('request', 1, rates.request), unitLine('input_image', images.input, rates.image)];
}

function completionLines(rates: Rates, tokens: BillableCounts['completion']): readonly Line[] {
  return [
    tokenLine('completion', tokens.text, rates.completion),
    tokenLine('reasoning', tokens.reasoning, rates.reasoning ?? rates.completion),
    tokenLine('completion_audio', tokens.audio, rates.audioCompletion ?? rates.completion),
    tokenLine('completion_image', tokens.image, rates.imageCompletion ?? rates.completion),
  ];
}

/** One USD per million tokens is a million pico-dollars per token. */
function tokenLine(item: BilledItem, units: number, usdPerMillion: number): Line {
  return { item, units, picoUsd: Math.round(usdPerMillion * 1e6) };
}

/** What has no price of its own is not billed. */
function unitLine(item: BilledItem, units: number, usd: number | undefined): Line {
  return { item, units: usd === undefined ? 0 : units, picoUsd: Math.round((usd ?? 0) * 1e12) };
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
  /** Searches that the provider ran; those of our own tools are not on its bill. */
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
