import type { OutputImage } from '../../../protocol/chat-result.ts';
import { type JsonObject, isJsonObject } from '../../../protocol/json.ts';
import type { ReasoningDetail } from '../../../protocol/reasoning.ts';
import { type ItemPlace, type OutputItemWriter, announce, conclude } from './output-item.ts';

type ServerCall = Extract<ReasoningDetail, { readonly type: 'reasoning.server_tool_call' }>;

/** An item that is there all at once: an image, or a call of a server tool with its result. */
export class DoneItemWriter implements OutputItemWriter {
  readonly outputIndex: number;
  readonly #item: JsonObject;

  /** @param steps - Names of the events between the beginning and the end. */
  constructor(place: ItemPlace, item: JsonObject, pending: JsonObject, steps: readonly string[]) {
    this.outputIndex = place.outputIndex;
    this.#item = { id: place.id, ...item };
    announce(place, { ...this.#item, ...pending, status: 'in_progress' });
    for (const step of steps) place.emit(step, { item_id: place.id, output_index: place.outputIndex });
    conclude(place, this.#item);
  }

  item(): JsonObject {
    return this.#item;
  }

  close(): void {
    // It was told already.
  }
}

/** An image in the answer. */
export function imageItem(place: ItemPlace, { image_url: { url } }: OutputImage): DoneItemWriter {
  const [, format, base64] = /^data:image\/([\w.+-]+);base64,(.*)$/s.exec(url) ?? [];
  const image = {
    type: 'image_generation_call',
    status: 'completed',
    result: base64 ?? url,
    ...(format === undefined ? {} : { output_format: format }),
  };
  const names = ['in_progress', 'completed'].map((step) => `response.image_generation_call.${step}`);
  return new DoneItemWriter(place, image, { result: null }, names);
}

/**
 * A call of a server tool that the router ran. It carries what has to come back for the call to be replayed; searches
 * look like those of OpenAI, so that clients show them.
 */
export function serverCallItem(place: ItemPlace, call: ServerCall): DoneItemWriter {
  const { tool_name: name, tool_call_id: id, arguments: text, result } = call;
  const replay = { tool_name: name, arguments: text, result, ...(id === undefined ? {} : { tool_call_id: id }) };
  const bare = name.replace(/^(?:open)?router:/, '');
  const action = actionOf(bare, text, result);
  const type = action === undefined ? `router:${bare}` : 'web_search_call';
  const item = { type, status: 'completed', ...(action === undefined ? {} : { action }), ...replay };
  const steps = ['in_progress', 'searching', 'completed'].map((step) => `response.web_search_call.${step}`);
  return new DoneItemWriter(place, item, {}, action === undefined ? [] : steps);
}

function actionOf(tool: string, text: string, result: string): JsonObject | undefined {
  if (tool !== 'web_search' && tool !== 'web_fetch') return undefined;
  const { query, url } = objectOf(text);
  if (tool === 'web_fetch') return { type: 'open_page', url: typeof url === 'string' ? url : '' };
  const sources = sourcesOf(result);
  return {
    type: 'search',
    query: typeof query === 'string' ? query : '',
    ...(sources.length === 0 ? {} : { sources }),
  };
}

/** Addresses among the results, where the results are a list that has some. */
function sourcesOf(result: string): readonly JsonObject[] {
  const value = parsed(result);
  const { results } = isJsonObject(value) ? value : { results: value };
  const found = Array.isArray(results) ? results.filter(isJsonObject) : [];
  return found.flatMap(({ url }) => (typeof url === 'string' ? [{ type: 'url', url }] : []));
}

function objectOf(text: string): JsonObject {
  const value = parsed(text);
  return isJsonObject(value) ? value : {};
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
