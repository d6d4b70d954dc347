import { GAP } from './middle-out.ts';

/** Paragraphs, tables and blocks of code of a text, of which some may be left out. */

/** Passages that belong together, as those of a table do. */
interface Group {
  /** What all of them are under: a heading, the head of a table, the opening of a fence. Empty without one. */
  readonly head: string;
  /** What ends them, such as the end of a fence. */
  readonly tail: string;
  /** Places of the first and the last one. */
  readonly first: number;
  last: number;
}

/** A part of a text; together they are the text. */
export interface Passage {
  readonly from: number;
  readonly to: number;
  /** What it belongs to, the widest first. */
  readonly groups: readonly Group[];
}

/** Scripts that write words without spaces between them. */
const WITHOUT_SPACES = /[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]/;

const FENCE = /^[ \t]{0,3}(`{3,}|~{3,})/;
const TABLE_ROW = /^[ \t]*\|.*\|[ \t]*$/;
const TABLE_RULE = /^[ \t]*\|[\s|:-]+\|[ \t]*$/;
/** A line that says what follows it: a heading of Markdown, a tag, the number or the title of a document. */
const HEADING =
  /^[ \t]*(?:#{1,6}[ \t].*|<[\w-]+(?:[ \t][^<>]{0,200})?>|\[?(?:document|doc|passage|source|chunk|file|section|title|chapter|page)\b[^\n]{0,120}[\d:\]>][^\n]{0,120}|[^\n|]{1,80}:)[ \t]*$/i;
/** Headings right behind each other that count as one. */
const MOST_HEADINGS = 3;

interface Block {
  readonly from: number;
  to: number;
  readonly kind: 'prose' | 'table' | 'code';
  /** True where it begins with what the following blocks are under. */
  readonly heading: string | undefined;
}

/**
 * Divides a text at headings, blank lines, tables and fences, and what is long within them at lines and sentences.
 *
 * @param most - Characters of a passage at most; a third of that in scripts without spaces.
 */
export function passagesOf(text: string, most: number): readonly Passage[] {
  const passages: Passage[] = [];
  let section: Group | undefined;
  for (const block of blocksOf(text)) {
    const first = passages.length;
    if (block.heading !== undefined) section = { head: block.heading, tail: '', first, last: first };
    const own = block.kind === 'prose' ? undefined : { ...edgesOf(text, block), first, last: first };
    const groups = [section, own].filter((group) => group !== undefined);
    let from = block.from;
    for (const to of endsOf(text, block, most)) {
      for (const group of groups) group.last = passages.length;
      passages.push({ from, to, groups });
      from = to;
    }
  }
  return passages;
}

function blocksOf(text: string): readonly Block[] {
  const blocks: Block[] = [];
  let block: Block | undefined;
  let fence: string | undefined;
  let isBlank = false;
  let headings = 0;
  const open = (from: number, kind: Block['kind'], heading?: string): Block => {
    const opened = { from, to: from, kind, heading };
    blocks.push(opened);
    return opened;
  };
  for (let from = 0; from < text.length;) {
    const end = text.indexOf('\n', from);
    const to = end < 0 ? text.length : end + 1;
    const line = text.slice(from, end < 0 ? to : end);
    const mark = FENCE.exec(line)?.[1];
    if (fence !== undefined) {
      if (mark !== undefined && mark.startsWith(fence)) [fence, isBlank] = [undefined, true];
    } else if (mark !== undefined) {
      block = open(from, 'code');
      fence = mark;
    } else if (line.trim() === '') {
      isBlank = true;
      block ??= open(from, 'prose');
    } else if (TABLE_ROW.test(line)) {
      if (block?.kind !== 'table' || isBlank) block = open(from, 'table');
      isBlank = false;
    } else if (line.length <= 300 && HEADING.test(line)) {
      const isSame: boolean = headings > 0 && headings < MOST_HEADINGS && block?.heading !== undefined;
      if (isSame && block !== undefined) {
        const known: string = block.heading ?? '';
        blocks.pop();
        block = open(block.from, 'prose', `${known}\n${line.trim()}`);
      } else block = open(from, 'prose', line.trim());
      headings = isSame ? headings + 1 : 1;
      block.to = to;
      from = to;
      isBlank = false;
      continue;
    } else {
      // What follows a heading behind a blank line is still in its block.
      if (block === undefined || block.kind !== 'prose' || (isBlank && headings === 0)) block = open(from, 'prose');
      isBlank = false;
    }
    if (line.trim() !== '') headings = 0;
    if (block !== undefined) block.to = to;
    from = to;
  }
  return blocks;
}

/** What a part of a table or of code needs around it to be one. */
function edgesOf(text: string, { from, to, kind }: Block): Pick<Group, 'head' | 'tail'> {
  const lines = text.slice(from, to).trimEnd().split('\n');
  const [first = '', second = ''] = lines;
  if (kind === 'table') return { head: TABLE_RULE.test(second) ? `${first}\n${second}` : '', tail: '' };
  const fence = FENCE.exec(first)?.[1] ?? '```';
  return { head: first, tail: fence };
}

