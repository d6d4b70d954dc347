import type { ChatRequest } from '../../protocol/chat-request.ts';

/** Where in a body a plugin was asked for: its last entry, or a field that stands for one. */
export function pathOfPlugin(body: ChatRequest, id: string): string {
  const index = body.plugins?.findLastIndex((entry) => entry.id === id) ?? -1;
  if (index >= 0) return `plugins[${index}]`;
  if (id === 'context-compression' && body.transforms != null) return 'transforms';
  if (id === 'web' && body.model?.includes(':online') === true) return 'model';
  return 'plugins';
}
