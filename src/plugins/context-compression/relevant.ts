/** Compresses a prompt by relevance to its last question. */
import type { Message } from '../../protocol/message.ts';
import { type CountedMessage, type CountedText, Measured, type TokenCounter } from './count-message.ts';
import { type Compressed, GAP, middleOut, type PromptLimits, written } from './middle-out.ts';
import { type Passage, passagesOf, withPassages } from './passages.ts';
import { allTexts, keptUnits, LEAST, type Unit, unitsOf } from './prompt-units.ts';
import { questionPlaces } from './question.ts';
import { relevance } from './relevance.ts';

/** What is kept of the last turns, as a part of the room, before anything is chosen by what it says. */
const LAST_TURNS = 1 / 8;
/** The part of the room for which another message is shortened. */
const WORTHWHILE = 0.02;
/** Characters of a passage, by the tokens of the room, and at least and at most: about eight must fit. */
const PER_TOKEN = 0.4;
const SHORTEST = 300;
const LONGEST = 1_600;
/** Texts of more passages than this are divided. */
const LONG = 1.5;
/** Texts that take no more than this part of the room stay or go as a whole, where they may go. */
const LARGE = 0.5;
/** What a passage is worth because of those around it, by how far they are, and because of its whole message. */
const NEIGHBOURS = [
  [1, 0.4],
  [2, 0.3],
] as const;
const WHOLE = 0.5;
/** Characters of a message that is divided: to read more at once would hold up other requests. */
const MOST_CHARACTERS = 4_000_000;
/** The part of the room that is kept for what stays of long texts whatever the question is. */
const ALWAYS = 1 / 3;

/**
 * Makes a prompt fit by what it has to do with the last question: short messages as a whole and passages of long ones,
 * by relevance, in their order. Instructions, the last message of the user and what comes last stay, as passages where
 * they are too long as a whole: then with their beginnings, their ends and the question. Calls of tools and their
 * results stay or go together; the turn before the question stays where it is short. Room that nothing fits into goes to
 * the most relevant message that was left out, without its middle. Where nobody asked anything, does as
 * {@link middleOut}.
 *
 * @param sizes - Of all messages, by the same counter.
 */
export function relevant(
  messages: readonly Message[],
  sizes: readonly CountedMessage[],
  limits: PromptLimits,
  count: TokenCounter,
): Compressed | undefined {
  const requested = messages.findLastIndex((message) => message.role === 'user');
  if (textOf(messages[requested]) === '') return middleOut(messages, sizes, limits, count);
  if (messages.some((one) => textOf(one).length > MOST_CHARACTERS))
    return middleOut(messages, sizes.map(allTexts), limits, count);
  const units = unitsOf(messages);
  const kept = [...keptUnits(units, messages)].sort((left, right) => left - right);
  const selection = new Selection({ messages, sizes, limits, count, units });
  const staysComplete = kept.every((unit) => selection.take(unit));
  if (staysComplete) selection.takeLastTurn(kept);
  else if (!selection.divide(kept, requested)) return middleOut(messages, sizes.map(allTexts), limits, count);
  return selection.fill(questionIn(textOf(messages[requested]), selection.passage));
}

/** A prompt, how long it is and how long it may be. */
interface Prompt {
  readonly messages: readonly Message[];
  readonly sizes: readonly CountedMessage[];
  readonly limits: PromptLimits;
  readonly count: TokenCounter;
  readonly units: readonly Unit[];
}

/** A text that is divided. */
interface Divided {
  readonly message: number;
  readonly part: number;
  readonly text: string;
  readonly passages: readonly Passage[];
  readonly tokens: number;
  readonly chosen: Set<number>;
  /** Tokens of passages that were counted. */
  readonly counted: Map<number, number>;
}

/** What is chosen or not: a unit as a whole, or a passage of one. */
interface Choice {
  readonly unit: number;
  readonly passage?: { readonly divided: Divided; readonly place: number } | undefined;
  readonly text: string;
}

