import * as z from 'zod';
import { FIRST_PROBLEM } from '../fields.ts';

/**
 * An object told apart by `type`. Types without a schema pass as they are: Anthropic adds some every month, and an
 * endpoint that speaks this wire understands them even where we do not.
 *
 * @param elsewhere - Types that exist, but not in this place, with the place where they belong.
 */
export function openUnion(
  schemas: Readonly<Record<string, z.ZodType>>,
  elsewhere: Readonly<Record<string, string>> = {},
): z.ZodType {
  const known = new Map(Object.entries(schemas));
  const misplaced = new Map(Object.entries(elsewhere));
  return z.looseObject({ type: z.string().min(1) }).check((context) => {
    const { type } = context.value;
    const place = misplaced.get(type);
    if (place !== undefined) {
      const message = `may only stand in ${place}`;
      context.issues.push({ code: 'custom', message, path: [], input: context.value });
      return;
    }
    const [first] = known.get(type)?.safeParse(context.value, FIRST_PROBLEM).error?.issues ?? [];
    if (first !== undefined) context.issues.push({ ...first, input: context.value } as z.core.$ZodRawIssue);
  });
}
