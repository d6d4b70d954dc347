import type { RoutedRequest } from '../../normalize/normalized-request.ts';

/** Tools that a caller runs itself: asking twice does nothing twice. */
const HARMLESS: ReadonlySet<string> = new Set(['function', 'custom']);

/**
 * Whether a request makes a provider run tools, which may have effects: code, remote servers, a computer. Such a request
 * must never be sent to two providers at a time.
 */
export function runsProviderTools({ native, extra }: RoutedRequest): boolean {
  if (extra['mcp_servers'] !== undefined || extra['container'] !== undefined) return true;
  const tools = native?.body['tools'];
  return Array.isArray(tools) && tools.some((tool) => !isHarmless(tool));
}

function isHarmless(tool: unknown): boolean {
  if (typeof tool !== 'object' || tool === null) return false;
  const { type } = tool as { readonly type?: unknown };
  return type === undefined || (typeof type === 'string' && HARMLESS.has(type));
}