/** What stays of a prompt, chosen while there is room. */
class Selection {
  readonly #prompt: Prompt;
  /** Units of which something stays; of those that are divided, their texts. */
  readonly #chosen = new Set<number>();
  readonly #divided = new Map<number, readonly Divided[]>();
  /** Passages that may be given up again, the latest last. */
  readonly #taken: { readonly divided: Divided; readonly place: number }[] = [];
  readonly #gap: number;
  #tokens: number;
  #messages: number;
  /** Characters of a passage. */
  readonly passage: number;

  constructor(prompt: Prompt) {
    this.#prompt = prompt;
    this.passage = Math.min(LONGEST, Math.max(SHORTEST, Math.round(prompt.limits.tokens * PER_TOKEN)));
    this.#gap = prompt.count(GAP) + 1;
    this.#tokens = prompt.limits.tokens;
    this.#messages = prompt.limits.messages;
  }

  /** Takes a unit as a whole; false where there is no room for it. */
  take(unit: number): boolean {
    const { tokens, count } = this.#measure(unit);
    if (tokens > this.#tokens || count > this.#messages) return false;
    this.#tokens -= tokens;
    this.#messages -= count;
    this.#chosen.add(unit);
    return true;
  }

  /** Takes the two units before the last one that stays, where they are short. */
  takeLastTurn(kept: readonly number[]): void {
    const most = (this.#tokens * LAST_TURNS) / 2;
    let left = 2;
    for (let unit = this.#prompt.units.length - 1; unit >= 0 && left > 0; unit -= 1) {
      if (kept.includes(unit)) continue;
      left -= 1;
      if (this.#measure(unit).tokens <= most) this.take(unit);
    }
  }

  /** Takes of units that are too long what has to stay of them; false where even that is too much. */
  divide(kept: readonly number[], requested: number): boolean {
    const { limits, messages } = this.#prompt;
    this.#chosen.clear();
    [this.#tokens, this.#messages] = [limits.tokens, limits.messages];
    const divided = kept.flatMap((unit) => {
      this.#chosen.add(unit);
      const own = this.#dividedOf(unit);
      const { tokens, count } = this.#measure(unit);
      this.#tokens -= own.reduce((rest, text) => rest - text.tokens + this.#gap, tokens);
      this.#messages -= count;
      return own;
    });
    if (divided.length === 0 || this.#tokens < 0 || this.#messages < 0) return false;
    let always = this.#tokens * ALWAYS;
    for (const one of divided) {
      const { passages, text, message } = one;
      const isQuestion = message === requested;
      if (!isQuestion && messages[message]?.role === 'tool') continue;
      const edges = isQuestion ? [...questionPlaces(text, passages), passages.length - 1, 0] : [0, passages.length - 1];
      for (const place of edges) {
        const tokens = this.#tokensOf(one, place);
        if (one.chosen.has(place) || tokens > always) continue;
        one.chosen.add(place);
        always -= tokens;
        this.#tokens -= tokens;
      }
    }
    return true;
  }

  /** Takes what has most to do with a question, until the room is full, and writes what stays. */
  fill(question: string): Compressed {
    const choices = this.#choices();
    const scores = relevance(
      question,
      choices.map(({ text }) => text),
    );
    const { units, messages } = this.#prompt;
    const open = [...new Set(choices.map(({ unit }) => unit))];
    // With a single one it is the same for all, and whole units have been read already.
    const wholes =
      open.length < 2 || choices.every(({ passage }) => passage === undefined)
        ? []
        : relevance(
            question,
            open.map((unit) => (units[unit]?.messages ?? []).map((index) => textOf(messages[index])).join('\n')),
          );
    const worth = worthOf(choices, scores, new Map(open.map((unit, index) => [unit, wholes[index] ?? 0])));
    const ranked = choices
      .map((choice, index) => ({ choice, score: worth[index] ?? 0 }))
      .toSorted((left, right) => right.score - left.score || right.choice.unit - left.choice.unit)
      .map(({ choice }) => choice);
    let left = ranked.filter((choice) => !this.#takeChoice(choice));
    // Marks between passages that came together are not needed, so what was too long may have room now.
    for (let pass = 0; pass < MOST_PASSES; pass += 1) {
      this.#tokens = this.#roomLeft();
      while (this.#tokens < 0 && this.#giveUp()) this.#tokens = this.#roomLeft();
      if (this.#tokens < this.#gap) break;
      left = left.filter((choice) => !this.#takeChoice(choice));
    }
    return this.#written(left);
  }

  #measure(unit: number): Measured {
    const { units, sizes } = this.#prompt;
    return new Measured(units[unit]?.messages ?? [], sizes);
  }

  /** The long texts of a unit. */
  #dividedOf(unit: number): readonly Divided[] {
    const known = this.#divided.get(unit);
    if (known !== undefined) return known;
    const { units, sizes, messages } = this.#prompt;
    const divided = (units[unit]?.messages ?? []).flatMap((message) => {
      const { texts = [], instructions = [] } = sizes[message] ?? {};
      return [...texts, ...instructions].flatMap(({ part, tokens }: CountedText): readonly Divided[] => {
        const text = textAt(messages[message], part);
        const isShort = !this.#chosen.has(unit) && tokens <= this.#prompt.limits.tokens * LARGE;
        if (isShort || text.length <= LONG * this.passage) return [];
        const passages = passagesOf(text, this.passage);
        return passages.length < 2
          ? []
          : [{ message, part, text, passages, tokens, chosen: new Set(), counted: new Map() }];
      });
    });
    this.#divided.set(unit, divided);
    return divided;
  }

  #choices(): readonly Choice[] {
    const { units, messages } = this.#prompt;
    return units.flatMap(({ messages: own }, unit): readonly Choice[] => {
      if (this.#chosen.has(unit) && !this.#divided.has(unit)) return [];
      const divided = this.#dividedOf(unit);
      if (divided.length === 0) {
        return this.#chosen.has(unit) ? [] : [{ unit, text: own.map((index) => textOf(messages[index])).join('\n') }];
      }
      return divided.flatMap((one) =>
        one.passages.flatMap((passage, place) =>
          one.chosen.has(place)
            ? []
            : [{ unit, passage: { divided: one, place }, text: `${headOf(passage)}${textIn(one, place)}` }],
        ),
      );
    });
  }

  #takeChoice({ unit, passage }: Choice): boolean {
    if (passage === undefined) return this.take(unit);
    const { divided, place } = passage;
    let tokens = this.#tokensOf(divided, place);
    const isFirst = !this.#chosen.has(unit);
    const { count } = this.#measure(unit);
    if (isFirst) {
      tokens += this.#dividedOf(unit).reduce(
        (rest, text) => rest - text.tokens + this.#gap,
        this.#measure(unit).tokens,
      );
      if (count > this.#messages) return false;
    }
    if (tokens > this.#tokens) return false;
    this.#tokens -= tokens;
    if (isFirst) this.#messages -= count;
    this.#chosen.add(unit);
    divided.chosen.add(place);
    this.#taken.push(passage);
    return true;
  }

  /** Leaves out the passage that was taken last. */
  #giveUp(): boolean {
    const last = this.#taken.pop();
    last?.divided.chosen.delete(last.place);
    return last !== undefined;
  }

  /** Tokens of a passage, with the mark behind it where the next one is left out. */
  #tokensOf(divided: Divided, place: number): number {
    const isJoined = divided.chosen.has(place - 1) || divided.chosen.has(place + 1);
    const tokens = divided.counted.get(place) ?? this.#prompt.count(textIn(divided, place));
    divided.counted.set(place, tokens);
    return tokens + (isJoined ? 1 : this.#gap);
  }

  /** Texts of a unit that are divided, as they are written. */
  #shortOf(unit: number): ReadonlyMap<Divided, string> {
    const divided = this.#divided.get(unit) ?? [];
    return new Map(divided.map((one) => [one, withPassages(one.text, one.passages, one.chosen)]));
  }

  #roomLeft(): number {
    const { limits, count } = this.#prompt;
    let left = limits.tokens;
    for (const unit of this.#chosen) {
      left -= this.#measure(unit).tokens;
      if (!this.#isDivided(unit)) continue;
      for (const [{ tokens }, short] of this.#shortOf(unit)) left += tokens - count(short);
    }
    return left;
  }

  /** Whether passages of a unit were chosen, and not all of it. */
  #isDivided(unit: number): boolean {
    return this.#divided.get(unit)?.some(({ chosen, passages }) => chosen.size < passages.length) ?? false;
  }

  #written(left: readonly Choice[]): Compressed {
    const { messages, sizes, limits, count, units } = this.#prompt;
    const result = [...messages];
    const shares = new Map<number, number>();
    let divided = 0;
    for (const unit of this.#chosen) {
      for (const index of units[unit]?.messages ?? []) shares.set(index, Infinity);
      if (!this.#isDivided(unit)) continue;
      const changed = new Set<number>();
      for (const [{ message, part, chosen, passages }, short] of this.#shortOf(unit)) {
        if (chosen.size === passages.length) continue;
        const whole = result[message];
        if (whole !== undefined) result[message] = withTextAt(whole, part, short);
        changed.add(message);
      }
      divided += changed.size;
    }
    if (this.#tokens > limits.tokens * WORTHWHILE) {
      const rest = left
        .filter(({ unit, passage }) => passage === undefined && !this.#chosen.has(unit))
        .map(({ unit }) => this.#measure(unit))
        .find((one) => one.count <= this.#messages && one.cappedAt(LEAST) <= this.#tokens);
      const share = rest?.shareOf(this.#tokens) ?? 0;
      for (const index of rest?.indexes ?? []) shares.set(index, share);
    }
    const { shortened, ...rest } = written(result, sizes, shares, count);
    return { ...rest, shortened: shortened + divided };
  }
}

/**
 * What choices are worth: what they say themselves, and for passages also what those around them and the message as a
 * whole have to do with the question: what a passage is about may have been said before it.
 */
function worthOf(
  choices: readonly Choice[],
  scores: readonly number[],
  units: ReadonlyMap<number, number>,
): readonly number[] {
  return choices.map(({ unit, passage: own }, index) => {
    const score = scores[index] ?? 0;
    if (own === undefined) return score + WHOLE * (units.get(unit) ?? 0);
    let best = 0;
    for (const [step, weight] of NEIGHBOURS) {
      for (const other of [index - step, index + step]) {
        const beside = choices[other]?.passage;
        if (beside?.divided !== own.divided || Math.abs(beside.place - own.place) !== step) continue;
        const [one, two] = [own, beside].map(({ divided, place }) => divided.passages[place]?.groups[0]);
        if (one === two) best = Math.max(best, weight * (scores[other] ?? 0));
      }
    }
    return score + best + WHOLE * (units.get(unit) ?? 0);
  });
}

/** Rounds in which room that became free is filled again. */
const MOST_PASSES = 3;

function headOf({ groups }: Passage): string {
  return groups.map(({ head }) => `${head}\n`).join('');
}

function textIn({ text, passages }: Divided, place: number): string {
  const { from = 0, to = 0 } = passages[place] ?? {};
  return text.slice(from, to);
}

/** The question in a message that may have documents, too. */
function questionIn(text: string, passage: number): string {
  if (text.length <= LONG * passage) return text;
  const passages = passagesOf(text, passage);
  const places = questionPlaces(text, passages);
  if (places.length === 0) return text;
  return places.map((place) => text.slice(passages[place]?.from, passages[place]?.to)).join('\n');
}

/** A text of a message: a part of its content, or all of it (-1). */
function textAt(message: Message | undefined, part: number): string {
  const content = message?.content;
  if (typeof content === 'string') return content;
  const found = content?.[part];
  return found?.type === 'text' ? found.text : '';
}

function withTextAt(message: Message, part: number, text: string): Message {
  const { content } = message;
  if (typeof content === 'string') return { ...message, content: text };
  const changed = (content ?? []).map((one, index) => (index === part ? { ...one, text } : one));
  return { ...message, content: changed } as Message;
}

/** What a message says, and what it asks of tools. */
function textOf(message: Message | undefined): string {
  const content = message?.content ?? '';
  const said =
    typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
  const calls = message?.role === 'assistant' ? (message.tool_calls ?? []) : [];
  return calls.length === 0 ? said : [said, ...calls.map((call) => call.function.arguments)].join('\n');
}
