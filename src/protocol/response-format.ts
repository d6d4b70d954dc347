import * as z from 'zod';
import { functionName, jsonObject, nullish } from './fields.ts';

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
