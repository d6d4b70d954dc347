/**
 * Headers from several places, their names in lower case. Later ones take the place of earlier ones with the same name,
 * however it is written.
 */
export function mergeHeaders(
  ...groups: readonly (Readonly<Record<string, string>> | undefined)[]
): Readonly<Record<string, string>> {
  const headers = groups.flatMap((group) => Object.entries(group ?? {}));
  return Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
}
