import { MAX_NAME_LENGTH } from '../../../protocol/limits.ts';
import { shortHash } from './short-hash.ts';

/** Characters of a long name that stay; a hash of the whole name follows them. */
const KEPT = MAX_NAME_LENGTH - 9;

/**
 * A tool's name in the chat form, which takes 64 characters where this wire takes 128: longer names, such as those of
 * tools behind connectors, get a short stand-in, always the same.
 */
export function chatToolName(name: string): string {
  return name.length <= MAX_NAME_LENGTH ? name : `${name.slice(0, KEPT)}_${shortHash(name)}`;
}

/** Gives tool names of the chat form back as the caller wrote them. */
export function originalNames(tools: unknown): (chatName: string) => string {
  const names = new Map<string, string>();
  for (const tool of Array.isArray(tools) ? tools : []) {
    const { name } = tool as { readonly name?: unknown };
    if (typeof name === 'string' && name.length > MAX_NAME_LENGTH) names.set(chatToolName(name), name);
  }
  return (chatName) => names.get(chatName) ?? chatName;
}
