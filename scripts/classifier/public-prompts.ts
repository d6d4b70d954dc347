import { readFileSync } from 'node:fs';
import { TASK_TYPES, type TaskType } from '../../src/plugins/auto-router/task-types.ts';

/**
 * Prompts of public sets that the classifier is trained on besides its own. The files are not part of this project;
 * `npm run train:classifier` takes the paths of copies:
 *
 * - `gsm8k=train.jsonl`: openai/grade-school-math, `grade_school_math/data/` (MIT)
 * - `seeds=seed_tasks.jsonl`: yizhongw/self-instruct, `data/` (Apache-2.0)
 * - `user-oriented=user_oriented_instructions.jsonl`: yizhongw/self-instruct, `human_eval/` (Apache-2.0)
 * - `arena=question.jsonl`: lmarena/arena-hard-auto, `data/arena-hard-v0.1/` (Apache-2.0); none of its prompts is in 2.0,
 *   which `npm run bench:plugins` measures with, but people asked both at the same place
 *
 * None of them knows the tasks of ours. Where a category may be several, `tasks` has them all, and the one counts that
 * the classifier without these prompts finds the likeliest.
 */
export interface PublicExample {
  readonly text: string;
  readonly tasks: readonly TaskType[];
}

const CODE = TASK_TYPES.filter((task) => task.startsWith('code:'));

/** Prompts of sets that have thousands of one kind. */
const MOST_OF_A_KIND = 150;
/** Numbers of seed tasks, from 0. The others fit none of our tasks, or several equally well. */
const SEEDS: Readonly<Partial<Record<TaskType, readonly number[]>>> = {
  'code:generation': [31, 37, 41, 69, 72, 138, 139, 140, 141],
  'code:debugging': [158],
  'code:refactoring': [28],
  'code:database': [50],
  math: [22, 25, 35, 45, 83, 109, 110, 136, 144],
  logic: [1, 15, 155],
  science: [95],
  medicine: [16],
  law: [142, 143],
  'writing:creative': [8, 20, 29, 47, 49, 55, 57, 59, 63, 79, 84, 93],
  'writing:business': [18, 74, 87, 100, 129],
  'writing:marketing': [89],
  'writing:editing': [42, 43, 97, 98, 126],
  translation: [101, 117],
  summarization: [62, 64, 137],
  extraction: [39, 53, 67, 78, 85],
  classification: [92, 114, 122, 149, 150, 151, 152, 154, 156, 157, 159, 165, 166, 167, 168, 169, 171, 172, 173, 174],
  brainstorming: [6, 10, 30, 38, 44, 81],
  planning: [11, 17, 24, 40, 70, 91, 121, 145],
  advice: [0, 5, 9, 34, 99, 127, 131],
  knowledge: [88, 107, 160],
  tutoring: [7, 21, 103],
};

/** What people were thought to use when they asked. */
const APPLICATIONS: readonly (readonly [RegExp, readonly TaskType[]])[] = [
  [/^Grammarly|^ludwig/, ['writing:editing']],
  [/Leetcode|StackOverflow|GeeksforGeeks|w3schools|Github/, CODE],
  [/Wolfram|Socratic/, ['math']],
  [/Excel|Google Sheet/, ['data:analysis', 'code:generation']],
  [/tripadvisor|Airbnb/, ['planning', 'advice']],
  [
    /Amazon|Yelp|yelp|Netflix|IMDB|Goodreads|Spotify/,
    ['advice', 'classification', 'writing:creative', 'summarization'],
  ],
  [/Wikipedia|National Geographic|merriam|Quora/, ['knowledge', 'tutoring', 'science']],
  [/Gmail|LinkedIn|Indeed/, ['writing:business', 'advice', 'summarization']],
  [/Coursera|Workout|Notion/, ['planning', 'tutoring']],
];