/** Where the passages of a block end. */
function endsOf(text: string, { from, to }: Block, characters: number): readonly number[] {
  const isDense = WITHOUT_SPACES.test(text.slice(from, Math.min(to, from + 2_000)));
  const most = isDense ? Math.ceil(characters / 3) : characters;
  const ends: number[] = [];
  let at = from;
  // Blank lines behind a block are no part of its length.
  const length = text.slice(from, to).trimEnd().length;
  while (from + length - at > most) {
    at += cutIn(text.slice(at, at + most));
    ends.push(at);
  }
  ends.push(to);
  return ends;
}

/** Places at which a long block may be divided, the best first. */
const CUTS = [/\n/g, /[.!?…]["'”’)\]]{0,3}\s+|[。！？]/g, /[}\]],\s*|;\s*/g, /,\s*/g, /\s+/g];

function cutIn(window: string): number {
  for (const pattern of CUTS) {
    // The last one counts, and most windows have it near their end.
    for (const share of [0.75, 0.25]) {
      const from = Math.floor(window.length * share);
      let last = 0;
      for (const { index, 0: found } of window.slice(from).matchAll(pattern)) last = from + index + found.length;
      if (last > from) return last;
    }
  }
  const code = window.charCodeAt(window.length - 1);
  return code >= 0xd800 && code < 0xdc00 ? window.length - 1 : window.length;
}

/** Puts some passages of a text together again, in order, with a mark wherever some were left out. */
export function withPassages(text: string, passages: readonly Passage[], chosen: ReadonlySet<number>): string {
  const edges = new Map<Group, { first: number; last: number }>();
  const kept = [...chosen].sort((left, right) => left - right);
  for (const place of kept) {
    for (const group of passages[place]?.groups ?? []) {
      const edge = edges.get(group);
      if (edge === undefined) edges.set(group, { first: place, last: place });
      else edge.last = place;
    }
  }
  let result = '';
  let next = 0;
  for (const place of kept) {
    const passage = passages[place];
    if (passage === undefined) continue;
    const { from, to, groups } = passage;
    if (place > next) result = `${result.trimEnd()}${GAP}`;
    for (const group of groups) {
      const isBegun = group.first === place || edges.get(group)?.first !== place || group.head === '';
      if (!isBegun) result = `${lineEnded(result)}${group.head}\n`;
    }
    result += text.slice(from, to);
    for (const group of groups) {
      const isOver = group.last === place || edges.get(group)?.last !== place || group.tail === '';
      if (!isOver) result = `${lineEnded(result)}${GAP.trimStart()}${group.tail}\n`;
    }
    next = place + 1;
  }
  return next < passages.length ? `${result.trimEnd()}${GAP}`.trim() : result.replace(/^\n(?=\[…\])/, '');
}

function lineEnded(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
