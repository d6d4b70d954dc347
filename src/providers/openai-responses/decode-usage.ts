import type { ReportedUsage } from '../../core/stream/pieces.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import { decodeUsage as decodeChatUsage } from '../openai-compatible/decode-usage.ts';

/** Names of this wire by those of chat completions. */
const COSTS: Readonly<Record<string, string>> = {
  upstream_inference_input_cost: 'upstream_inference_prompt_cost',
  upstream_inference_output_cost: 'upstream_inference_completions_cost',
};

/** Reads a usage object of this wire, or undefined when it holds no counts. */
export function decodeUsage(value: unknown): ReportedUsage | undefined {
  if (!isJsonObject(value)) return undefined;
  const { input_tokens: prompt, output_tokens: completion, cost_details: costs, ...rest } = value;
  return decodeChatUsage(
    {
      ...rest,
      prompt_tokens: prompt,
      completion_tokens: completion,
      prompt_tokens_details: value['input_tokens_details'],
      completion_tokens_details: value['output_tokens_details'],
      ...(isJsonObject(costs) ? { cost_details: renamed(costs) } : {}),
    },
    {},
  );
}

function renamed(costs: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(costs).map(([name, cost]): [string, JsonValue | undefined] => [COSTS[name] ?? name, cost]),
  );
}
