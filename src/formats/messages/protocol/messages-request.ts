/** The body of `POST /messages`, and its schema. */
import { nullish } from '../../../schema/modifiers.ts';
import { union, discriminatedUnion } from '../../../schema/choices.ts';
import { looseObject, strictObject } from '../../../schema/object.ts';
import { jsonObject, array } from '../../../schema/collections.ts';
import { literal, boolean, integer, number, string, enumeration } from '../../../schema/scalars.ts';
import { type CacheControl, cacheControlSchema } from '../../../protocol/content-part.ts';
import { identifier } from '../../../protocol/fields.ts';
import {
  MAX_FALLBACK_MODELS,
  MAX_MODEL_SLUG_LENGTH,
  MAX_USER_LENGTH,
  DEFAULT_REQUEST_LIMITS,
  type RequestLimits,
} from '../../../protocol/limits.ts';
import {
  assistantBlocksSchema,
  type MessagesBlock,
  systemContentSchema,
  type TextBlock,
  userContentSchema,
} from './block.ts';
import { type MessagesTool, type MessagesToolChoice, messagesToolChoiceSchema, messagesToolSchema } from './tool.ts';
import { THREAD_PATH } from '../../../protocol/api-format.ts';
import { type Checked, echo, failed, faultAt, passed, type RequestFault } from '../../../protocol/fault.ts';
import { isJsonObject } from '../../../protocol/json.ts';
import { read, shownValue } from '../../../protocol/issues.ts';
import { inspectJson } from '../../../protocol/inspect-json.ts';

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

const display = { display: nullish(enumeration(['summarized', 'omitted'])) };

/** Schema of {@link Thinking}. */
const thinkingSchema = discriminatedUnion('type', [
  looseObject({ type: literal('enabled'), budget_tokens: integer({ least: LEAST_BUDGET }), ...display }),
  looseObject({ type: literal('adaptive'), ...display }),
  looseObject({ type: literal('disabled'), ...display }),
  looseObject({ type: literal('between_tools'), ...display }),
]);

/** Schema of {@link OutputConfig}. */
const outputConfigSchema = looseObject({
  effort: nullish(enumeration(['low', 'medium', 'high', 'xhigh', 'max'])),
  format: nullish(looseObject({ type: literal('json_schema'), schema: jsonObject })),
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
  /** `fast` requires the priority tier. */
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

const turnSchema = discriminatedUnion('role', [
  looseObject({ role: literal('user'), content: userContentSchema }),
  looseObject({ role: literal('assistant'), content: assistantBlocksSchema }),
  looseObject({ role: literal('system'), content: systemContentSchema }),
]);

const slug = identifier(1, MAX_MODEL_SLUG_LENGTH);

const fallbackSchema = strictObject({ model: slug }, () => 'may hold a model only');

/** Schema of a {@link MessagesRequest}. Loose: fields of the chat request are checked behind the translation. */
export const messagesRequestSchema = looseObject({
  messages: array(turnSchema, { least: 1 }),
  max_tokens: integer({ least: 0 }),
  model: nullish(slug),
  system: nullish(systemContentSchema),
  stream: nullish(boolean),
  temperature: nullish(number({ least: 0, most: 1 })),
  top_p: nullish(number({ least: 0, most: 1 })),
  top_k: nullish(integer({ least: 0 })),
  stop_sequences: nullish(array(string({ least: 1 }))),
  tools: nullish(array(messagesToolSchema)),
  tool_choice: nullish(messagesToolChoiceSchema),
  thinking: nullish(thinkingSchema),
  output_config: nullish(outputConfigSchema),
  metadata: nullish(looseObject({ user_id: nullish(identifier(0, MAX_USER_LENGTH)) })),
  service_tier: nullish(enumeration(['auto', 'standard_only', 'default', 'fast', 'flex', 'priority', 'scale'])),
  speed: nullish(enumeration(['standard', 'fast'])),
  fallbacks: nullish(union([literal('default'), array(fallbackSchema, { most: MAX_FALLBACK_MODELS })])),
  cache_control: nullish(cacheControlSchema),
  inference_geo: nullish(string({ least: 1, most: 64 })),
  container: nullish(union([string(), jsonObject])),
  mcp_servers: nullish(array(jsonObject)),
  // Audio has no place in an answer of this wire.
  modalities: nullish(array(enumeration(['text', 'image']), { most: 2 })),
});

const NO_THREADS =
  'is not supported here: the next request may go to another provider, so send the whole conversation each time';

/**
 * Checks the body of `POST /messages`. What is wrong comes back as data, with the path in the caller's own body.
 * Fields that it shares with the chat request, such as `provider`, are checked there.
 */
export function parseMessagesRequest(
  body: unknown,
  limits: RequestLimits = DEFAULT_REQUEST_LIMITS,
): Checked<MessagesRequest> {
  if (!isJsonObject(body)) {
    return failed(faultAt('', `must be a JSON object with "messages" and "max_tokens", not ${shownValue(body)}`));
  }
  const inspection = inspectJson(body, limits);
  if (!inspection.ok) return failed(faultAt(inspection.path, inspection.problem));
  if (body['thread'] != null) return failed(faultAt(THREAD_PATH, NO_THREADS));
  const parsed = read(messagesRequestSchema, body);
  if (!parsed.ok) return failed(faultAt(parsed.path, parsed.problem));
  // What passed is given back as it came: members that no schema names stay where they are.
  const request = body as unknown as MessagesRequest;
  const fault = checkMessages(request);
  return fault === undefined ? passed(request) : failed(fault);
}

/** Finds statements of a request that cannot all be true. Anthropic answers them with a 400, and so do we. */
function checkMessages(request: MessagesRequest): RequestFault | undefined {
  return checkToolResults(request.messages) ?? checkToolChoice(request) ?? checkFallbacks(request);
}

function checkToolResults(messages: readonly MessagesTurn[]): RequestFault | undefined {
  const calls = new Set<string>();
  for (const [turn, { content }] of messages.entries()) {
    if (typeof content === 'string') continue;
    for (const [index, block] of content.entries()) {
      if (block.type === 'tool_use') calls.add(block.id);
      if (block.type !== 'tool_result' || calls.has(block.tool_use_id)) continue;
      const path = `messages[${turn}].content[${index}].tool_use_id`;
      return faultAt(path, 'answers a tool call that no earlier assistant message made');
    }
  }
  return undefined;
}

function checkToolChoice({ tools, tool_choice: choice }: MessagesRequest): RequestFault | undefined {
  if (choice == null || choice.type === 'none' || choice.type === 'auto') return undefined;
  if (!tools?.length) return faultAt('tool_choice', 'asks for a tool call, but the request has no tools');
  if (choice.type !== 'tool' || tools.some((tool) => tool.name === choice.name)) return undefined;
  return faultAt('tool_choice.name', `must be the name of one of the tools, not ${echo(choice.name)}`);
}

function checkFallbacks({ fallbacks, models }: MessagesRequest): RequestFault | undefined {
  if (fallbacks == null || fallbacks === 'default' || models == null) return undefined;
  return faultAt('fallbacks', 'and models mean the same: send one of them');
}
