/** The option `streams`: where streams are kept that can be resumed, and for how long. */
import type { StateStore } from '../contracts/state-store.ts';
import { computed, option, type OptionsOf, type OptionTable } from '../options/option.ts';

/** A store for small state, whatever it is used for. */
export const STATE_STORE = option.contract<StateStore>('StateStore', 'a store, such as redisStore() makes one', [
  'get',
  'set',
  'delete',
  'increment',
]);

/** Streams that can be read again from where a reader stopped. */
export const STREAMS = {
  /** Where what was sent is kept: one that all instances share, such as `redisStore()`. Default: the `state` store. */
  store: computed(STATE_STORE),
  /** Time for which a stream is kept after its end. Default 300,000 (5 minutes). */
  keepMs: option.ms({ default: 300_000 }),
  /**
   * Time for which a response is still read from its provider, and paid for, while nobody reads the stream. Whoever
   * resumes it within this time gets all of it; with 0, it is cancelled when its client disconnects. Default 0.
   */
  leaveAfterMs: option.ms({ default: 0 }),
  /**
   * Bytes of all streams that one instance keeps; one account may have half of them. The oldest that have ended go first.
   * One stream may have a sixteenth; a longer one goes on without being kept. Default 64,000,000.
   */
  maxTotalBytes: option.integer(1, { default: 64_000_000 }),
} satisfies OptionTable;

/** Streams that can be read again from where a reader stopped. */
export interface StreamsOptions extends OptionsOf<typeof STREAMS> {}
