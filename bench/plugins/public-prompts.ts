import { readFileSync } from 'node:fs';
import { localClassifier, promptOf } from '../../src/plugins/auto-router/classifier.ts';
import { TASK_TYPES } from '../../src/plugins/auto-router/task-types.ts';

/**
 * How often the task classifier is right about prompts of others, which neither it nor its training prompts were
 * written for. The files are not part of this project; give the paths of copies:
 *
 * - `mt-bench=question.jsonl`: lm-sys/FastChat, `fastchat/llm_judge/data/mt_bench/` (Apache-2.0)
 * - `arena-hard=question.jsonl`: lmarena/arena-hard-auto, `data/arena-hard-v2.0/` (Apache-2.0)
 * - `biggen=sample_responses.json`: prometheus-eval/prometheus-eval, `BiGGen-Bench/` (Apache-2.0)
 *
 * None of them knows the tasks of ours, so a guess is right when it is one of those below for the prompt's category;
 * categories of BiGGen that speak for no task of ours are left out.
 */
const CODE = TASK_TYPES.filter((task) => task.startsWith('code:'));

const MT_BENCH: Readonly<Record<string, readonly string[]>> = {
  writing: ['writing:creative', 'writing:business', 'writing:marketing', 'writing:editing'],
  roleplay: ['roleplay'],
  reasoning: ['logic', 'math'],
  math: ['math'],
  coding: CODE,
  extraction: ['extraction', 'classification', 'data:analysis'],
  stem: ['science', 'tutoring', 'knowledge', 'code:explanation', 'planning'],
  humanities: ['knowledge', 'tutoring', 'law', 'finance', 'planning', 'advice', 'science'],
};

const ARENA_HARD: Readonly<Record<string, readonly string[]>> = {
  coding: [...CODE, 'data:analysis'],
  math: ['math', 'logic', 'science', 'finance', 'data:analysis'],
  creative_writing: [
    'writing:creative',
    'writing:marketing',
    'writing:business',
    'writing:editing',
    'roleplay',
    'brainstorming',
  ],
};

const BIGGEN: Readonly<Record<string, readonly string[]>> = {
  travel_plan: ['planning'],
  personal_assistant: ['planning'],
  constrained_planning: ['planning'],
  compositional_planning: ['planning'],
  executable_planning: ['planning'],
  replanning: ['planning'],
  competition_mwp: ['math'],
  high_school_mwp: ['math'],
  math_proof: ['math'],
  coding_for_math: ['math', 'code:generation'],
  multilingual_reasoning: ['math', 'logic'],
  deductive: ['logic'],
  inductive: ['logic'],
  abductive: ['logic'],
  first_order_logic: ['logic'],
  legal_reason: ['law'],
  table_reason: ['data:analysis', 'math', 'extraction'],
  code_revision: CODE,
  tool_making: CODE,
  essay_revision: ['writing:editing'],
  robust_translation: ['translation'],
  historical_text_comprehension: ['translation', 'summarization', 'extraction'],
  poem_writing: ['writing:creative'],
  writing_a_speech: ['writing:creative', 'writing:business'],
  role_playing: ['roleplay'],
  education_content_creation: ['tutoring'],
  hypothesis_proposal: ['science'],
  guess_the_emotion: ['classification'],
  llm_judge_absolute: ['classification'],
  llm_judge_relative: ['classification'],
  item_recommendation: ['advice'],
  json_csv_xml: ['extraction'],
  instruction_data_creation: ['brainstorming', 'writing:creative', 'tutoring'],
};

interface PublicPrompt {
  readonly text: string;
  readonly tasks: readonly string[];
}

const SETS: Readonly<Record<string, (file: string) => readonly PublicPrompt[]>> = {
  'mt-bench': (file) =>
    linesOf(file).flatMap(({ turns, category }) =>
      labelled(MT_BENCH, String(category), Array.isArray(turns) ? String(turns[0]) : ''),
    ),
  'arena-hard': (file) =>
    linesOf(file).flatMap(({ prompt, subcategory }) => labelled(ARENA_HARD, String(subcategory), String(prompt))),
  biggen: (file) =>
    Object.values(JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, Record<string, unknown>>>).flatMap(
      ({ task, input }) => labelled(BIGGEN, String(task), String(input)),
    ),
};

/** Prints the accuracy on each `name=path`. The weights must be loaded. */
export function tellPublicPrompts(given: readonly string[]): void {
  const classify = localClassifier();
  for (const [name = '', path = ''] of given.map((one) => one.split('='))) {
    const read = SETS[name];
    if (read === undefined) throw new RangeError(`no prompt set "${name}"; there are ${Object.keys(SETS).join(', ')}`);
    const prompts = read(path);
    const right = prompts.filter(({ text, tasks }) =>
      tasks.includes(classify(promptOf([{ role: 'user', content: text }], { hasTools: false })).task),
    ).length;
    const share = ((100 * right) / prompts.length).toFixed(1);
    console.log(`classification: ${right} of ${prompts.length} prompts of ${name} right (${share} %)`);
  }
}

function linesOf(file: string): readonly Readonly<Record<string, unknown>>[] {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
}

function labelled(
  table: Readonly<Record<string, readonly string[]>>,
  category: string,
  text: string,
): readonly PublicPrompt[] {
  const tasks = table[category];
  return tasks === undefined ? [] : [{ text, tasks }];
}
