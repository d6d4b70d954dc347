import * as z from 'zod';
import { closed, functionName, jsonObject, nullish } from './fields.ts';
import type { ToolCallExtra } from './chat-result.ts';

/** How hard the model should think. `none` switches reasoning off. */
export type ReasoningEffort = 'max' | 'xhigh' | 'high' | 'medium' | 'low' | 'minimal' | 'none';

/** All efforts from the strongest to none. */
export const REASONING_EFFORTS = ['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none'] as const;

/** Reasoning options (contract: `reasoning`; gaps 2.5). `effort` and `max_tokens` exclude each other. */
export interface ReasoningOptions {
  readonly effort?: ReasoningEffort | null | undefined;
  /** Budget of reasoning tokens, for providers that count instead of grade. */
  readonly max_tokens?: number | null | undefined;
  /** `true` alone means medium effort. */
  readonly enabled?: boolean | null | undefined;
  /** Reason, but leave the reasoning out of the answer. Its tokens still count. */
  readonly exclude?: boolean | null | undefined;
  readonly summary?: 'auto' | 'concise' | 'detailed' | null | undefined;
  readonly context?: 'auto' | 'all_turns' | 'current_turn' | null | undefined;
  readonly mode?: 'standard' | 'pro' | null | undefined;
}

interface ReasoningDetailBase {
  readonly id?: string | null | undefined;
  /** Which provider family made it, for example `anthropic-claude-v1`. */
  readonly format?: string | null | undefined;
  readonly index?: number | undefined;
}

/** One piece of reasoning (gaps 6.4). Pieces of a stream with the same index belong together. */
export type ReasoningDetail = ReasoningDetailBase &
  (
    | { readonly type: 'reasoning.summary'; readonly summary: string }
    | {
        readonly type: 'reasoning.text';
        readonly text?: string | null | undefined;
        readonly signature?: string | null | undefined;
      }
    | { readonly type: 'reasoning.encrypted'; readonly data: string }
    | {
        readonly type: 'reasoning.server_tool_call';
        readonly tool_name: string;
        readonly arguments: string;
        readonly result: string;
        readonly tool_call_id?: string | undefined;
        /** What the provider wants to get back with the call. */
        readonly extra_content?: ToolCallExtra | undefined;
      }
  );

export const reasoningEffortSchema = z.enum(REASONING_EFFORTS);

export const reasoningOptionsSchema = z.looseObject({
  effort: nullish(reasoningEffortSchema),
  max_tokens: nullish(z.int().min(1)),
  enabled: nullish(z.boolean()),
  exclude: nullish(z.boolean()),
  summary: nullish(z.enum(['auto', 'concise', 'detailed'])),
  context: nullish(z.enum(['auto', 'all_turns', 'current_turn'])),
  mode: nullish(z.enum(['standard', 'pro'])),
});

/** A named JSON Schema that the answer must follow. */
export interface JsonSchemaFormat {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly schema?: Readonly<Record<string, unknown>> | null | undefined;
  readonly strict?: boolean | null | undefined;
}

/** The form of the answer (contract: `response_format`; gaps 2.4). */
export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | { readonly type: 'json_schema'; readonly json_schema: JsonSchemaFormat }
  | { readonly type: 'grammar'; readonly grammar: string }
  | { readonly type: 'python' };

/** Schema of {@link ResponseFormat}. */
export const responseFormatSchema = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({
    type: z.literal('json_schema'),
    json_schema: z.looseObject({
      name: functionName,
      description: nullish(z.string()),
      schema: nullish(jsonObject),
      strict: nullish(z.boolean()),
    }),
  }),
  z.looseObject({ type: z.literal('grammar'), grammar: z.string().min(1).max(1_000_000) }),
  z.looseObject({ type: z.literal('python') }),
]);

/** A condition that ends the loop of server tools (gaps 2.6). Several in a list are joined by "or". */
export type StopCondition =
  | { readonly type: 'step_count_is'; readonly step_count: number }
  | { readonly type: 'has_tool_call'; readonly tool_name: string }
  | { readonly type: 'max_tokens_used'; readonly max_tokens: number }
  /** US dollars spent by this request so far. */
  | { readonly type: 'max_cost'; readonly max_cost_in_dollars: number }
  | { readonly type: 'finish_reason_is'; readonly reason: string };

const stopConditionSchema = z.discriminatedUnion('type', [
  closed({ type: z.literal('step_count_is'), step_count: z.int().min(0) }),
  closed({ type: z.literal('has_tool_call'), tool_name: z.string().min(1) }),
  closed({ type: z.literal('max_tokens_used'), max_tokens: z.int().min(0) }),
  closed({ type: z.literal('max_cost'), max_cost_in_dollars: z.number().min(0) }),
  closed({ type: z.literal('finish_reason_is'), reason: z.string().min(1) }),
]);

/** Schema of one {@link StopCondition} or a list of them. */
export const stopConditionsSchema = z.union([z.array(stopConditionSchema).min(1), stopConditionSchema]);
