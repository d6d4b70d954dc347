import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import * as read from '../../platform/json.ts';

/**
 * The events of the stream that a message would have been, for callers of this API who asked a server for a stream that
 * sends none.
 */
export function eventsOfMessage(message: JsonObject): readonly JsonObject[] {
  const { content, stop_reason: reason, stop_sequence: sequence, stop_details: details, usage } = message;
  const begun = { ...message, content: [], stop_reason: null, stop_sequence: null };
  const events: JsonObject[] = [{ type: 'message_start', message: begun }];
  for (const [index, block] of read.list(content).entries()) {
    if (isJsonObject(block)) events.push(...eventsOfBlock(block, index));
  }
  const delta = {
    stop_reason: reason ?? null,
    stop_sequence: sequence ?? null,
    ...(details === undefined ? {} : { stop_details: details }),
  };
  events.push({ type: 'message_delta', delta, usage: usage ?? {} }, { type: 'message_stop' });
  return events;
}

function eventsOfBlock(block: JsonObject, index: number): readonly JsonObject[] {
  const [empty, deltas] = grown(block);
  return [
    { type: 'content_block_start', index, content_block: { ...block, ...empty } },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

/** What a block does not have at its beginning, and the deltas that bring it. A block of another kind begins whole. */
function grown(block: JsonObject): readonly [empty: JsonObject, deltas: readonly JsonObject[]] {
  const { type, text, citations, thinking, signature, input } = block;
  switch (type) {
    case 'text':
      return [
        { text: '', ...(citations == null ? {} : { citations: [] }) },
        [
          { type: 'text_delta', text: read.text(text) ?? '' },
          ...read.objects(citations).map((citation) => ({ type: 'citations_delta', citation })),
        ],
      ];
    case 'thinking':
      return [
        { thinking: '', signature: '' },
        [
          { type: 'thinking_delta', thinking: read.text(thinking) ?? '' },
          { type: 'signature_delta', signature: read.text(signature) ?? '' },
        ],
      ];
    case 'tool_use':
    case 'server_tool_use':
    case 'mcp_tool_use':
      return [{ input: {} }, [{ type: 'input_json_delta', partial_json: JSON.stringify(input ?? {}) }]];
    default:
      return [{}, []];
  }
}
