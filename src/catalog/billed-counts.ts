import type { Usage } from '../protocol/usage.ts';

/** Counts that prices apply to, each token in exactly one of them. */
export interface BillableCounts {
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
export function billedCounts(usage: Usage): BillableCounts {
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
