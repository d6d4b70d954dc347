/** Words for why the prompt of a request was not in the cache of its provider, and the report of it. */

/** Why the prompt of a request was not in its provider's cache. */
export type CacheCause =
  /** The first request of its session, or of a conversation in it. */
  | 'first'
  /** The last request of the session was longer ago than the endpoint keeps prompts. */
  | 'expired'
  /** The session moved to another endpoint of the same model. */
  | 'other_endpoint'
  | 'model_changed'
  /** A tool was changed, added or removed, or tools came in another order. */
  | 'tools_changed'
  | 'system_changed'
  /** A message that had been sent before was changed, or is not there any more. */
  | 'message_edited'
  /** Prompts of this length are in no cache. */
  | 'too_short'
  /** The endpoint caches what is marked, and nothing was. */
  | 'not_marked'
  /** Nothing of the above: the provider no longer had it, or another instance may have served the last request. */
  | 'evicted_or_unknown';

/** How much of a prompt came from its provider's cache, and why not more; with the names that it has in metadata. */
export interface PromptCacheReport {
  /** Tokens that would have come from the cache, had the request gone on from the last one of its session. */
  readonly expected_tokens: number;
  readonly cached_tokens: number;
  /** Absent where as much was cached as could be. */
  readonly cause?: CacheCause | undefined;
  /** The first place that differs from the last request: `tools[2]`, `system[0]`, `messages[5]`. */
  readonly at?: string | undefined;
  /** Line of that block, counted from 1, where it has several. */
  readonly line?: number | undefined;
  /** How the tools differ. */
  readonly change?: 'content' | 'order' | 'added' | 'removed' | undefined;
  /** Why the session moved. */
  readonly moved?: string | undefined;
  /**
   * What the provider itself has found by comparing the prompt with the last one, in its own word: `tools_changed`,
   * `messages_changed`, `input_changed`; `unchanged` where it found no difference. Absent where it was not asked, and
   * where it did not say.
   */
  readonly provider_cause?: string | undefined;
  /** US dollars that the cached price would have saved; absent without a price. */
  readonly lost_usd?: number | undefined;
}
