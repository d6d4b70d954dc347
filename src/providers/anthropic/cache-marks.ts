import type { CacheControl } from '../../protocol/content-part.ts';
import type { TextBlock, Turn } from './blocks.ts';

/** Marks in one request; the one at the top counts too. */
const MOST_MARKS = 4;

type Markable = { cache_control?: CacheControl };

/**
 * Takes away cache marks until the API accepts the rest, in place: at most four, none on the last block beside a mark
 * for the whole request, and none that lives an hour behind one that lives five minutes. Of too many, the first stays,
 * which other conversations share, and the last ones, which this one goes on from.
 *
 * @returns the mark for the whole request, as it may be sent.
 */
export function limitCacheMarks(
  tools: readonly Markable[],
  system: readonly TextBlock[],
  turns: readonly Turn[],
  whole: CacheControl | undefined,
): CacheControl | undefined {
  const blocks: readonly Markable[] = [...tools, ...system, ...turns.flatMap(({ content }) => content as Markable[])];
  if (whole !== undefined) delete blocks.at(-1)?.cache_control;
  const marked = blocks.filter(({ cache_control: mark }) => mark !== undefined);
  const most = whole === undefined ? MOST_MARKS : MOST_MARKS - 1;
  for (const block of marked.splice(1, marked.length - most)) delete block.cache_control;
  let isShort = false;
  for (const block of marked) {
    const isLong = block.cache_control?.ttl === '1h';
    if (isShort && isLong) block.cache_control = SHORT;
    isShort ||= !isLong;
  }
  return isShort && whole?.ttl === '1h' ? SHORT : whole;
}

const SHORT: CacheControl = { type: 'ephemeral' };
