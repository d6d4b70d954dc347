import type { JsonObject, JsonValue } from '../../src/protocol/json.ts';

/** An answer of a model that is not JSON, made from one that was, and what it meant. */
export interface BrokenAnswer {
  readonly text: string;
  readonly meant: JsonValue;
  /** A schema that the answer follows. */
  readonly schema: JsonObject;
  /** Names of what was broken. */
  readonly faults: readonly string[];
}

/**
 * Breaks JSON the way models do, by a seed: quotes that nobody escaped, brackets too many or too few, lost quotes,
 * literals of Python, comments, prose. The texts hold what makes that hard: dialogue, lists of quoted words, code, JSON
 * within prose. Whatever a fault leaves as JSON is broken again.
 */
export function brokenAnswers(seed: number, count: number): readonly BrokenAnswer[] {
  const random = randomNumbers(seed);
  const answers: BrokenAnswer[] = [];
  while (answers.length < count) {
    const meant = random.one(ANSWERS)(random);
    const names = new Set<string>([random.one(FAULT_NAMES)]);
    if (random.chance(0.25)) names.add(random.one(FAULT_NAMES));
    const written = write(meant, random, names);
    if (written === undefined || isJson(written)) continue;
    answers.push({ text: written, meant, schema: schemaOf(meant), faults: [...names] });
  }
  return answers;
}

/** Answers that end anywhere, by a seed. */
export function cutAnswers(seed: number, count: number): readonly Pick<BrokenAnswer, 'text' | 'meant'>[] {
  const random = randomNumbers(seed);
  return brokenAnswers(seed, count).map(({ meant }) => {
    const json = JSON.stringify(meant, undefined, random.chance(0.5) ? 2 : 0);
    return { text: json.slice(0, 1 + random.below(json.length - 1)), meant };
  });
}

/** Where something is in a value that is not in what it was cut from. Texts and numbers may have been cut themselves. */
export function differences(part: unknown, whole: unknown, path: string): readonly string[] {
  if (Array.isArray(part) && Array.isArray(whole)) {
    const isEmptied = part.length === 0 && whole.length > 0 && path !== '$';
    return [
      ...(isEmptied ? [path] : []),
      ...part.flatMap((one, index) => differences(one, whole[index], `${path}.${index}`)),
    ];
  }
  if (typeof part === 'object' && part !== null && typeof whole === 'object' && whole !== null) {
    const isEmptied = Object.keys(part).length === 0 && Object.keys(whole).length > 0 && path !== '$';
    const members = Object.entries(part).flatMap(([key, one]) =>
      Object.hasOwn(whole, key)
        ? differences(one, (whole as Record<string, unknown>)[key], `${path}.${key}`)
        : [`${path}.${key}`],
    );
    return [...(isEmptied ? [path] : []), ...members];
  }
  const isCut =
    (typeof part === 'string' && typeof whole === 'string' && whole.startsWith(part)) ||
    (typeof part === 'number' && typeof whole === 'number' && String(whole).startsWith(String(part)));
  return isCut || part === whole ? [] : [path];
}

interface RandomNumbers {
  readonly one: <Item>(items: readonly Item[]) => Item;
  readonly chance: (share: number) => boolean;
  readonly below: (limit: number) => number;
}

function randomNumbers(seed: number): RandomNumbers {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    below,
    chance: (share) => next() < share,
    one: (items) => {
      const item = items[below(items.length)];
      if (item === undefined) throw new RangeError('nothing to choose from');
      return item;
    },
  };
}

const PLAIN = [
  'A short summary of the meeting.',
  'Vienna',
  'The delivery arrived two days late, but nothing was broken.',
  'Blue',
  'See section 4.2 (page 17), and the appendix.',
  'Costs: rent, food, travel; everything else is free.',
  'https://example.org/a?b=c&d=e#top',
  'She left at 10:30 and was back by noon.',
  'ok',
  'in progress',
  '2026-03-14',
  'Größe: 42 µm, naïve façade',
  '今日は天気がいいです。',
  'First line\nSecond line\n\n- a point\n- another point',
];
const QUOTING = [
  'He said "hello" and left.',
  'The words "red", "green" and "blue" are colours.',
  'The term "entropy"',
  '"To be or not to be" is the question.',
  'They call it "the wall".',
  '"Stop!" she cried, "there is a car coming."',
  'A 27" screen and a 5\'10" desk',
  'Click <a href="https://example.org" class="link">here</a> to go on.',
  'Use print("done") at the end, or log("x", "y").',
  'The option "verbose": it prints more.',
  'Set {"retries": 3, "verbose": true} in the file.',
  'The review was titled "Never again", and it was read by many.',
  'Ask for the "deluxe" (not the "basic") version.',
  'What does "done" mean?',
  'The so-called "experts", according to the "Times", disagree.',
  'const name = "Ada";\nconsole.log("Hello, " + name);',
  'Dear all,\n"Great work," says the board.\nBest,\nAda',
  'Answer "yes" or "no"; "maybe" is no answer.',
  'It is known as "X" [1], or "Y" {2}.',
];
const APOSTROPHES = ["It's fine, isn't it?", "The dogs' bowls", "'Tis the season", "rock 'n' roll", "O'Brien's report"];
const BACKSLASHES = [
  'C:\\Users\\ada\\report.docx',
  'Match \\d+ and \\w*',
  'The angle \\alpha and $\\frac{1}{2}$',
  '100\\% sure',
];
const KEYS = ['name', 'title', 'summary', 'reason', 'status', 'text', 'author', 'category', 'notes', 'answer', 'city'];
const NUMBER_KEYS = ['score', 'count', 'year', 'price', 'rating', 'confidence', 'page'];

