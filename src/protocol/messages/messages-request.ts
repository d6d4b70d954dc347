import { nullish } from '../accept/schema.ts';
import { either, tagged } from '../accept/choices.ts';
import { loose, strict } from '../accept/object.ts';
import { jsonObject } from '../accept/record.ts';
import { constant, flag, integer, number, text, word } from '../accept/scalars.ts';
import { list } from '../accept/list.ts';
import { type CacheControl, cacheControlSchema } from '../content-part.ts';
import { identifier } from '../fields.ts';
import { MAX_FALLBACK_MODELS, MAX_MODEL_SLUG_LENGTH, MAX_USER_LENGTH } from '../limits.ts';
import {
  assistantContentSchema,
  type MessagesBlock,
  systemContentSchema,
  type TextBlock,
  userContentSchema,
} from './block.ts';
import { type MessagesTool, type MessagesToolChoice, messagesToolChoiceSchema, messagesToolSchema } from './tool.ts';

/** Tokens below which a budget makes no sense to any model. */
const LEAST_BUDGET = 1_024;

/** Whether and how much the model thinks before it answers. */
type Thinking = {
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
interface OutputConfig {
  readonly effort?: 'low' | 'medium' | 'high' | 'xhigh' | 'max' | null | undefined;
  /** JSON Schema that the answer must follow. */
  readonly format?:
    | { readonly type: 'json_schema'; readonly schema: Readonly<Record<string, unknown>> }
    | null
    | undefined;
}

const display = { display: nullish(word(['summarized', 'omitted'])) };

/** Schema of {@link Thinking}. */
const thinkingSchema = tagged('type', [
  loose({ type: constant('enabled'), budget_tokens: integer({ least: LEAST_BUDGET }), ...display }),
  loose({ type: constant('adaptive'), ...display }),
  loose({ type: constant('disabled'), ...display }),
  loose({ type: constant('between_tools'), ...display }),
]);

/** Schema of {@link OutputConfig}. */
const outputConfigSchema = loose({
  effort: nullish(word(['low', 'medium', 'high', 'xhigh', 'max'])),
  format: nullish(loose({ type: constant('json_schema'), schema: jsonObject })),
});

/** One turn of the conversation. A system message holds text only. */
export interface MessagesTurn {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: string | readonly MessagesBlock[];
}

/**
 * Body of `POST /messages` (gaps 10; Anthropic Messages). Fields that are not listed here mean what they mean on
 * `POST /chat/completions`: `models`, `provider`, `plugins`, `session_id` and so on.
 */
export interface MessagesRequest {
  readonly messages: readonly MessagesTurn[];
  /** Most tokens of the answer. Required on this wire. Zero only warms a cache. */
  readonly max_tokens: number;
  readonly model?: string | null | undefined;
  readonly system?: string | readonly TextBlock[] | null | undefined;
  readonly stream?: boolean | null | undefined;
  /** 0 to 1. */
  readonly temperature?: number | null | undefined;
  readonly top_p?: number | null | undefined;
  readonly top_k?: number | null | undefined;
  readonly stop_sequences?: readonly string[] | null | undefined;
  readonly tools?: readonly MessagesTool[] | null | undefined;
  readonly tool_choice?: MessagesToolChoice | null | undefined;
  readonly thinking?: Thinking | null | undefined;
  readonly output_config?: OutputConfig | null | undefined;
  /** `user_id` stands for `user`; all other pairs are the chat request's `metadata`. */
  readonly metadata?:
    | { readonly user_id?: string | null | undefined; readonly [key: string]: unknown }
    | null
    | undefined;
  /** `standard_only` is the chat request's `default`; its other words are taken as well. */
  readonly service_tier?:
    | 'auto'
    | 'standard_only'
    | 'default'
    | 'fast'
    | 'flex'
    | 'priority'
    | 'scale'
    | null
    | undefined;
  /** `fast` asks for the priority tier. */
  readonly speed?: 'standard' | 'fast' | null | undefined;
  /** Another spelling of `models`. `default` leaves the choice to the router. */
  readonly fallbacks?: 'default' | readonly { readonly model: string }[] | null | undefined;
  readonly cache_control?: CacheControl | null | undefined;
  /** Where the model may run. */
  readonly inference_geo?: string | null | undefined;
  readonly container?: unknown;
  readonly mcp_servers?: readonly unknown[] | null | undefined;
  readonly [field: string]: unknown;
}

const turnSchema = tagged('role', [
  loose({ role: constant('user'), content: userContentSchema }),
  loose({ role: constant('assistant'), content: assistantContentSchema }),
  loose({ role: constant('system'), content: systemContentSchema }),
]);

const slug = identifier(1, MAX_MODEL_SLUG_LENGTH);

const fallbackSchema = strict({ model: slug }, () => 'may hold a model only');

/** Schema of a {@link MessagesRequest}. Loose: fields of the chat request are checked behind the translation. */
export const messagesRequestSchema = loose({
  messages: list(turnSchema, { least: 1 }),
  max_tokens: integer({ least: 0 }),
  model: nullish(slug),
  system: nullish(systemContentSchema),
  stream: nullish(flag),
  temperature: nullish(number({ least: 0, most: 1 })),
  top_p: nullish(number({ least: 0, most: 1 })),
  top_k: nullish(integer({ least: 0 })),
  stop_sequences: nullish(list(text({ least: 1 }))),
  tools: nullish(list(messagesToolSchema)),
  tool_choice: nullish(messagesToolChoiceSchema),
  thinking: nullish(thinkingSchema),
  output_config: nullish(outputConfigSchema),
  metadata: nullish(loose({ user_id: nullish(identifier(0, MAX_USER_LENGTH)) })),
  service_tier: nullish(word(['auto', 'standard_only', 'default', 'fast', 'flex', 'priority', 'scale'])),
  speed: nullish(word(['standard', 'fast'])),
  fallbacks: nullish(either([constant('default'), list(fallbackSchema, { most: MAX_FALLBACK_MODELS })])),
  cache_control: nullish(cacheControlSchema),
  inference_geo: nullish(text({ least: 1, most: 64 })),
  container: nullish(either([text(), jsonObject])),
  mcp_servers: nullish(list(jsonObject)),
  // Audio has no place in an answer of this wire.
  modalities: nullish(list(word(['text', 'image']), { most: 2 })),
});
