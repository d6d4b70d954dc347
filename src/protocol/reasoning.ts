import * as z from 'zod';
import { nullish } from './fields.ts';
import type { ToolCallExtra } from './tool-call-extra.ts';

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
