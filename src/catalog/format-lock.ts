import type { CatalogFacts } from './facts.ts';

/** A catalog lock as text: one model a line, in order of name, so that two of them can be compared line by line. */
export function formatLock({ version, origins, vendors }: CatalogFacts): string {
  const text = byName(vendors).map(([slug, models]) => {
    const lines = byName(models).map(([name, facts]) => `      ${JSON.stringify(name)}: ${JSON.stringify(facts)}`);
    return `    ${JSON.stringify(slug)}: {\n${lines.join(',\n')}\n    }`;
  });
  const sources = origins.map((origin) => `    ${JSON.stringify(origin)}`);
  return `{
  "version": ${version},
  "origins": [
${sources.join(',\n')}
  ],
  "vendors": {
${text.join(',\n')}
  }
}
`;
}

function byName<Value>(table: Readonly<Record<string, Value>>): readonly (readonly [string, Value])[] {
  return Object.entries(table).sort(([left], [right]) => (left < right ? -1 : 1));
}
