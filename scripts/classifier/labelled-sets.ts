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
 * - `flan-templates=templates.py`: the same, `flan/`; requests for the tasks of data sets, with texts of AGIEval in them,
 *   so it is given as `flan-templates=templates.py,v1`
 * - `mt-bench-101=mtbench101.jsonl`: mtbench101/mt-bench-101, `data/subjective/` (Apache-2.0), its first turns; other
 *   authors and other prompts than MT-Bench, which is measured with
 * - `acts=prompts.csv`: f/awesome-chatgpt-prompts (CC0-1.0), a version of less than 4 MB
 * - `acts-zh=prompts-zh.json`: PlexPt/awesome-chatgpt-prompts-zh (MIT)
 *
 * Of each kind only some are taken, evenly over the file: the others are like them.
 */
export const LABELLED_SETS: Readonly<Record<string, (path: string) => readonly Example[]>> = {
  belle: (path) => linesOf(path).flatMap(({ class: kind, question }) => ofBelle(kind ?? '', question ?? '')),
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
      some(readFileSync(`${path}/${name}_train.tsv`, 'utf8').split('\n'), 60).map((line) => ({
        task,
        text: (line.split('\t')[0] ?? '').replaceAll('\\n', '\n'),
      })),
    ),
  'flan-templates': (paths) => ofTemplates(...(paths.split(',') as [string, string])),
  'mt-bench-101': (path) =>
    linesOf(path).flatMap(({ task, history }) => {
      const own = { MR: 'math', GR: 'logic' }[task ?? ''];
      const [first] = (history ?? []) as readonly { readonly user: string }[];
      return own === undefined || first === undefined ? [] : [{ task: own, text: first.user }];
    }),
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
  readonly task?: string;
  readonly passage?: string | null;
  readonly question?: string;
  readonly options?: readonly string[] | null;
}

function examinationText(line: Line): string {
  return [line.passage ?? '', line.question ?? '', ...(line.options ?? [])].filter((part) => part !== '').join('\n');
}

/** What the data sets that FLAN has templates for are about. */
const DATA_SETS: Readonly<Record<string, readonly string[]>> = {
  classification: [
    'rte imdb_reviews sentiment140 ag_news_subset mnli snli sst2 yelp_polarity_reviews trec cola glue_mrpc glue_qqp',
    'paws_wiki cb anli qnli bool_q wic stsb wnli',
  ],
  summarization: ['cnn_dailymail gigaword multi_news newsroom samsum xsum opinion_abstracts_rotten_tomatoes'],
  extraction: ['squad_v1 squad_v2 drop quac coqa multirc record definite_pronoun_resolution'],
  translation: ['para_crawl wmt16_translate wmt14_enfr'],
  'writing:editing': ['true_case fix_punct word_segment'],
  math: ['math_dataset'],
  knowledge: ['natural_questions trivia_qa'],
  logic: ['copa story_cloze hellaswag cosmos_qa'],
};

/** Templates with texts in the places of their names: a long text, or a sentence for what is short. */
function ofTemplates(path: string, folder: string): readonly Example[] {
  const source = readFileSync(path, 'utf8');
  const passages = passagesOf(folder);
  let next = 0;
  return Object.entries(DATA_SETS).flatMap(([task, names]) =>
    names
      .flatMap((line) => line.split(' '))
      .flatMap((name) => {
        const section = new RegExp(`^    "${name}": \\[\\n([^]*?)^    \\],`, 'm').exec(source)?.[1] ?? '';
        return [...section.matchAll(/^ {8}\("((?:[^"\\]|\\.)*)"/gm)].flatMap(([, template = '']) => {
          if (!template.includes('{')) return [];
          const passage = passages[(next = (next + 7) % passages.length)] ?? '';
          const text = template
            .replaceAll('\\n', '\n')
            .replaceAll('\\"', '"')
            .replaceAll('{options_}', 'OPTIONS:\n- yes\n- no')
            .replaceAll(/\{(?:lang\d|title|subject|word)\}/g, 'English')
            .replaceAll(/\{(?:premise|text|article|context|document|dialogue|passage|story|review|paragraph)\}/g, passage.slice(0, 600))
            .replaceAll(/\{\w+\}/g, () => sentenceOf(passage, (next += 1)));
          return [{ task, text }];
        });
      }),
  );
}

function sentenceOf(passage: string, index: number): string {
  const sentences = passage.split(/(?<=[.?!])\s*/).filter((one) => one.length > 20);
  return sentences[index % Math.max(1, sentences.length)] ?? passage.slice(0, 80);
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
