import { MAX_STOP_SEQUENCES } from '../../../protocol/limits.ts';
import { type MessagesBlock, SERVER_TOOL_RESULTS } from '../../../protocol/messages/block.ts';
import type { MessagesRequest } from '../../../protocol/messages/messages-request.ts';
import { isTranslatable } from './chat-tools.ts';

/**
 * Path of the first thing that the chat form cannot say, so that only an endpoint that speaks this wire can be asked:
 * files that lie with Anthropic, tools it defines, its containers, and blocks that are newer than this router.
 * What only saves time or money, such as `context_management`, is no such thing and goes to native endpoints only.
 */
export function nativeOnly(request: MessagesRequest): string | undefined {
  if (request.max_tokens === 0) return 'max_tokens';
  if ((request.stop_sequences?.length ?? 0) > MAX_STOP_SEQUENCES) return 'stop_sequences';
  if (request.container != null) return 'container';
  if (request.mcp_servers != null && request.mcp_servers.length > 0) return 'mcp_servers';
  if (request.inference_geo != null && request.inference_geo !== 'global') return 'inference_geo';
  const tool = request.tools?.findIndex((one) => !isTranslatable(one)) ?? -1;
  if (tool >= 0) return `tools[${tool}].type`;
  for (const [turn, { content }] of request.messages.entries()) {
    if (typeof content === 'string') continue;
    const path = strangeBlock(content, `messages[${turn}].content`);
    if (path !== undefined) return path;
  }
  return undefined;
}

/** Blocks that are translated, besides those with a source. */
const TRANSLATED = new Set<string>([
  'text',
  'search_result',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'server_tool_use',
  'mcp_tool_use',
  ...SERVER_TOOL_RESULTS,
]);

function strangeBlock(blocks: readonly MessagesBlock[], path: string): string | undefined {
  for (const [index, block] of blocks.entries()) {
    const place = `${path}[${index}]`;
    const found = strangePart(block, place);
    if (found !== undefined) return found;
  }
  return undefined;
}

function strangePart(block: MessagesBlock, path: string): string | undefined {
  if (block.type === 'image') return block.source.type === 'file' ? `${path}.source` : undefined;
  if (block.type === 'document') {
    const { source } = block;
    if (source.type === 'file') return `${path}.source`;
    if (source.type !== 'content' || typeof source.content === 'string') return undefined;
    return strangeBlock(source.content, `${path}.source.content`);
  }
  if (block.type === 'tool_result') {
    return typeof block.content === 'string' ? undefined : strangeBlock(block.content ?? [], `${path}.content`);
  }
  return TRANSLATED.has(block.type) ? undefined : `${path}.type`;
}