/** Names of the clusters of Arena-Hard 0.1, the first that fits counts; none fits those that are of several kinds. */
const CLUSTERS: readonly (readonly [RegExp, readonly TaskType[]])[] = [
  [/SQL|Databricks/, ['code:database', 'data:analysis', 'code:generation']],
  [/Docker|Kubernetes|AWS|Cron|Linux Package|Network|SSH|Nix/, ['code:devops', 'code:debugging', 'code:generation']],
  [/Mocking|Automated Testing/, ['code:testing', 'code:generation']],
  [/RPG|Magic Crystals|Inner Dialog/, ['roleplay', 'writing:creative', 'planning']],
  [
    /Probability|Algebra|Number Theory|Mathematical|Math Problems|Geometry|Real Analysis|Irrationality|Perfect Number/,
    ['math'],
  ],
  [
    /Pricing Mathematics|Investment Growth|Time Calculations|Train Time|Sample Size|Standard Deviation/,
    ['math', 'finance'],
  ],
  [
    /Puzzle|Box Dynamics|Plate Stacks|Pattern Completion|Situation|Comparative Truths|Money and Trans/,
    ['logic', 'math'],
  ],
  [/Sentiment|Feedback Disposition/, ['classification', 'extraction', 'code:generation']],
  [/Entity Relationship|JSON Menu/, ['extraction']],
  [/Translation/, ['translation']],
  [/Taxation|Stock Market|Options Trading|Accounting|Banking/, ['finance', 'math', 'law']],
  [/Medical|Meal Planning|Endurance/, ['medicine', 'planning', 'advice']],
  [/Marketing|Advertising|SEO/, ['writing:marketing', 'planning', 'advice']],
  [/Startup|Profitability|Enterprise|IT Strategy|Agile|Retrieval Plan/, ['planning', 'advice', 'writing:business']],
  [/Electromagnetic|Circular Motion|Climate|Radar|Kalman/, ['science', 'math', 'tutoring']],
  [/Teaching/, ['tutoring']],
  [/Debate|Philosophy|Diverse Contemporary/, ['knowledge', 'advice', 'writing:creative']],
  [
    /Python|Code|Rust|C\+\+|Java|PHP|Type|Swift|Kotlin|React|Web |CSS|Django|Flask|Laravel|Node|Regex|Awk|CUDA|PyTorch|HLSL|HDL|VBA|Script|Dev|Programming|Widget|Tkinter|Algorithm|Linked|Sort|Assembly|Fibonacci|Matplotlib|Pandas|Tidyverse|Shiny|Streamlit|Gradio|Scraping|GIS|Bot/,
    CODE,
  ],
];

const READERS: Readonly<Record<string, (path: string) => readonly PublicExample[]>> = {
  gsm8k: (path) =>
    linesOf(path)
      .slice(0, MOST_OF_A_KIND)
      .map(({ question }) => ({ text: String(question), tasks: ['math'] })),
  seeds: (path) =>
    linesOf(path).flatMap((line, index) => {
      const task = TASK_TYPES.find((one) => SEEDS[one]?.includes(index) === true);
      const [instance] = line['instances'] as { input: string }[];
      return task === undefined
        ? []
        : [{ text: `${String(line['instruction'])}\n${instance?.input ?? ''}`, tasks: [task] }];
    }),
  'user-oriented': (path) =>
    linesOf(path).flatMap((line) => {
      const [instance] = line['instances'] as { input: string }[];
      const text = `${String(line['instruction'])}\n${instance?.input ?? ''}`;
      return named(APPLICATIONS, String(line['motivation_app']), text);
    }),
  arena: (path) => linesOf(path).flatMap(({ cluster, prompt }) => named(CLUSTERS, String(cluster), String(prompt))),
};

function named(
  table: readonly (readonly [RegExp, readonly TaskType[]])[],
  name: string,
  text: string,
): readonly PublicExample[] {
  const tasks = table.find(([names]) => names.test(name))?.[1];
  return tasks === undefined ? [] : [{ text, tasks }];
}

/** Names of the sets. */
export const SET_NAMES = Object.keys(READERS);

/** Reads sets that are given as `name=path`, in the order of their names. */
export function readPublicPrompts(given: readonly (readonly [name: string, path: string])[]): readonly PublicExample[] {
  const sorted = given.toSorted(([left], [right]) => left.localeCompare(right));
  return sorted.flatMap(([name, path]) => {
    const reader = READERS[name];
    if (reader === undefined)
      throw new RangeError(`no prompt set "${name}"; there are ${Object.keys(READERS).join(', ')}`);
    return reader(path);
  });
}

function linesOf(file: string): readonly Readonly<Record<string, unknown>>[] {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
}
