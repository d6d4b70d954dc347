import type { ChatRequest } from '../../protocol/chat-request.ts';
import { isFunctionTool } from '../../protocol/tools.ts';
import { serverToolType } from '../normalize/server-tools.ts';

/** Where in a body a plugin was asked for: its last entry, or a field that stands for one. */
export function pathOfPlugin(body: ChatRequest, id: string): string {
  const index = body.plugins?.findLastIndex((entry) => entry.id === id) ?? -1;
  if (index >= 0) return `plugins[${index}]`;
  if (id === 'context-compression' && body.transforms != null) return 'transforms';
  if (id === 'web' && body.model?.includes(':online') === true) return 'model';
  return 'plugins';
}

/**
 * Where in a body a server tool stands.
 *
 * @param occurrence - Which one of several tools of this type, from 0.
 */
export function pathOfServerTool(body: ChatRequest, type: string, occurrence: number): string {
  let left = occurrence;
  for (const [index, tool] of (body.tools ?? []).entries()) {
    if (isFunctionTool(tool) || serverToolType(tool.type) !== type) continue;
    if (left === 0) return `tools[${index}]`;
    left -= 1;
  }
  return 'tools';
}
