/** Decides whether a Responses body may go to an endpoint as it came, and adopts its answer. */
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { type InputItem, isTranslatedItem } from './protocol/input-item.ts';
import type { ResponsesRequest } from './protocol/responses-request.ts';
import { isTranslatedTool } from './protocol/tool.ts';
import type { RouterMetadata } from '../../protocol/metadata.ts';
import type { ApiFormatContext } from '../api-format.ts';
import { responseCost, metadataMember, responseId } from './response-object.ts';
import * as read from '../../platform/json.ts';
import type { Usage } from '../../protocol/usage.ts';

/** Fields that only a provider of this API understands. */
const NATIVE_FIELDS = ['context_management', 'moderation', 'access_programs', 'image'];

/** The path of the first thing that cannot be said in the chat form. */
export function requiresNative(request: ResponsesRequest): string | undefined {
  return (
    NATIVE_FIELDS.find((name) => request[name] != null) ??
    nativeTool(request) ??
    nativeChoice(request) ??
    nativeItem(request)
  );
}

/**
 * The path of the first thing that only this router does, so that a provider cannot be called in the caller's words.
 *
 * @param routing - Ids of plugins that leave a request alone.
 */
export function forbidsNative(request: ResponsesRequest, routing: ReadonlySet<unknown>): string | undefined {
  const { tools, reasoning, input } = request;
  const tool = (tools ?? []).findIndex(({ type }) => /^(?:open)?router:/.test(type));
  if (tool >= 0) return `tools[${tool}]`;
  const plugins: readonly unknown[] = read.list(request['plugins']);
  const plugin = plugins.findIndex((entry) => changesRequests(entry, routing));
  if (plugin >= 0) return `plugins[${plugin}]`;
  const field = ['preset', 'transforms', 'stop_server_tools_when'].find((name) => request[name] != null);
  if (field !== undefined) return field;
  const option = (['max_tokens', 'enabled', 'exclude'] as const).find((name) => reasoning?.[name] != null);
  if (option !== undefined) return `reasoning.${option}`;
  if (changesModel(request['model'])) return 'model';
  const models: readonly unknown[] = read.list(request['models']);
  if (models.some(changesModel)) return 'models';
  return typeof input === 'string' || !input.some(hasOwnParts) ? undefined : 'input';
}

function changesRequests(plugin: unknown, routing: ReadonlySet<unknown>): boolean {
  return isJsonObject(plugin) && plugin['enabled'] !== false && !routing.has(plugin['id']);
}

/** Variants and presets that do more than choose among endpoints. */
function changesModel(model: unknown): boolean {
  return typeof model === 'string' && (model.includes('@preset/') || model.includes(':online'));
}

/** Kinds of content that are not OpenAI's. */
function hasOwnParts(item: InputItem): boolean {
  const content: unknown = 'content' in item ? item.content : undefined;
  return Array.isArray(content) && content.some((part: JsonObject) => part['type'] === 'input_video');
}

function nativeTool({ tools }: ResponsesRequest): string | undefined {
  for (const [index, tool] of (tools ?? []).entries()) {
    if ((tool as JsonObject)['defer_loading'] === true) return `tools[${index}].defer_loading`;
    if (tool.type !== 'function' && tool.type !== 'custom' && !isTranslatedTool(tool.type)) {
      return `tools[${index}].type`;
    }
  }
  return undefined;
}

function nativeChoice({ tool_choice: choice }: ResponsesRequest): string | undefined {
  if (typeof choice !== 'object' || choice === null || 'name' in choice || 'mode' in choice) return undefined;
  return isTranslatedTool(choice.type) ? undefined : 'tool_choice.type';
}

function nativeItem({ input }: ResponsesRequest): string | undefined {
  if (typeof input === 'string') return undefined;
  for (const [index, item] of input.entries()) {
    if (!isTranslatedItem(item)) return `input[${index}].type`;
    if (item.type === 'configuration_update' && item.text != null) return `input[${index}].text`;
    const file = fileOf(item);
    if (file !== undefined) return `input[${index}].${file}`;
  }
  return undefined;
}

/** An image that is named by an id lies at one provider. */
function fileOf(item: InputItem): string | undefined {
  const name = 'output' in item ? 'output' : 'content';
  const parts: unknown = (item as unknown as JsonObject)[name];
  if (!Array.isArray(parts)) return undefined;
  const index = parts.findIndex(
    (part: JsonObject) => part['type'] === 'input_image' && part['image_url'] == null && part['file_id'] != null,
  );
  return index < 0 ? undefined : `${name}[${index}].file_id`;
}

/** What this router knows of an answer that a provider gave in its own words. */
export interface NativeFacts {
  readonly model: string;
  readonly provider?: string | undefined;
  readonly usage?: Usage | undefined;
  readonly metadata?: RouterMetadata | undefined;
}

/** Members whose value at the provider is not the one the caller gave. */
const CALLERS_OWN = ['metadata', 'user', 'safety_identifier'];

/**
 * A provider's own answer with what the caller must see of this router: id, model, what it cost, and the caller's own
 * words where the provider got others.
 */
export function adoptResponse(response: JsonObject, context: ApiFormatContext, facts: NativeFacts): JsonObject {
  const { body, generationId } = context;
  const own = CALLERS_OWN.flatMap((name) =>
    name in response || body[name] != null ? [[name, body[name] ?? (name === 'metadata' ? {} : null)] as const] : [],
  );
  const usage = response['usage'];
  return {
    ...response,
    id: responseId(generationId),
    model: facts.model,
    ...(facts.provider === undefined ? {} : { provider: facts.provider }),
    ...Object.fromEntries(own),
    store: false,
    ...(isJsonObject(usage) && facts.usage !== undefined ? { usage: { ...usage, ...responseCost(facts.usage) } } : {}),
    ...metadataMember(context, facts.metadata),
  };
}
