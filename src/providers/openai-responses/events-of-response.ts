import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import * as read from '../../platform/json.ts';

/**
 * The events of the stream that a response would have been, for callers of this API who asked a server for a stream that
 * sends none. Every item is passed on whole; texts and arguments also as deltas, which is what most clients read.
 */
export function eventsOfResponse(response: JsonObject): readonly JsonObject[] {
  const { output, status } = response;
  const begun: JsonObject = { ...response, status: 'in_progress', output: [] };
  const events: JsonObject[] = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
  ];
  for (const [index, item] of read.list(output).entries()) {
    if (isJsonObject(item)) events.push(...eventsOfItem(item, index));
  }
  events.push({ type: status === 'incomplete' ? 'response.incomplete' : 'response.completed', response });
  return events.map((event, index) => ({ ...event, sequence_number: index }));
}

function eventsOfItem(item: JsonObject, index: number): readonly JsonObject[] {
  const at = { item_id: item['id'], output_index: index };
  return [
    { type: 'response.output_item.added', output_index: index, item: { ...item, ...emptied(item) } },
    ...deltasOf(item, at),
    { type: 'response.output_item.done', output_index: index, item },
  ];
}

/** An item as it was before its deltas. */
function emptied({ type }: JsonObject): JsonObject {
  if (type === 'message') return { status: 'in_progress', content: [] };
  if (type === 'function_call') return { status: 'in_progress', arguments: '' };
  if (type === 'custom_tool_call') return { status: 'in_progress', input: '' };
  return type === 'reasoning' ? { summary: [] } : {};
}

function deltasOf(item: JsonObject, at: JsonObject): readonly JsonObject[] {
  const { type, arguments: args, input } = item;
  if (type === 'message') {
    return read.objects(item['content']).flatMap((part, index) => eventsOfPart(part, { ...at, content_index: index }));
  }
  if (type === 'function_call') return grown('response.function_call_arguments', 'arguments', read.text(args), at);
  if (type === 'custom_tool_call') return grown('response.custom_tool_call_input', 'input', read.text(input), at);
  if (type !== 'reasoning') return [];
  return read.objects(item['summary']).flatMap((part, index) => {
    const place = { ...at, summary_index: index };
    return [
      { type: 'response.reasoning_summary_part.added', ...place, part: { ...part, text: '' } },
      ...grown('response.reasoning_summary_text', 'text', read.text(part['text']), place),
      { type: 'response.reasoning_summary_part.done', ...place, part },
    ];
  });
}

function eventsOfPart(part: JsonObject, at: JsonObject): readonly JsonObject[] {
  const isRefusal = part['type'] === 'refusal';
  const name = isRefusal ? 'refusal' : 'text';
  const { annotations, logprobs } = part;
  const empty = { ...part, [name]: '', ...(annotations === undefined ? {} : { annotations: [] }) };
  const more = isRefusal ? {} : { logprobs: Array.isArray(logprobs) ? logprobs : [] };
  return [
    { type: 'response.content_part.added', ...at, part: empty },
    ...grown(isRefusal ? 'response.refusal' : 'response.output_text', name, read.text(part[name]), { ...at, ...more }),
    ...read.objects(annotations).map((annotation, index) => ({
      type: 'response.output_text.annotation.added',
      ...at,
      annotation_index: index,
      annotation,
    })),
    { type: 'response.content_part.done', ...at, part },
  ];
}

/** A text in one delta, and its end. */
function grown(event: string, name: string, text: string | undefined, at: JsonObject): readonly JsonObject[] {
  if (text === undefined) return [];
  return [
    { type: `${event}.delta`, ...at, delta: text },
    { type: `${event}.done`, ...at, [name]: text },
  ];
}
