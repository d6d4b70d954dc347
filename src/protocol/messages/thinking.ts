import * as z from 'zod';
import { jsonObject, nullish } from '../fields.ts';

/** Tokens below which a budget makes no sense to any model. */
const LEAST_BUDGET = 1_024;

/** Whether and how much the model thinks before it answers. */
export type Thinking = {
  /** `omitted` keeps the text of the thinking out of the answer. */
  readonly display?: 'summarized' | 'omitted' | null | undefined;
} & (
  | {
      readonly type: 'enabled';
      /** Tokens, 1,024 or more. */
      readonly budget_tokens: number;
    }
  | { readonly type: 'adaptive' | 'disabled' | 'between_tools' }
);

/** How the answer is made. */
export interface OutputConfig {
  readonly effort?: 'low' | 'medium' | 'high' | 'xhigh' | 'max' | null | undefined;
  /** JSON Schema that the answer must follow. */
  readonly format?:
    | { readonly type: 'json_schema'; readonly schema: Readonly<Record<string, unknown>> }
    | null
    | undefined;
}

const display = { display: nullish(z.enum(['summarized', 'omitted'])) };

/** Schema of {@link Thinking}. */
export const thinkingSchema = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('enabled'), budget_tokens: z.int().min(LEAST_BUDGET), ...display }),
  z.looseObject({ type: z.literal('adaptive'), ...display }),
  z.looseObject({ type: z.literal('disabled'), ...display }),
  z.looseObject({ type: z.literal('between_tools'), ...display }),
]);

/** Schema of {@link OutputConfig}. */
export const outputConfigSchema = z.looseObject({
  effort: nullish(z.enum(['low', 'medium', 'high', 'xhigh', 'max'])),
  format: nullish(z.looseObject({ type: z.literal('json_schema'), schema: jsonObject })),
});
