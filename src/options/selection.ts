/** The options of the selection of endpoints, and what of its constants may be tuned. */
import { option, type OptionTable, type ResolvedOf } from './option.ts';

/** Choices of the embedding program about the selection of endpoints. */
export const SELECTION = {
  /**
   * What to do with an ability that is not declared: `allow` sends the request and lets the provider decide,
   * `exclude` treats it as absent. Default `allow`.
   */
  unknownCapability: option.enum(['allow', 'exclude'], { default: 'allow' }),
  /**
   * `exclude`: no endpoint without tool support gets a request with tools. `prefer`: it may, when none supports them.
   * Default `exclude`.
   */
  toolSupport: option.enum(['exclude', 'prefer'], { default: 'exclude' }),
} satisfies OptionTable;

/** Choices of the embedding program about selection. */
export interface SelectionPolicy extends ResolvedOf<typeof SELECTION> {}

/** A number above 0: a factor, or a time that something takes. */
const aboveNothing = { says: 'must be a number above 0', least: Number.MIN_VALUE };

/** What was found by measuring, and can only be changed by measuring again (`docs/routing.md`). */
export const TUNING = {
  /**
   * How sharply cheaper endpoints are preferred: one is drawn ∝ (expected cost with its failures)⁻ⁿ, and ∝ its square
   * once the account has had answers from the model, so that it is known what they cost. Default 12.
   */
  sharpness: option.amount({ default: 12 }),
  /**
   * Further requests that count where a session has its prompt cached: it moves when that is cheaper with them. 0 looks
   * at each request by itself. Default 3.
   */
  furtherRequests: option.amount({ default: 3 }),
  /** Time that a request waits at most for an endpoint below its rate; 0 refuses at once. Default 2,750. */
  paceWaitMs: option.ms({ default: 2_750 }),
  /**
   * Times the 95th percentile of the usual time after which a call gets another one beside it, where nothing else
   * suggests that its endpoint hangs. Default 2.
   */
  hedgeAfter: option.number(aboveNothing, { default: 2 }),
  /**
   * Share of the cost of all answers that hedges may cost. Those beside silent endpoints are free, and so, in
   * proportion, are those beside calls that fail after seconds. Default 0.012.
   */
  hedgeShare: option.share({ default: 0.012 }),
  /**
   * Milliseconds without a first token after which an endpoint that has never answered is taken for one that hangs
   * while nothing is known of its model either: another one is called beside it. For non-streaming responses, and for
   * endpoints whose own time limit is longer than the router's, it is longer in the same proportion. Default 9,000.
   */
  firstResponseMs: option.ms({ default: 9_000 }),
} satisfies OptionTable;

/** What was found by measuring. Unstable: a later version may rename or drop any of it. */
export interface Tuning extends ResolvedOf<typeof TUNING> {}
