/** What a record keeps of a decision, so that it can be made again: part of {@link LedgerRecord}, with wire names. */

/** What a decision depended on besides the endpoints: the request without its words, and chance. */
export interface LedgerDecision {
  /** Random number from 0 to 1. */
  readonly roll: number;
  /** Unix seconds, for prices that change with time. */
  readonly created: number;
  /** Fewest tokens that the prompt can have. */
  readonly prompt_tokens: number;
  /** Likely tokens of the prompt. Absent where nobody requested them. */
  readonly likely_prompt_tokens?: number | undefined;
  readonly output_tokens?: number | undefined;
  readonly images?: number | undefined;
  /** 32-bit number by which a named session draws its endpoints. */
  readonly session_draw?: number | undefined;
  /** Endpoints that served the session, the latest first: how many milliseconds ago, and the tokens of the prompt. */
  readonly served?: readonly (readonly [endpoint: string, ageMs: number, tokens: number])[] | undefined;
  /** Endpoints that had computed its beginning: the share that was likely cached, and that which ever was. */
  readonly cached?: readonly (readonly [endpoint: string, share: number, before: number])[] | undefined;
  readonly usual_answer_tokens?: number | undefined;
  /** Tokens that providers had reported for one of the rough count of the account's prompts. */
  readonly prompt_ratio?: number | undefined;
  readonly input_modalities?: readonly string[] | undefined;
  readonly output_modalities?: readonly string[] | undefined;
  readonly tools?: true | undefined;
  readonly tool_choice?: string | undefined;
  /** Parameters that the request uses, by name. */
  readonly parameters?: readonly string[] | undefined;
  readonly service_tier?: string | undefined;
  /** True when the `-pro` editions of models were requested. */
  readonly pro?: true | undefined;
  /** True when reasoning was switched off. */
  readonly no_reasoning?: true | undefined;
  /** API format and member of the body that only endpoints of that format understand. */
  readonly native?: readonly [format: string, member: string] | undefined;
  /** Provider preferences of the request and its account, without those of the router's own policy. */
  readonly preferences?: LedgerPreferences | undefined;
  /** Providers for which the account has a key of its own, and whether it is used only after the shared capacity. */
  readonly own_keys?: Readonly<Record<string, 'first' | 'fallback'>> | undefined;
  /**
   * Who made the encrypted reasoning of the conversation, the latest last: providers, with the account behind an `@` where
   * its own key was used. Only they can read it.
   */
  readonly reasoning_origins?: readonly string[] | undefined;
  readonly targets: readonly LedgerTarget[];
}

/** Provider preferences that differ from the default. */
export interface LedgerPreferences {
  readonly order?: readonly string[] | undefined;
  readonly only?: readonly (readonly string[])[] | undefined;
  readonly ignore?: readonly string[] | undefined;
  readonly allow_fallbacks?: false | undefined;
  readonly require_parameters?: true | undefined;
  readonly deny_data_collection?: true | undefined;
  readonly zero_data_retention?: true | undefined;
  readonly distillable_only?: true | undefined;
  readonly regions?: readonly (readonly string[])[] | undefined;
  readonly quantizations?: readonly string[] | undefined;
  readonly sort?: string | undefined;
  /** True when the endpoints of all requested models were sorted together. */
  readonly sort_together?: true | undefined;
  readonly max_price?: Readonly<Record<string, number>> | undefined;
  readonly min_throughput?: Readonly<Record<string, number>> | undefined;
  readonly max_latency?: Readonly<Record<string, number>> | undefined;
  /** True when a refusal was to go to the caller, and no other model to be asked. */
  readonly return_refusals?: true | undefined;
  /** What was to follow when a stream broke after its first token. Absent: as the router was configured. */
  readonly after_first_token?: 'error' | 'continue' | undefined;
  /** Models that rules, or the policy of the account, kept the request from; `excluded` says why. */
  readonly denied_models?: readonly string[] | undefined;
}

/** A model that the request could be answered by. */
export interface LedgerTarget {
  readonly requested: string;
  /** Absent where it is the one that was requested. */
  readonly model?: string | undefined;
  /** Absent for `direct`. */
  readonly strategy?: string | undefined;
  readonly sort?: string | undefined;
  readonly admit_tier?: string | undefined;
  /** Router model that this one was put in the place of: a plugin chose it, and replay keeps its choice. */
  readonly router?: string | undefined;
  readonly refused_together?: true | undefined;
  readonly spare?: true | undefined;
  readonly shuffled?: true | undefined;
  /** Endpoints that got a shortened prompt. */
  readonly shortened?: readonly string[] | undefined;
  /** Endpoints that plugins had left. Absent where they took none away. */
  readonly endpoints?: readonly string[] | undefined;
}