function text(random: RandomNumbers): string {
  const kind = random.below(10);
  if (kind < 4) return random.one(PLAIN);
  if (kind < 8) return random.chance(0.3) ? `${random.one(QUOTING)} ${random.one(QUOTING)}` : random.one(QUOTING);
  return random.one(kind === 8 ? APOSTROPHES : BACKSLASHES);
}

function record(random: RandomNumbers): JsonObject {
  const value: Record<string, JsonValue> = {};
  const members = 2 + random.below(4);
  while (Object.keys(value).length < members) {
    const kind = random.below(10);
    if (kind < 6) value[random.one(KEYS)] = text(random);
    else if (kind < 8) value[random.one(NUMBER_KEYS)] = random.chance(0.5) ? random.below(5000) : random.below(100) / 8;
    else if (kind === 8) value[random.one(['active', 'verified', 'done'])] = random.chance(0.5);
    else value[random.one(['parent', 'deleted_at'])] = null;
  }
  return value;
}

const several = <Item>(random: RandomNumbers, make: (random: RandomNumbers) => Item): readonly Item[] =>
  Array.from({ length: 1 + random.below(4) }, () => make(random));

const ANSWERS: readonly ((random: RandomNumbers) => JsonValue)[] = [
  record,
  record,
  (random) => ({ ...record(random), tags: several(random, text) }),
  (random) => ({ items: several(random, record), total: random.below(90) }),
  (random) => ({ ...record(random), details: { ...record(random), nested: record(random) } }),
  (random) => several(random, record),
  (random) => ({ steps: several(random, text), result: record(random) }),
];

/** How members and items are laid out, and which of them are damaged. */
interface Style {
  readonly indent: number;
  readonly damaged: (name: string) => boolean;
  readonly random: RandomNumbers;
}

/** Faults of the writing: they are done while values are written. Those with `one:` hit one place, others all. */
const WRITING = [
  'quotes not escaped',
  'quotes not escaped',
  'quotes not escaped',
  'one: quotes not escaped',
  'one: quotes not escaped',
  'line breaks not escaped',
  'backslashes not escaped',
  'python',
  'bare keys',
  'curly quotes',
  'trailing commas',
  'one: trailing comma',
  'one: no comma',
  'one: no closing quote',
  'one: no opening quote',
  'one: no quotes around a key',
  'one: remark',
  'comments',
  'one: superfluous bracket',
  'one: missing bracket',
  'one: wrong bracket',
] as const;
const WRAPPING = ['fence', 'prose', 'thinking', 'no end', 'bracket behind', 'written twice'] as const;
const FAULT_NAMES: readonly string[] = [...WRITING, ...WRAPPING, 'fence'];

function write(meant: JsonValue, random: RandomNumbers, names: ReadonlySet<string>): string | undefined {
  // First count the places of each fault, then break one of them.
  const places = new Map<string, number>();
  const layout = random.chance(0.6) ? 2 : 0;
  const counting: Style = {
    indent: layout,
    random,
    damaged(name) {
      places.set(name, (places.get(name) ?? 0) + 1);
      return false;
    },
  };
  writeValue(meant, counting, 0);
  const targets = new Map([...places].map(([name, count]) => [name, random.below(count)]));
  const seen = new Map<string, number>();
  let broken = false;
  const breaking: Style = {
    indent: layout,
    random,
    damaged(name) {
      if (names.has(name)) {
        broken = true;
        return true;
      }
      if (!names.has(`one: ${name}`)) return false;
      const at = seen.get(name) ?? 0;
      seen.set(name, at + 1);
      if (at !== targets.get(name)) return false;
      broken = true;
      return true;
    },
  };
  let written = writeValue(meant, breaking, 0);
  for (const name of names) {
    const wrapped = wrap(name, written, random);
    if (wrapped !== written) broken = true;
    written = wrapped;
  }
  return broken ? written : undefined;
}

