import type { AssistantMessage, ToolCall } from '../../protocol/message.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import { isJsonObject } from '../../protocol/json.ts';
import type { ToolIds } from '../tool-ids.ts';
import type { RedactedThinkingBlock, ThinkingBlock } from '../../protocol/messages/block.ts';
import type { Block, ToolUseBlock } from './blocks.ts';
import { encodeText, textBlocks } from './encode-content.ts';

/** Which provider family made a piece of reasoning that this API signed (gaps 6.4). */
export const THINKING_FORMAT = 'anthropic-claude-v1';

/** Longest name of a tool. */
const MAX_NAME_LENGTH = 128;

/**
 * Writes an earlier answer as blocks: thinking where it stood, then text, then tool calls. Images and audio of the
 * model's own have no place on this wire.
 *
 * @param withThinking - Whether the model can be given thinking at all.
 */
export function encodeAssistant(message: AssistantMessage, ids: ToolIds, withThinking: boolean): Block[] {
  const said = message.content == null ? [] : encodeText(message.content);
  const text = said.length > 0 ? said : textBlocks(message.refusal ?? '');
  const calls = (message.tool_calls ?? []).map((call) => encodeToolCall(call, ids));
  return withThinking ? interleave(thinkingOf(message.reasoning_details ?? []), text, calls) : [...text, ...calls];
}

/** A name as the API accepts it. */
export function toolName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, MAX_NAME_LENGTH);
}

function encodeToolCall({ id, function: { name, arguments: text } }: ToolCall, ids: ToolIds): ToolUseBlock {
  return { type: 'tool_use', id: ids.call(id), name: toolName(name), input: inputOf(text) };
}

/** Arguments that are no JSON object are wrapped in one: a call that went wrong must not end the conversation. */
function inputOf(text: string): object {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : { arguments: value };
  } catch {
    return { arguments: text };
  }
}

interface PlacedThinking {
  readonly block: ThinkingBlock | RedactedThinkingBlock;
  /** Position in the turn as it was decoded; see `MessageReader`. */
  readonly index: number | undefined;
}

/** Thinking that this API made, byte for byte. What others made, or nobody signed, it would refuse. */
function thinkingOf(details: readonly ReasoningDetail[]): PlacedThinking[] {
  return details.flatMap((detail): PlacedThinking[] => {
    if (detail.format != null && detail.format !== THINKING_FORMAT) return [];
    const { index } = detail;
    if (detail.type === 'reasoning.encrypted') {
      return [{ index, block: { type: 'redacted_thinking', data: detail.data } }];
    }
    if (detail.type !== 'reasoning.text' || !detail.signature) return [];
    return [{ index, block: { type: 'thinking', thinking: detail.text ?? '', signature: detail.signature } }];
  });
}

/** Puts thinking back between what was said and called. Without positions, or with dense ones, all of it comes first. */
function interleave(thinking: readonly PlacedThinking[], text: readonly Block[], calls: readonly Block[]): Block[] {
  // All text is one position: that is how positions were counted.
  const others: (readonly Block[])[] = [...(text.length > 0 ? [text] : []), ...calls.map((call) => [call])];
  const blocks: Block[] = [];
  let position = 0;
  for (const { block, index = position } of thinking) {
    for (; position < index && others.length > 0; position += 1) blocks.push(...(others.shift() ?? []));
    blocks.push(block);
    position += 1;
  }
  return [...blocks, ...others.flat()];
}
