/** Where the copies of this package that a process has loaded leave their names. */
const COPIES = Symbol.for('signalbox.copies');

/**
 * Notes that this copy of the package is in use, and gives the number of copies that are. More than one, say two
 * versions below different packages, share no state: sessions, cooldowns and limits are then counted apart.
 *
 * @param copy - Name of the copy. Default: where its code was loaded from.
 */
export function noteCopy(copy: string = import.meta.url): number {
  const place = globalThis as { [COPIES]?: Set<string> };
  place[COPIES] ??= new Set();
  place[COPIES].add(copy);
  return place[COPIES].size;
}
