import * as z from 'zod';
import { closed } from './fields.ts';

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
