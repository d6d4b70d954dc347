import { defaulted, read, type OutputOf, type Schema } from './accept/schema.ts';
import { list } from './accept/list.ts';
import { stripped } from './accept/object.ts';
import { text } from './accept/scalars.ts';

const some = <Item>(item: Schema<Item>): Schema<Item[]> => defaulted(list(item), () => []);

/** Schema of a {@link FusionAnalysis}. */
export const analysisSchema = stripped({
  consensus: some(text()),
  contradictions: some(stripped({ topic: text(), stances: some(stripped({ model: text(), stance: text() })) })),
  partial_coverage: some(stripped({ models: some(text()), point: text() })),
  unique_insights: some(stripped({ model: text(), insight: text() })),
  blind_spots: some(text()),
});

/** What the analyst of a panel found (gaps 5.10). */
export type FusionAnalysis = OutputOf<typeof analysisSchema>;

/** Reads an analysis out of a model's answer, also out of a fence or between sentences; undefined when there is none. */
export function readFusionAnalysis(answer: string): FusionAnalysis | undefined {
  const from = answer.indexOf('{');
  const to = answer.lastIndexOf('}');
  if (from < 0 || to < from) return undefined;
  try {
    const parsed = read(analysisSchema, JSON.parse(answer.slice(from, to + 1)));
    if (!parsed.ok) return undefined;
    // An object without any of the members is something else.
    return Object.values(parsed.value).some((found) => found.length > 0) ? parsed.value : undefined;
  } catch {
    return undefined;
  }
}
