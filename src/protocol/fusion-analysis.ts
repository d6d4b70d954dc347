import * as z from 'zod';

const list = <Item extends z.ZodType>(item: Item) => z.array(item).default([]);

const analysis = z.object({
  consensus: list(z.string()),
  contradictions: list(
    z.object({ topic: z.string(), stances: list(z.object({ model: z.string(), stance: z.string() })) }),
  ),
  partial_coverage: list(z.object({ models: list(z.string()), point: z.string() })),
  unique_insights: list(z.object({ model: z.string(), insight: z.string() })),
  blind_spots: list(z.string()),
});

/** What the analyst of a panel found (gaps 5.10). */
export type FusionAnalysis = z.output<typeof analysis>;

/** Reads an analysis out of a model's answer, also out of a fence or between sentences; undefined when there is none. */
export function readFusionAnalysis(text: string): FusionAnalysis | undefined {
  const from = text.indexOf('{');
  const to = text.lastIndexOf('}');
  if (from < 0 || to < from) return undefined;
  try {
    const parsed = analysis.safeParse(JSON.parse(text.slice(from, to + 1)));
    if (!parsed.success) return undefined;
    // An object without any of the members is something else.
    return Object.values(parsed.data).some((found) => found.length > 0) ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}
