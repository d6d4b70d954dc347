import { readFileSync } from 'node:fs';

/** A prompt and the task that it is. */
export interface Example {
  readonly task: string;
  readonly text: string;
}

/** Gives a number from 0 (included) to 1 (excluded). */
export type Random = () => number;

/** Reads a file that stands beside this one. */
function readBeside(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}

/** Reads examples that were written one by one: a task, a tab and a prompt on each line. */
export function readExamples(file: string): readonly Example[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.flatMap((line) => {
    const [task, text] = line.split('\t');
    return task === undefined || text === undefined ? [] : [{ task, text: unescaped(text) }];
  });
}

/** How many prompts of each task are made of what. */
interface ExampleCounts {
  readonly fromTemplates: number;
  readonly fromAssignments: number;
  readonly fromLexicon: number;
}

/** Makes so many different prompts of each task; fewer where there are no more. */
export function generateExamples(counts: ExampleCounts, random: Random): readonly Example[] {
  const words = readWords();
  const lexicon = readSections('lexicon.txt');
  const carriers = linesOf('carriers.txt');
  const assignments = readSections('assignments.txt');
  return [...readSections('prompts.txt')].flatMap(([task, templates]) => {
    const phrases = (lexicon.get(task) ?? []).flatMap((line) => line.split(', '));
    const longer = assignments.get(task) ?? templates;
    const texts = [
      ...different(counts.fromTemplates, () => expand(pick(templates, random), words, random), random),
      ...different(counts.fromAssignments, () => expand(pick(longer, random), words, random), random),
      ...different(counts.fromLexicon, () => strewn(pick(carriers, random), phrases, random), random),
    ];
    return texts.map((text) => ({ task, text }));
  });
}

function different(count: number, make: () => string, random: Random): Iterable<string> {
  const texts = new Set<string>();
  for (let tries = 0; texts.size < count && tries < count * 4; tries += 1) {
    texts.add(asPeopleType(unescaped(make()).trim(), random));
  }
  return texts;
}

/** Puts phrases in the places of stars. */
function strewn(carrier: string, phrases: readonly string[], random: Random): string {
  return carrier.replaceAll('*', () => pick(phrases, random));
}

function linesOf(name: string): readonly string[] {
  return readBeside(name)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
}

/** Reads a file beside this one whose lines are in sections, each after a line that begins with `== `. */
export function readSections(name: string): ReadonlyMap<string, readonly string[]> {
  const byTask = new Map<string, string[]>();
  let current: string[] = [];
  for (const line of linesOf(name)) {
    if (line.startsWith('== ')) byTask.set(line.slice(3), (current = []));
    else current.push(line);
  }
  return byTask;
}

function readWords(): ReadonlyMap<string, readonly string[]> {
  const lists = new Map<string, readonly string[]>();
  for (const part of readBeside('words.txt').split(/^@/m).slice(1)) {
    const [name = '', ...lines] = part.trim().split('\n');
    // A bar that is part of an entry is written twice.
    lists.set(
      name,
      lines
        .join('|')
        .replaceAll('||', '\0')
        .split('|')
        .map((entry) => entry.replaceAll('\0', '||')),
    );
  }
  return lists;
}

/** Replaces `{a|b}` by one of them and `<name>` by a word of that list, from the inside out. */
function expand(template: string, words: ReadonlyMap<string, readonly string[]>, random: Random): string {
  let text = template;
  for (;;) {
    const next = text.replace(/\{([^{}]*\|[^{}]*)\}/g, (_, choices: string) => pick(choices.split('|'), random));
    if (next === text) break;
    text = next;
  }
  return text.replace(/<([a-z]+)>/g, (whole, name: string) => {
    const list = words.get(name);
    return list === undefined ? whole : pick(list, random);
  });
}

/** People do not all write capitals and full stops, and some are polite. */
function asPeopleType(text: string, random: Random): string {
  let typed = text;
  if (random() < 0.25) typed = typed.slice(0, 1).toLowerCase() + typed.slice(1);
  if (random() < 0.1) typed = typed.toLowerCase();
  if (random() < 0.15) typed = typed.replace(/[.?!]$/, '');
  if (random() < 0.06) typed = `${pick(OPENINGS, random)} ${typed}`;
  if (random() < 0.06) typed = `${typed} ${pick(ENDINGS, random)}`;
  return typed;
}

const OPENINGS = [
  'Hi,',
  'Hello!',
  'Hey,',
  'Please',
  'Quick question:',
  'Okay so',
  'I need help.',
  'Hallo,',
  'Bonjour,',
  'Hola,',
];
const ENDINGS = [
  'Thanks!',
  'please',
  'thank you',
  'Be brief.',
  'Keep it short.',
  'danke',
  'merci',
  'gracias',
  'asap',
  ':)',
];

function unescaped(text: string): string {
  return text.replaceAll('\\n', '\n').replaceAll('\\t', '\t');
}

function pick<Item>(items: readonly Item[], random: Random): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new RangeError('nothing to pick from');
  return item;
}
