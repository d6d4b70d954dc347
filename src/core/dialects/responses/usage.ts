import type { JsonObject, JsonValue } from '../../../protocol/json.ts';
import type { Usage } from '../../../protocol/usage.ts';

/** Usage under this shape's names, with what it cost (gaps 10). The two details are always there: clients insist. */
export function responsesUsage(usage: Usage): JsonObject {
  const { prompt_tokens_details: prompt, completion_tokens_details: completion } = usage;
  return {
    input_tokens: usage.prompt_tokens,
    input_tokens_details: {
      cached_tokens: prompt?.cached_tokens ?? 0,
      cache_write_tokens: prompt?.cache_write_tokens ?? 0,
    },
    output_tokens: usage.completion_tokens,
    output_tokens_details: { reasoning_tokens: completion?.reasoning_tokens ?? 0 },
    total_tokens: usage.total_tokens,
    ...costOf(usage),
  };
}

/** What a provider's own usage does not say. */
export function costOf(usage: Usage): JsonObject {
  const { cost, is_byok: byok, estimated, cost_details: details, server_tool_use_details: tools } = usage;
  return {
    ...(cost === undefined ? {} : { cost }),
    ...(byok === undefined ? {} : { is_byok: byok }),
    ...(estimated === undefined ? {} : { estimated }),
    ...(details === undefined ? {} : { cost_details: costDetails(details) }),
    ...(tools === undefined ? {} : { server_tool_use_details: { ...tools } }),
  };
}

function costDetails(details: NonNullable<Usage['cost_details']>): JsonObject {
  const { upstream_inference_prompt_cost: prompt, upstream_inference_completions_cost: completion, ...rest } = details;
  return {
    ...(rest as Readonly<Record<string, JsonValue | undefined>>),
    ...(prompt === undefined ? {} : { upstream_inference_input_cost: prompt }),
    ...(completion === undefined ? {} : { upstream_inference_output_cost: completion }),
  };
}
