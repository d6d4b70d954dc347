import { narrowed } from '../accept/choices.ts';
import type { AnySchema } from '../accept/form.ts';
import { loose } from '../accept/object.ts';
import { text } from '../accept/scalars.ts';

/**
 * An object told apart by `type`. Types without a schema pass as they are: Anthropic adds some every month, and an
 * endpoint that speaks this wire understands them even where we do not.
 *
 * @param elsewhere - Types that exist, but not in this place, with the place where they belong.
 */
export function openUnion(
  schemas: Readonly<Record<string, AnySchema>>,
  elsewhere: Readonly<Record<string, string>> = {},
): AnySchema {
  const known = new Map<unknown, AnySchema>(Object.entries(schemas));
  const misplaced = new Map<unknown, string>(Object.entries(elsewhere));
  return narrowed(loose({ type: text({ least: 1 }) }), ({ type }) => {
    const place = misplaced.get(type);
    return place === undefined ? known.get(type) : { says: `may only be in ${place}`, path: [] };
  });
}
