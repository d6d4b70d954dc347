import type { LiveRow } from './wire.ts';

/** Members of a request's metadata that the option `ledger.tags` names: the others may be private. */
export function tagsOf(
  names: readonly string[],
  metadata: Readonly<Record<string, string>> | undefined,
): LiveRow['tags'] {
  const tags = names.flatMap((name) => {
    const value = metadata !== undefined && Object.hasOwn(metadata, name) ? metadata[name] : undefined;
    return value === undefined ? [] : [[name, value] as const];
  });
  return tags.length === 0 ? undefined : Object.fromEntries(tags);
}
