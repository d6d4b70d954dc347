import { isJsonObject } from '../../../protocol/json.ts';
import type { RedactedThinkingBlock, ThinkingBlock } from '../../../protocol/messages/block.ts';
import type { ReasoningDetail } from '../../../protocol/reasoning.ts';

/** Format of reasoning that this wire carries by itself. */
const OWN_FORMAT = 'anthropic-claude-v1';

/**
 * Begins the signature or data of a block that was not made by Anthropic. What follows is the rest of the reasoning
 * detail, so that it goes back to its maker unchanged when the caller sends the conversation again.
 */
const SEAL = 'router.v1:';

/** A reasoning detail as a block. Text and signatures are never changed. */
export function blockOfDetail(detail: ReasoningDetail): ThinkingBlock | RedactedThinkingBlock {
  switch (detail.type) {
    case 'reasoning.text':
      return { type: 'thinking', thinking: detail.text ?? '', signature: signatureOf(detail) };
    case 'reasoning.summary':
      return { type: 'thinking', thinking: detail.summary, signature: signatureOf(detail) };
    case 'reasoning.encrypted':
      return { type: 'redacted_thinking', data: isOwn(detail) ? detail.data : seal(detail) };
    case 'reasoning.server_tool_call':
      return { type: 'redacted_thinking', data: seal(detail) };
  }
}

/** The signature of a thinking block that stands for a detail; empty where nobody signed. */
export function signatureOf(detail: ReasoningDetail): string {
  if (detail.type === 'reasoning.summary') {
    const { summary: _, ...rest } = detail;
    return seal(rest);
  }
  if (detail.type !== 'reasoning.text') return '';
  const { text: _, ...rest } = detail;
  if (isOwn(detail)) return detail.signature ?? '';
  return detail.signature == null && detail.id == null ? '' : seal(rest);
}

/** The reasoning detail that a block stands for. `index` is its place in the turn. */
export function detailOfBlock(block: ThinkingBlock | RedactedThinkingBlock, index: number): ReasoningDetail {
  if (block.type === 'redacted_thinking') {
    const sealed = open(block.data);
    return sealed ?? { type: 'reasoning.encrypted', data: block.data, format: OWN_FORMAT, index };
  }
  const { thinking, signature } = block;
  const sealed = open(signature);
  if (sealed?.type === 'reasoning.summary') return { ...sealed, summary: thinking };
  if (sealed?.type === 'reasoning.text') return { ...sealed, text: thinking };
  if (signature === '') return { type: 'reasoning.text', text: thinking, format: 'unknown', index };
  return { type: 'reasoning.text', text: thinking, signature, format: OWN_FORMAT, index };
}

/** True for a block that Anthropic would not accept as its own: nobody signed it, or somebody else did. */
export function isForeign(block: ThinkingBlock | RedactedThinkingBlock): boolean {
  if (block.type === 'redacted_thinking') return block.data.startsWith(SEAL);
  return block.signature === '' || block.signature.startsWith(SEAL);
}

/** Details without a format are taken to be Anthropic's (gaps 6.4). */
function isOwn({ format, id }: ReasoningDetail): boolean {
  return (format == null || format === OWN_FORMAT) && id == null;
}

/** Always in the same order, however the facts came together. */
function seal({ type, id, format, index, ...rest }: Partial<ReasoningDetail>): string {
  return SEAL + JSON.stringify({ type, id, format, index, ...rest });
}

function open(text: string): ReasoningDetail | undefined {
  if (!text.startsWith(SEAL)) return undefined;
  try {
    const detail: unknown = JSON.parse(text.slice(SEAL.length));
    return isJsonObject(detail) && typeof detail['type'] === 'string'
      ? (detail as unknown as ReasoningDetail)
      : undefined;
  } catch {
    return undefined;
  }
}
