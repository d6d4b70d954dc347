import { readFileSync } from 'node:fs';
import { modelPatterns } from '../../src/catalog/model-patterns.ts';
import { loadWeights, mostLikely, promptOf } from '../../src/plugins/auto-router/classifier.ts';
import type { PluginCase } from './plugin-case.ts';
import { tellPublicPrompts } from './public-prompts.ts';

/** What choosing a model costs, and how often the classifier is right about prompts that it was not tuned on. */
export async function routingCases(): Promise<readonly PluginCase[]> {
  await loadWeights();
  tellPublicPrompts(process.argv.slice(2).filter((one) => !one.startsWith('zeroeval=')));
  const examples = readFileSync(new URL('../../test/fixtures/classifier/held-back.tsv', import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.replaceAll('\\n', '\n').split('\t'));
  const prompts = examples.map(([, text = '']) => text);
  const right = examples.filter(([task], index) => mostLikely(prompts[index] ?? '').task === task).length;
  console.log(`classification: ${right} of ${prompts.length} held-back prompts right`);
  const { text: long } = promptOf([{ role: 'user', content: prompts.join('\n') }], { hasTools: false });
  const slugs = Array.from({ length: 300 }, (_, index) => `author-${index % 30}/model-${index}-large-instruct`);
  const usual = ['author-1/*', '*-instruct', 'author-2/model-32-large-instruct'];
  const hostile = Array.from({ length: 1_024 }, (_, index) => `*${'a*r'.repeat(20)}${index}*`.slice(0, 64));
  let next = 0;
  return [
    {
      name: 'classification: a held-back prompt',
      run: () => mostLikely(prompts[(next = (next + 1) % prompts.length)] ?? ''),
    },
    { name: `classification: the longest text it looks at (${long.length} characters)`, run: () => mostLikely(long) },
    { name: 'wildcards: 3 patterns on 300 models', run: () => matching(usual, slugs) },
    { name: 'wildcards: 1,024 hostile patterns of 64 characters on 300 models', run: () => matching(hostile, slugs) },
  ];
}

function matching(patterns: readonly string[], slugs: readonly string[]): readonly string[] {
  const compiled = modelPatterns(patterns);
  return slugs.filter((slug) => compiled.matches(slug));
}
