import type { Message } from '../../protocol/message.ts';
import type { CountedMessage } from './count-message.ts';
import { Measured } from './measured.ts';
import type { Unit } from './units.ts';

/** What a prompt may be at most. */
export interface PromptLimits {
  /** Tokens of all messages together. */
  readonly tokens: number;
  readonly messages: number;
}

/** A prompt in units, with those that stay in any case. */
export interface UnitList {
  readonly units: readonly Unit[];
  readonly kept: ReadonlySet<number>;
  readonly messages: readonly Message[];
  readonly sizes: readonly CountedMessage[];
}

/** Units that stay beside those that must. */
export interface ChosenUnits {
  readonly whole: Measured;
  /** One at the edge of the gap that gets what room is left. */
  readonly rest?: Measured | undefined;
  /** Tokens of room that are left. */
  readonly left: number;
}

/** While units are chosen, a long text counts for at most this part of the room for them all. */
const LONGEST_PART = 4;
/** Tokens of room that are worth taking another unit in for. */
const WORTHWHILE = 64;

/**
 * Takes units from both ends, from the end that has had less so far, until one does not fit any more. Then looks at the
 * gap: some models insist that user and assistant take turns.
 */
export function chooseUnits(list: UnitList, room: PromptLimits, least: number): ChosenUnits {
  const { units, kept } = list;
  const cap = Math.max(least, Math.floor(room.tokens / LONGEST_PART));
  const free = units.flatMap((_, index) => (kept.has(index) ? [] : [index]));
  const chosen: number[] = [];
  let [left, right] = [0, free.length - 1];
  let [before, behind] = [0, 0];
  let { tokens, messages } = room;
  while (left <= right) {
    const fromStart = before <= behind;
    const index = free[fromStart ? left : right] ?? 0;
    const unit = measure(list, [index]);
    const needed = unit.cappedAt(cap);
    if (needed > tokens || unit.count > messages) break;
    chosen.push(index);
    tokens -= needed;
    messages -= unit.count;
    const used = needed / room.tokens + unit.count / room.messages;
    if (fromStart) [left, before] = [left + 1, before + used];
    else [right, behind] = [right - 1, behind + used];
  }
  const gap = gapOf(list, chosen);
  if (gap === undefined || !gap.clashes) return { whole: measure(list, chosen), left: tokens };
  const filler = [gap.before + 1, gap.behind - 1].find((unit) => {
    const measured = measure(list, [unit]);
    const fits = measured.count <= messages && tokens >= WORTHWHILE && measured.cappedAt(least) <= tokens;
    return fits && speaks(list, unit, 'first') !== gap.speaker && speaks(list, unit, 'last') !== gap.speaker;
  });
  if (filler !== undefined) return { whole: measure(list, chosen), rest: measure(list, [filler]), left: tokens };
  const whole = measure(
    list,
    chosen.filter((unit) => unit !== gap.superfluous),
  );
  return { whole, left: tokens };
}

interface Gap {
  /** Units at its edges. */
  readonly before: number;
  readonly behind: number;
  /** Whether two turns of one speaker come together. */
  readonly clashes: boolean;
  readonly speaker: string;
  /** A unit before it without which they do not. */
  readonly superfluous: number | undefined;
}

function gapOf(list: UnitList, chosen: readonly number[]): Gap | undefined {
  const all = [...chosen, ...list.kept].sort((left, right) => left - right);
  const at = all.findIndex((unit, position) => position > 0 && unit !== (all[position - 1] ?? 0) + 1);
  const [before, behind] = [all[at - 1], all[at]];
  if (at < 0 || before === undefined || behind === undefined) return undefined;
  const speaker = speaks(list, before, 'last');
  const removable = !list.kept.has(before) && speaks(list, all[at - 2], 'last') !== speaker;
  return {
    before,
    behind,
    clashes: speaker === speaks(list, behind, 'first'),
    speaker,
    superfluous: removable ? before : undefined,
  };
}

/** Who has the first or the last word in a unit. */
function speaks({ units, messages }: UnitList, unit: number | undefined, end: 'first' | 'last'): string {
  const indexes = unit === undefined ? [] : (units[unit]?.messages ?? []);
  const role = messages[(end === 'first' ? indexes[0] : indexes.at(-1)) ?? -1]?.role ?? 'system';
  return role === 'developer' ? 'system' : role;
}

function measure({ units, sizes }: UnitList, chosen: readonly number[]): Measured {
  return new Measured(
    chosen.flatMap((unit) => units[unit]?.messages ?? []),
    sizes,
  );
}
