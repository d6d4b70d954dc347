import { fill } from '../options/option.ts';
import { FIXED_REQUEST_LIMITS, REQUEST_LIMITS, type RequestLimits } from '../options/limits.ts';

/**
 * Every size and count that a request is held to, in one place.
 * Those marked "contract" are fixed by the contract's table of limits; the others protect the process and may be
 * changed with `limits` in the router's configuration.
 */

/** Contract: sequences in `stop`. */
export const MAX_STOP_SEQUENCES = 4;
/** Contract: characters in `session_id`, in the body or in the `x-session-id` header. */
export const MAX_SESSION_ID_LENGTH = 256;
/** Contract: pairs in `metadata`. */
export const MAX_METADATA_PAIRS = 16;
/** Contract: characters in a key of `metadata`. */
export const MAX_METADATA_KEY_LENGTH = 64;
/** Contract: characters in a value of `metadata`. */
export const MAX_METADATA_VALUE_LENGTH = 512;
/** Contract: `top_logprobs`. */
export const MAX_TOP_LOGPROBS = 20;
/** Entries in `models`; the primary `model` comes on top. */
export const MAX_FALLBACK_MODELS = 3;
/** Characters in a model slug. Limits the work of wildcard patterns. */
export const MAX_MODEL_SLUG_LENGTH = 256;
/** Characters in `user`. */
export const MAX_USER_LENGTH = 512;
/** Characters in the name of a function or of a JSON schema. */
export const MAX_NAME_LENGTH = 64;
/** Contract: patterns in `allowed_models` and `excluded_models`. */
export const MAX_MODEL_PATTERNS = 1_024;
/** Contract: characters in one model pattern. */
export const MAX_MODEL_PATTERN_LENGTH = 1_024;
/** Contract: characters in all patterns of one list. */
export const MAX_MODEL_PATTERNS_TOTAL_LENGTH = 65_536;
/** Contract: models or presets on a panel of fusion. */
export const MAX_FUSION_MODELS = 8;
/** Contract: tools that a panel may have. */
export const MAX_FUSION_TOOLS = 8;
/** Contract: `max_tool_calls` of fusion. */
export const MAX_FUSION_TOOL_CALLS = 16;
/** Steps of the server-side tool loop: default and maximum of `max_tool_calls`. */
export const MAX_SERVER_TOOL_STEPS = 30;
/** Pairs in `logit_bias`. */
export const MAX_LOGIT_BIASES = 1_024;
/** `max_tokens` and its relatives: more than any model will ever write, and a number that every provider can read. */
export const MAX_OUTPUT_TOKENS = 2_147_483_647;
/** Numbers in one embedding vector, in `dimensions`. */
export const MAX_DIMENSIONS = 65_536;
/** Characters in `input_type`. */
export const MAX_INPUT_TYPE_LENGTH = 64;

/** Characters that a hook of a plugin or a call of a server tool may add. */
export const MAX_PLUGIN_OUTPUT_LENGTH = 8_000_000;

export type { RequestLimits } from '../options/limits.ts';

/** The defaults of {@link RequestLimits}. */
export const DEFAULT_REQUEST_LIMITS: RequestLimits = {
  ...FIXED_REQUEST_LIMITS,
  ...fill(REQUEST_LIMITS),
  concurrentRequests: 2_000,
};