function wrap(name: string, written: string, random: RandomNumbers): string {
  const intro = random.one(['Here is the JSON:', 'Sure! I looked at [1] and {x}, so:', 'The result is', 'Output:']);
  const end = random.one([
    'Let me know if you need "more" changes.',
    'Note: values are estimates.',
    'I hope this helps!',
  ]);
  switch (name) {
    case 'fence':
      return `${random.chance(0.5) ? `${intro}\n\n` : ''}\`\`\`json\n${written}\n\`\`\`${random.chance(0.5) ? `\n\n${end}` : ''}`;
    case 'prose':
      return `${intro} ${written}${random.chance(0.6) ? `\n\n${end}` : ''}`;
    case 'thinking':
      return `<think>The user wants {"a": 1}, so I write it.</think>\n${written}`;
    case 'no end':
      return written.replace(/[}\]]\s*$/, '');
    case 'bracket behind':
      return `${written}${random.one(['}', '\n}', ']'])}`;
    case 'written twice':
      return `${written}\n\n${written}`;
    default:
      return written;
  }
}

function writeValue(value: JsonValue, style: Style, depth: number): string {
  if (typeof value === 'string') return writeText(value, style);
  if (value === null) return style.damaged('python') ? 'None' : 'null';
  if (typeof value === 'boolean') return style.damaged('python') ? (value ? 'True' : 'False') : String(value);
  if (typeof value !== 'object') return String(value);
  const isList = Array.isArray(value);
  const members = isList
    ? value.map((item: JsonValue) => writeValue(item, style, depth + 1))
    : Object.entries(value).map(
        ([key, one]) => `${writeKey(key, style)}: ${writeValue(one ?? null, style, depth + 1)}`,
      );
  const line = (level: number): string => (style.indent === 0 ? '' : `\n${' '.repeat(style.indent * level)}`);
  let body = '';
  for (const [index, member] of members.entries()) {
    const last = index === members.length - 1;
    const lost = !last && style.indent > 0 && style.damaged('no comma');
    const comma = last
      ? style.damaged('trailing commas') || style.damaged('trailing comma')
        ? ','
        : ''
      : lost
        ? ''
        : ',';
    const remark = style.indent > 0 && style.damaged('comments') ? ' // see the "notes" above' : '';
    body += `${line(depth + 1)}${member}${comma}${remark}${last || style.indent > 0 ? '' : ' '}`;
  }
  const [open, close, other] = isList ? ['[', ']', '}'] : ['{', '}', ']'];
  const behind = bracketsBehind(depth, close, other, style);
  return `${open}${body}${line(depth)}${behind}`;
}

function bracketsBehind(depth: number, close: string, other: string, style: Style): string {
  if (depth > 0 && style.damaged('missing bracket')) return '';
  if (style.damaged('wrong bracket')) return other;
  return depth > 0 && style.damaged('superfluous bracket') ? `${close}${close}` : close;
}

function writeKey(key: string, style: Style): string {
  if (style.damaged('bare keys') || style.damaged('no quotes around a key')) return key;
  return quoted(key, style);
}

function quoted(escaped: string, style: Style): string {
  if (style.damaged('curly quotes')) return `“${escaped}”`;
  return `"${escaped}"`;
}

function writeText(value: string, style: Style): string {
  if (style.damaged('python')) return pythonText(value);
  let escaped = JSON.stringify(value).slice(1, -1);
  if (value.includes('"') && (style.damaged('quotes not escaped') || style.damaged('quotes not escaped'))) {
    escaped = escaped.replaceAll('\\"', '"');
  }
  if (value.includes('\n') && style.damaged('line breaks not escaped')) escaped = escaped.replaceAll('\\n', '\n');
  if (value.includes('\\') && style.damaged('backslashes not escaped')) escaped = escaped.replaceAll('\\\\', '\\');
  if (style.indent > 0 && style.damaged('remark')) return `"${escaped}" // not sure`;
  if (style.indent > 0 && style.damaged('no closing quote')) return `"${escaped}`;
  if (/^\p{L}/u.test(value) && !/["\\,\n:]/.test(value) && style.damaged('no opening quote')) return `${escaped}"`;
  return quoted(escaped, style);
}

function pythonText(value: string): string {
  const escaped = value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  if (value.includes("'") && !value.includes('"')) return `"${escaped}"`;
  return `'${escaped.replaceAll("'", "\\'")}'`;
}

function schemaOf(value: JsonValue): JsonObject {
  if (value === null) return { type: 'null' };
  if (Array.isArray(value)) {
    const items = value.map((item: JsonValue) => schemaOf(item));
    return { type: 'array', items: items.length === 1 ? (items[0] ?? {}) : { anyOf: items } };
  }
  if (typeof value !== 'object') return { type: typeof value };
  const properties = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, schemaOf(one ?? null)]));
  return { type: 'object', properties, required: Object.keys(value), additionalProperties: false };
}

function isJson(written: string): boolean {
  try {
    JSON.parse(written);
    return true;
  } catch {
    return false;
  }
}
