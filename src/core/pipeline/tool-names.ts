import { MAX_NAME_LENGTH } from '../../protocol/limits.ts';

/** The name of a server tool without the prefix of its type, in either brand: what models and conditions call it. */
export function bareToolName(name: string): string {
  return name.replace(/^(?:open)?router:/, '');
}

/** A name that providers accept for a function and that is not taken yet. */
export function functionNameFor(wanted: string, taken: ReadonlySet<string>): string {
  const base = bareToolName(wanted).replaceAll(/[^a-zA-Z0-9_-]/g, '_') || 'tool';
  const room = MAX_NAME_LENGTH - SUFFIX_ROOM;
  let name = base.slice(0, MAX_NAME_LENGTH);
  for (let number = 2; taken.has(name); number += 1) name = `${base.slice(0, room)}_${number}`;
  return name;
}

/** Characters that a number behind a name may take. */
const SUFFIX_ROOM = 5;
