import { isDeepStrictEqual } from 'node:util';
import { heal, type Healed } from '../../src/plugins/response-healing/heal.ts';
import { brokenAnswers, cutAnswers, differences } from '../../test/support/broken-answers.ts';
import { type HealingCase, healingCases as readCases } from '../../test/support/healing-cases.ts';
import type { PluginCase } from './plugin-case.ts';

const ROWS = Array.from({ length: 200 }, (_, id) => ({ id, name: `Item ${id}`, note: 'Some words about it.' }));

/** Prints how many broken answers are healed rightly, and gives what it costs. */
export function healingCases(): readonly PluginCase[] {
  for (const half of ['development', 'held-back'] as const) {
    const cases = readCases(half);
    const right = cases.filter((one) => isDeepStrictEqual(outcomeOf(one), one.expected)).length;
    console.log(`healing, ${half} half: ${right} of ${cases.length} right`);
  }
  for (const withSchema of [false, true]) {
    const answers = brokenAnswers(1, 3_000);
    const outcomes = answers.map(({ text, meant, schema }) => {
      const healed = heal(text, withSchema ? { schema } : {});
      if (healed.type !== 'healed') return 'refused';
      return isDeepStrictEqual(JSON.parse(healed.json), meant) ? 'right' : 'wrong';
    });
    const share = (wanted: string): string =>
      ((100 * outcomes.filter((outcome) => outcome === wanted).length) / answers.length).toFixed(1);
    const how = withSchema ? 'with a schema' : 'without a schema';
    console.log(
      `healing, answers broken by a seed, ${how}: ${share('right')} % right, ${share('wrong')} % silently wrong, ${share('refused')} % left alone`,
    );
  }
  const cut = cutAnswers(2, 6_000);
  const parts = cut.flatMap(({ text, meant }) => {
    const healed = heal(text);
    return healed.type === 'healed' ? [differences(JSON.parse(healed.json), meant, '$').length === 0] : [];
  });
  const part = parts.filter((isPart) => isPart).length;
  const shareOf = (number: number): string => ((100 * number) / cut.length).toFixed(1);
  console.log(
    `healing, answers cut off anywhere: ${shareOf(part)} % a part of what was meant, ${shareOf(parts.length - part)} % something else, ${shareOf(cut.length - parts.length)} % left alone`,
  );
  const valid = JSON.stringify({ rows: ROWS });
  const heldBack = readCases('held-back');
  const broken = valid.replaceAll('"', "'").replaceAll('}', ',}');
  const wrapped = `{"price": Decimal("1.50"), ${valid.slice(1)}`;
  return [
    { name: `healing: ${valid.length} characters that are JSON already`, run: () => heal(valid) },
    { name: 'healing: the same in a fence', run: () => heal(`\`\`\`json\n${valid}\n\`\`\``) },
    { name: 'healing: the same with single quotes and superfluous commas', run: () => heal(broken) },
    { name: 'healing: the same with a call around a value, for jsonrepair', run: () => heal(wrapped) },
    { name: 'healing: an average answer of the held-back half', run: roundRobin(heldBack) },
    { name: 'healing: 400,000 brackets', run: () => heal('{"a":['.repeat(66_667)) },
  ];
}

function roundRobin(cases: readonly HealingCase[]): () => Healed {
  let next = 0;
  return () => {
    const { text = '', schema } = cases[next++ % cases.length] ?? {};
    return heal(text, { schema });
  };
}

function outcomeOf({ text, schema, finish }: HealingCase): unknown {
  const healed = heal(text, { schema, complete: finish === 'stop' });
  return healed.type === 'healed' ? JSON.parse(healed.json) : 'unchanged';
}
