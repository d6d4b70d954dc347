const ROLES = new Set<unknown>(['user', 'assistant', 'system', 'developer']);
const MAX_ID_LENGTH = 512;

/**
 * True for a message that consists of a role and text, or of a tool's id and its result, and nothing else. Nearly all
 * messages are like that, and the schema need not be asked about them. A test holds the two to the same answer.
 */
export function isPlainMessage(message: unknown): boolean {
  if (typeof message !== 'object' || message === null) return false;
  const { role, content, tool_call_id: id } = message as Readonly<Record<string, unknown>>;
  if (typeof content !== 'string') return false;
  let members = 0;
  for (const _ in message) members += 1;
  if (role === 'tool') {
    return members === 3 && typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH && !id.includes('\0');
  }
  return members === 2 && ROLES.has(role);
}
