import { readFileSync, readdirSync } from 'node:fs';
import { readSections, type Example } from './templates.ts';

/**
 * Public sets whose own categories say which task a prompt is, so that nobody had to read them one by one. The files are
 * not part of this project; `npm run train:classifier` takes the paths of copies:
 *
 * - `belle=eval_set.json`: LianjiaTech/BELLE, `eval/` (Apache-2.0), in Chinese
 * - `agieval=v1`, the folder: ruixiangcui/AGIEval, `data/` (MIT), examinations in English and Chinese; its longer texts
 *   also stand below and above the requests of `over-passages.txt`
 * - `bbh=bbh`, the folder: suzgunmirac/BIG-Bench-Hard (MIT)
 * - `flan-cot=cot_data`, the folder: google-research/FLAN, `flan/v2/` (Apache-2.0)
 * - `acts=prompts.csv`: f/awesome-chatgpt-prompts (CC0-1.0), a version of less than 4 MB
 * - `acts-zh=prompts-zh.json`: PlexPt/awesome-chatgpt-prompts-zh (MIT)
 *
 * Of each kind only some are taken, evenly over the file: the others are like them.
 */
export const LABELLED_SETS: Readonly<Record<string, (path: string) => readonly Example[]>> = {
  // Twice: next to nothing else is in Chinese.
  belle: (path) =>
    [path, path]
      .flatMap((file) => linesOf(file))
      .flatMap(({ class: kind, question }) => ofBelle(kind ?? '', question ?? '')),
  agieval: (path) => [
    ...Object.entries(EXAMINATIONS).flatMap(([name, [task, count]]) =>
      some(linesOf(`${path}/${name}.jsonl`).map(examinationText), count).map((text) => ({ task, text })),
    ),
    ...overPassages(path),
  ],
  bbh: (path) =>
    readdirSync(path)
      .sort()
      .flatMap((file) => {
        const task = PUZZLES[file.replace(/_(?:three|five|seven)_objects/, '').replace('.json', '')];
        if (task === undefined) return [];
        const { examples } = JSON.parse(readFileSync(`${path}/${file}`, 'utf8')) as {
          readonly examples: readonly { readonly input: string }[];
        };
        return some(examples, 10).map(({ input }) => ({ task, text: input }));
      }),
  'flan-cot': (path) =>
    Object.entries(QUESTIONS).flatMap(([name, task]) =>
      some(readFileSync(`${path}/${name}_train.tsv`, 'utf8').split('\n'), 30).map((line) => ({
        task,
        text: (line.split('\t')[0] ?? '').replaceAll('\\n', '\n'),
      })),
    ),
  acts: (path) =>
    some(
      [...readFileSync(path, 'utf8').matchAll(/,"((?:I want you to act|Act) as (?:[^"]|"")+)",FALSE/g)].map(
        ([, text = '']) => text.replaceAll('""', '"'),
      ),
      120,
    ).map((text) => ({ task: 'roleplay', text })),
  'acts-zh': (path) =>
    (JSON.parse(readFileSync(path, 'utf8')) as readonly { readonly prompt: string }[]).map(({ prompt }) => ({
      task: 'roleplay',
      text: prompt,
    })),
};

/** Which task an examination is, and how many of its questions are taken. */
const EXAMINATIONS: Readonly<Record<string, readonly [task: string, count: number]>> = {
  'logiqa-zh': ['logic', 60],
  'logiqa-en': ['logic', 40],
  'lsat-ar': ['logic', 30],
  'lsat-lr': ['logic', 40],
  'gaokao-mathqa': ['math', 60],
  'gaokao-mathcloze': ['math', 30],
  'sat-math': ['math', 40],
  'aqua-rat': ['math', 40],
  math: ['math', 80],
  'gaokao-physics': ['science', 40],
  'gaokao-chemistry': ['science', 40],
  'gaokao-biology': ['science', 40],
  'gaokao-history': ['knowledge', 40],
  'gaokao-geography': ['knowledge', 40],
  'jec-qa-kd': ['law', 40],
  'jec-qa-ca': ['law', 40],
};

