/** What a {@link ModerationService} is asked about. */
export interface ModerationInput {
  /** Texts of the request, in order. */
  readonly texts: readonly string[];
  /** Addresses and data URLs of its pictures, in order. */
  readonly images: readonly string[];
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
}

/** What a {@link ModerationService} says. */
export type ModerationVerdict =
  | { readonly flagged: false }
  | {
      readonly flagged: true;
      /** Why: names of categories. */
      readonly reasons: readonly string[];
      /** The text that was flagged, or a part of it; absent for a picture. */
      readonly text?: string | undefined;
    };

/** Says whether a request may be answered. Implement this to bring your own. */
export interface ModerationService {
  /** Name in `router_metadata.pipeline`. */
  readonly id: string;
  /** Name for people, in `error.metadata.provider_name`. */
  readonly name: string;
  /** Decides about a request. Whatever it throws, the request is refused. */
  check(input: ModerationInput): Promise<ModerationVerdict>;
  /** Frees connections. May be called more than once. */
  close?(): Promise<void>;
}
