import type { MessagesBlock } from '../../../protocol/messages/block.ts';
import type { MessagesTurn } from '../../../protocol/messages/messages-request.ts';
import { shortHash } from './short-hash.ts';
import { isForeign } from './thinking-blocks.ts';

/** Ids of calls as Anthropic accepts them. */
const OWN_ID = /^[a-zA-Z0-9_-]+$/;

/**
 * A conversation that Anthropic can go on with, also when others took part in it: thinking that it did not make is
 * left out, because it refuses that, and ids of calls that it would refuse get stand-ins, the same for call and result.
 */
export function nativeMessages(messages: readonly MessagesTurn[]): readonly MessagesTurn[] {
  if (!messages.some(({ content }) => typeof content !== 'string' && content.some(isStrange))) return messages;
  return messages.flatMap((turn) => {
    if (typeof turn.content === 'string') return [turn];
    const content = turn.content.filter((block) => !isForeignThinking(block)).map(withOwnId);
    // Neighbours of the same role are one turn to Anthropic.
    return content.length === 0 ? [] : [{ ...turn, content }];
  });
}

function isStrange(block: MessagesBlock): boolean {
  return isForeignThinking(block) || withOwnId(block) !== block;
}

function isForeignThinking(block: MessagesBlock): boolean {
  return (block.type === 'thinking' || block.type === 'redacted_thinking') && isForeign(block);
}

function withOwnId(block: MessagesBlock): MessagesBlock {
  if (block.type === 'tool_use') return OWN_ID.test(block.id) ? block : { ...block, id: standIn(block.id) };
  if (block.type !== 'tool_result' || OWN_ID.test(block.tool_use_id)) return block;
  return { ...block, tool_use_id: standIn(block.tool_use_id) };
}

function standIn(id: string): string {
  return `${id.replaceAll(/[^a-zA-Z0-9_-]/g, '_')}_${shortHash(id)}`;
}
