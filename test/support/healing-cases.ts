import { readFileSync } from 'node:fs';
import type { JsonObject, JsonValue } from '../../src/protocol/json.ts';

/** A broken answer, and what should become of it. */
export interface HealingCase {
  readonly name: string;
  readonly text: string;
  /** `unchanged` when nothing should be done. */
  readonly expected: JsonValue;
  readonly finish: string;
  readonly schema?: JsonObject | undefined;
}

const folder = new URL('../fixtures/healing/', import.meta.url);
const schemas = JSON.parse(readFileSync(new URL('schemas.json', folder), 'utf8')) as Record<string, JsonObject>;

/** Reads one half of the broken answers: `development`, which the code was written with, or `held-back`. */
export function healingCases(half: 'development' | 'held-back'): readonly HealingCase[] {
  const blocks = readFileSync(new URL(`${half}.txt`, folder), 'utf8')
    .split(/^=== /m)
    .slice(1);
  return blocks.map((block) => {
    const [heading = '', ...lines] = block.split('\n');
    const [text = '', expected = ''] = lines.join('\n').split('\n--- expected\n');
    const { finish = 'stop', schema } =
      /\[finish=(?<finish>\w+)\]|\[schema=(?<schema>\w+)\]/.exec(heading)?.groups ?? {};
    return {
      name: heading,
      text,
      expected: expected.trim() === 'unchanged' ? 'unchanged' : (JSON.parse(expected) as JsonValue),
      finish,
      schema: schema === undefined ? undefined : schemas[schema],
    };
  });
}
