/** Reasoning options, response formats and stop conditions, and their schemas. */
import { nullish } from '../schema/modifiers.ts';
import { looseObject } from '../schema/object.ts';
import { literal, boolean, integer, number, string, enumeration } from '../schema/scalars.ts';
import { union, discriminatedUnion } from '../schema/choices.ts';
import { jsonObject, array } from '../schema/collections.ts';
import { closed, functionName } from './fields.ts';
import type { ToolCallExtra } from './tools.ts';

/** How hard the model should think. `none` switches reasoning off. */
export type ReasoningEffort = 'max' | 'xhigh' | 'high' | 'medium' | 'low' | 'minimal' | 'none';

/** All efforts from the strongest to none. */
export const REASONING_EFFORTS = ['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none'] as const;

/** Reasoning options (contract: `reasoning`; gaps 2.5). `effort` and `max_tokens` exclude each other. */
export interface ReasoningOptions {
  /** How hard to think, in words: each provider gets its own form of it. `none` switches reasoning off. */
  readonly effort?: ReasoningEffort | null | undefined;
  /** Budget of reasoning tokens, for providers that count instead of grade. */
  readonly max_tokens?: number | null | undefined;
  /** `true` alone means medium effort. */
  readonly enabled?: boolean | null | undefined;
  /** Reason, but leave the reasoning out of the answer. Its tokens still count. */
  readonly exclude?: boolean | null | undefined;
  /** How detailed a summary of the reasoning is, for providers that show summaries only. */
  readonly summary?: 'auto' | 'concise' | 'detailed' | null | undefined;
  /** Which turns' reasoning the model sees again, for providers that let callers choose. */
  readonly context?: 'auto' | 'all_turns' | 'current_turn' | null | undefined;
  /** `pro` lets models that can do so work longer on the answer. */
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
        /** What the provider requires back with the call. */
        readonly extra_content?: ToolCallExtra | undefined;
      }
  );

/** How much a model may think before it answers, by name. */
export const reasoningEffortSchema = enumeration(REASONING_EFFORTS);

/** Members of {@link ReasoningOptions}. */
export const reasoningMembers = {
  effort: nullish(reasoningEffortSchema),
  max_tokens: nullish(integer({ least: 1 })),
  enabled: nullish(boolean),
  exclude: nullish(boolean),
  summary: nullish(enumeration(['auto', 'concise', 'detailed'])),
  context: nullish(enumeration(['auto', 'all_turns', 'current_turn'])),
  mode: nullish(enumeration(['standard', 'pro'])),
};

export const reasoningOptionsSchema = looseObject(reasoningMembers);

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
export const responseFormatSchema = discriminatedUnion('type', [
  looseObject({ type: literal('text') }),
  looseObject({ type: literal('json_object') }),
  looseObject({
    type: literal('json_schema'),
    json_schema: looseObject({
      name: functionName,
      description: nullish(string()),
      schema: nullish(jsonObject),
      strict: nullish(boolean),
    }),
  }),
  looseObject({ type: literal('grammar'), grammar: string({ least: 1, most: 1_000_000 }) }),
  looseObject({ type: literal('python') }),
]);

/** A condition that ends the loop of server tools (gaps 2.6). Several in a list are joined by "or". */
export type StopCondition =
  | { readonly type: 'step_count_is'; readonly step_count: number }
  | { readonly type: 'has_tool_call'; readonly tool_name: string }
  | { readonly type: 'max_tokens_used'; readonly max_tokens: number }
  /** US dollars spent by this request so far. */
  | { readonly type: 'max_cost'; readonly max_cost_in_dollars: number }
  | { readonly type: 'finish_reason_is'; readonly reason: string };

const stopConditionSchema = discriminatedUnion('type', [
  closed({ type: literal('step_count_is'), step_count: integer({ least: 0 }) }),
  closed({ type: literal('has_tool_call'), tool_name: string({ least: 1 }) }),
  closed({ type: literal('max_tokens_used'), max_tokens: integer({ least: 0 }) }),
  closed({ type: literal('max_cost'), max_cost_in_dollars: number({ least: 0 }) }),
  closed({ type: literal('finish_reason_is'), reason: string({ least: 1 }) }),
]);

/** Schema of one {@link StopCondition} or a list of them. */
export const stopConditionsSchema = union([array(stopConditionSchema, { least: 1 }), stopConditionSchema]);