const PUZZLES: Readonly<Record<string, string>> = {
  boolean_expressions: 'logic',
  causal_judgement: 'logic',
  date_understanding: 'logic',
  disambiguation_qa: 'classification',
  formal_fallacies: 'logic',
  logical_deduction: 'logic',
  movie_recommendation: 'advice',
  multistep_arithmetic_two: 'math',
  navigate: 'logic',
  object_counting: 'math',
  penguins_in_a_table: 'data:analysis',
  reasoning_about_colored_objects: 'logic',
  snarks: 'classification',
  sports_understanding: 'knowledge',
  temporal_sequences: 'logic',
  tracking_shuffled_objects: 'logic',
  web_of_lies: 'logic',
};

const QUESTIONS: Readonly<Record<string, string>> = {
  aqua: 'math',
  strategyqa: 'knowledge',
  creak: 'knowledge',
  qasc: 'science',
  ecqa: 'logic',
};

/** A class of BELLE holds several tasks of ours; words at its beginning tell which, and what they do not tell is left out. */
function ofBelle(kind: string, text: string): readonly Example[] {
  const beginning = text.slice(0, 60);
  const found = (BELLE[kind.replace(/\s/g, ' ')] ?? []).find(([pattern]) => pattern.test(beginning));
  return found === undefined ? [] : [{ task: found[1], text }];
}

const BELLE: Readonly<Record<string, readonly (readonly [pattern: RegExp, task: string])[]>> = {
  code: [
    [/SQL|数据库/, 'code:database'],
    [/什么问题|错误|修复|改正/, 'code:debugging'],
    [/注释|解释|功能|输出什么|作用/, 'code:explanation'],
    [/优化|改写/, 'code:refactoring'],
    [/测试/, 'code:testing'],
    [/./, 'code:generation'],
  ],
  math: [[/./, 'math']],
  classification: [[/./, 'classification']],
  summarization: [[/./, 'summarization']],
  extract: [[/./, 'extraction']],
  'closed qa': [[/文本|文章|段落|材料|句子|摘录/, 'extraction']],
  rewrite: [
    [/翻译|译成|译为/, 'translation'],
    [/改写|重写|重新写|编辑|润色|简化|替换|修改|语法|扩写|转换|重述/, 'writing:editing'],
  ],
  generation: [
    [/邮件|信[。：，]|邀请信|推荐信|求职信|简历|报告|手册/, 'writing:business'],
    [/广告|推广|营销|文案|新闻稿|博客|推销/, 'writing:marketing'],
    [/诗|故事|小说|短文|作文|随笔|对话|剧本|歌词/, 'writing:creative'],
  ],
  brainstorming: [
    [/建议|推荐|如何改善|怎么办|提高/, 'advice'],
    [/想法|头脑风暴|创意|想出|品牌名称|提出.{0,6}(?:问题|想法|创新)/, 'brainstorming'],
    [/计划/, 'planning'],
  ],
  'open qa': [[/谁|哪|何时|是什么|什么是|解释|为什么|多少/, 'knowledge']],
};

interface Line {
  readonly [name: string]: unknown;
  readonly class?: string;
  readonly passage?: string | null;
  readonly question?: string;
  readonly options?: readonly string[] | null;
}

function examinationText(line: Line): string {
  return [line.passage ?? '', line.question ?? '', ...(line.options ?? [])].filter((part) => part !== '').join('\n');
}

/** Requests over long texts: what is pasted says nothing about the task, and only so can that be learned. */
function overPassages(path: string): readonly Example[] {
  const passages = passagesOf(path);
  let next = 0;
  return [...readSections('over-passages.txt')].flatMap(([task, requests]) =>
    requests.flatMap((request) =>
      [0, 1, 2, 3].map((turn) => {
        const passage = passages[(next = (next + 7) % passages.length)] ?? '';
        const shown = passage.slice(0, [300, 700, 1_200, 4_000][turn]);
        return { task, text: turn % 2 === 0 ? `${request}\n\n${shown}` : `${shown}\n\n${request}` };
      }),
    ),
  );
}

function passagesOf(path: string): readonly string[] {
  const texts = ['lsat-rc', 'sat-en', 'gaokao-english'].flatMap((name) =>
    linesOf(`${path}/${name}.jsonl`).map(({ passage }) => passage ?? ''),
  );
  return [...new Set(texts)].filter((text) => text.length > 200);
}

/** So many of a list, evenly. */
function some<Item>(items: readonly Item[], count: number): readonly Item[] {
  const step = Math.max(1, items.length / count);
  return items.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
}

function linesOf(path: string): readonly Line[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.filter((line) => line.trim() !== '').map((line) => JSON.parse(line) as Line);
}
