import { readFileSync } from 'node:fs';
import { LABELLED_SETS } from './labelled-sets.ts';
import { readSections, type Example } from './templates.ts';

/**
 * Prompts of public sets that the classifier is trained on besides its own. The files are not part of this project;
 * `npm run train:classifier` takes the paths of copies:
 *
 * - `gsm8k=train.jsonl`: openai/grade-school-math, `grade_school_math/data/` (MIT)
 * - `seeds=seed_tasks.jsonl`: yizhongw/self-instruct, `data/` (Apache-2.0)
 * - `user-oriented=user_oriented_instructions.jsonl`: yizhongw/self-instruct, `human_eval/` (Apache-2.0)
 * - `koala=koala_test_set.jsonl`: arnav-gudibande/koala-test-set (Apache-2.0)
 * - `open-assistant-100=en_100_text.jsonl`, `open-assistant-250=prompt_lottery_en_250_text.jsonl`:
 *   LAION-AI/Open-Assistant, `model/model_eval/manual/data/` (Apache-2.0)
 * - `ifeval=input_data.jsonl`: josejg/instruction_following_eval, `instruction_following_eval/data/` (Apache-2.0)
 * - `followbench=data`, the folder: YJiangcm/FollowBench (Apache-2.0), its prompts without constraints
 * - `vicuna=question.jsonl`: lm-sys/FastChat, `fastchat/llm_judge/data/vicuna_bench/` (Apache-2.0), by the authors of
 *   MT-Bench; two prompts that are in both are left out
 * - `arena=question.jsonl`: lmarena/arena-hard-auto, `data/arena-hard-v0.1/` (Apache-2.0); none of its prompts is in 2.0,
 *   which `npm run bench:plugins` measures with, but people asked both at the same place
 *
 * What each prompt is stands in `public-labels.txt`. Sets that say it themselves are in `labelled-sets.ts`.
 */
const READERS: Readonly<Record<string, (path: string) => readonly string[]>> = {
  gsm8k: (path) => linesOf(path).map(({ question }) => String(question)),
  seeds: instructions,
  'user-oriented': instructions,
  koala: prompts,
  'open-assistant-100': (path) => jsonLines(path).map(String),
  'open-assistant-250': (path) => jsonLines(path).map(String),
  ifeval: prompts,
  followbench: (path) =>
    ['content', 'format', 'situation', 'style', 'mixed'].flatMap((kind) => {
      const all = JSON.parse(readFileSync(`${path}/${kind}_constraints.json`, 'utf8')) as readonly FollowBench[];
      return all.filter(({ level }) => level === 0).map(({ instruction }) => instruction);
    }),
  vicuna: (path) => linesOf(path).map(({ turns }) => String((turns as readonly unknown[])[0])),
  arena: prompts,
};

interface FollowBench {
  readonly level: number;
  readonly instruction: string;
}

/** Prompts of a set that has thousands of one kind. */
const MOST_OF_A_KIND = 60;

/** Names of the sets that were read one by one. */
export const READ_SETS: readonly string[] = Object.keys(READERS);

/** Reads sets that are given as `name=path`: those that were read one by one by name, the others in their order. */
export function readPublicPrompts(given: readonly (readonly [name: string, path: string])[]): readonly Example[] {
  const labels = readSections('public-labels.txt');
  const placeOf = (name: string): number => Object.keys(LABELLED_SETS).indexOf(name);
  const sorted = given.toSorted(([left], [right]) => placeOf(left) - placeOf(right) || left.localeCompare(right));
  return sorted.flatMap(([name, path]) => {
    const labelled = LABELLED_SETS[name];
    if (labelled !== undefined) return labelled(path);
    const texts = READERS[name]?.(path);
    if (texts === undefined) {
      throw new RangeError(
        `no prompt set "${name}"; there are ${[...READ_SETS, ...Object.keys(LABELLED_SETS)].join(', ')}`,
      );
    }
    if (name === 'gsm8k') return texts.slice(0, MOST_OF_A_KIND).map((text) => ({ task: 'math', text }));
    return (labels.get(name) ?? []).flatMap((line) => {
      const [task = '', ...numbers] = line.split(' ');
      return numbers.map((number) => ({ task, text: texts[Number(number)] ?? '' }));
    });
  });
}

function prompts(path: string): readonly string[] {
  return linesOf(path).map(({ prompt }) => String(prompt));
}

function instructions(path: string): readonly string[] {
  return linesOf(path).map(({ instruction, instances }) => {
    const [first] = instances as readonly { readonly input: string }[];
    return `${String(instruction)}\n${first?.input ?? ''}`;
  });
}

function linesOf(path: string): readonly Readonly<Record<string, unknown>>[] {
  return jsonLines(path) as readonly Readonly<Record<string, unknown>>[];
}

function jsonLines(path: string): readonly unknown[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.filter((line) => line.trim() !== '').map((line) => JSON.parse(line) as unknown);
}
