import type { MessagesUsage } from '../../../protocol/messages/messages-result.ts';
import type { Usage } from '../../../protocol/usage.ts';

/** Usage in the words of this wire. What nobody reported is null; cost is added (upstreams 2.12). */
export function messagesUsage(usage: Usage | undefined, serviceTier: string | null | undefined): MessagesUsage {
  const { prompt_tokens_details: prompt, completion_tokens_details: completion } = usage ?? {};
  const read = prompt?.cached_tokens ?? null;
  const written = prompt?.cache_write_tokens ?? null;
  const { cache_creation: creation, server_tool_use: tools } = usage ?? {};
  return {
    input_tokens: Math.max(0, (usage?.prompt_tokens ?? 0) - (read ?? 0) - (written ?? 0)),
    output_tokens: usage?.completion_tokens ?? 0,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
    cache_creation:
      creation === undefined
        ? null
        : {
            ephemeral_5m_input_tokens: creation.ephemeral_5m_input_tokens ?? 0,
            ephemeral_1h_input_tokens: creation.ephemeral_1h_input_tokens ?? 0,
          },
    output_tokens_details:
      completion?.reasoning_tokens === undefined ? null : { thinking_tokens: completion.reasoning_tokens },
    server_tool_use:
      tools === undefined
        ? null
        : {
            web_search_requests: tools.web_search_requests ?? 0,
            web_fetch_requests: tools.web_fetch_requests ?? 0,
          },
    // This wire calls the ordinary tier "standard" (gaps 2.7).
    service_tier: serviceTier === 'default' ? 'standard' : (serviceTier ?? null),
    ...costOf(usage),
  };
}

/** What the router adds to usage, whoever counted it. */
export function costOf(
  usage: Usage | undefined,
): Pick<MessagesUsage, 'cost' | 'cost_details' | 'is_byok' | 'estimated'> {
  return {
    ...(usage?.cost === undefined ? {} : { cost: usage.cost }),
    ...(usage?.cost_details === undefined ? {} : { cost_details: usage.cost_details }),
    ...(usage?.is_byok === undefined ? {} : { is_byok: usage.is_byok }),
    ...(usage?.estimated === undefined ? {} : { estimated: usage.estimated }),
  };
}
