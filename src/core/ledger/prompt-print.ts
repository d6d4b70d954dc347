/**
 * What is kept of a prompt to find out later where another one differs from it: a salted hash of each of its blocks, in
 * their order, and no text. Instructions and tools are read whole, because a time stamp in them is a few characters;
 * of long messages a part is, and their length.
 */
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { Message } from '../../protocol/message.ts';
import type { FunctionTool } from '../../protocol/tools.ts';
import { fourOf, mixed } from '../selection/adaptive/prompt-blocks.ts';
import { isInstruction } from '../normalize/session.ts';

/** Hashes of the blocks of a prompt. */
export interface PromptPrint {
  /** Of the name of each tool, and of all of it. */
  readonly toolNames: readonly number[];
  readonly tools: readonly number[];
  /** Of each block of instructions. */
  readonly system: readonly number[];
  /** Of the lines of each block of instructions, of the first of them. */
  readonly lines: readonly (readonly number[])[];
  /** Of each other message. */
  readonly messages: readonly number[];
  /** How many of the messages are answers of a model. */
  readonly answers: number;
  /** Characters of tools, instructions and messages, to know how much of the prompt comes before a block. */
  readonly sizes: { readonly tools: number; readonly system: readonly number[]; readonly messages: readonly number[] };
}

/** Lines of a block that are told apart. */
const MOST_LINES = 200;

/**
 * The print of a prompt.
 *
 * @param salt - The same for all prompts that are compared.
 */
export function printOf({ messages, tools }: Pick<NormalizedRequest, 'messages' | 'tools'>, salt: number): PromptPrint {
  const count: Count = { characters: 0 };
  const toolNames: number[] = [];
  const toolHashes: number[] = [];
  for (const tool of tools) {
    const name = dense(salt, tool.function.name);
    toolNames.push(name);
    toolHashes.push(hashOfTool(tool, name, count));
  }
  const system: number[] = [];
  const lines: (readonly number[])[] = [];
  const said: number[] = [];
  let answers = 0;
  const sizes = { tools: count.characters, system: new Array<number>(), messages: new Array<number>() };
  for (const message of messages) {
    if (isInstruction(message)) {
      for (const text of textsOf(message)) {
        const hashes = linesOf(text, salt);
        let hash = mixed(salt, text.length);
        for (const one of hashes) hash = mixed(hash, one);
        system.push(hash);
        lines.push(hashes);
        sizes.system.push(text.length);
      }
    } else {
      if (message.role === 'assistant') answers += 1;
      count.characters = 0;
      said.push(hashOfMessage(message, salt, count));
      sizes.messages.push(count.characters);
    }
  }
  return { toolNames, tools: toolHashes, system, lines, messages: said, answers, sizes };
}

/** The hash of the message that a conversation begins with, as in its print; undefined where there is none. */
export function openingOf(messages: readonly Message[], salt: number): number | undefined {
  const opening = messages.find((message) => !isInstruction(message));
  return opening === undefined ? undefined : hashOfMessage(opening, salt, { characters: 0 });
}

/** Characters that were read. */
interface Count {
  characters: number;
}

interface MessagePart {
  readonly type: string;
  readonly text?: string;
}

function textsOf({ content }: Message): readonly string[] {
  if (typeof content === 'string') return [content];
  return ((content ?? []) as readonly MessagePart[]).map(({ text, type }) => text ?? type);
}

function hashOfMessage(message: Message, salt: number, count: Count): number {
  const { role, content } = message;
  let hash = mixed(salt, role.charCodeAt(0));
  if (typeof content === 'string') {
    count.characters += content.length;
    hash = sampled(hash, content);
  } else {
    for (const part of (content ?? []) as readonly MessagePart[]) {
      const text = part.text ?? part.type;
      count.characters += text.length;
      hash = sampled(hash, text);
    }
  }
  const calls = message.role === 'assistant' ? message.tool_calls : undefined;
  for (const call of calls ?? []) {
    const { name, arguments: given } = call.function;
    count.characters += name.length + given.length;
    hash = sampled(dense(hash, name), given);
  }
  return hash;
}

function hashOfTool({ function: declared }: FunctionTool, name: number, count: Count): number {
  const { description = '', parameters, strict } = declared;
  count.characters += declared.name.length;
  const begun = mixed(name, strict === true ? 1 : 0);
  return hashOfJson(parameters, hashOfJson(description, begun, count), count);
}

function hashOfJson(value: unknown, begun: number, count: Count): number {
  if (typeof value === 'string') {
    count.characters += value.length;
    return dense(begun, value);
  }
  if (typeof value === 'number') return mixed(begun, Math.trunc(value) ^ Math.round((value % 1) * 1e6));
  if (typeof value !== 'object' || value === null) return mixed(begun, value === true ? 1 : value === false ? 2 : 3);
  let hash = begun;
  if (Array.isArray(value)) {
    for (const one of value) hash = hashOfJson(one, hash, count);
    return mixed(hash, value.length);
  }
  const members = value as Readonly<Record<string, unknown>>;
  for (const key in members) {
    const member = members[key];
    count.characters += key.length;
    hash = dense(hash, key);
    if (typeof member === 'string') {
      count.characters += member.length;
      hash = dense(hash, member);
    } else hash = hashOfJson(member, hash, count);
  }
  return mixed(hash, 4);
}

/** A hash of each line of a text; what is beyond the last that is told apart counts as one. */
function linesOf(text: string, salt: number): readonly number[] {
  const hashes: number[] = [];
  let from = 0;
  while (hashes.length < MOST_LINES - 1) {
    const end = text.indexOf('\n', from);
    if (end < 0) break;
    hashes.push(denseBetween(salt, text, from, end));
    from = end + 1;
  }
  hashes.push(denseBetween(salt, text, from, text.length));
  return hashes;
}

function dense(begun: number, text: string): number {
  return denseBetween(begun, text, 0, text.length);
}

/** A hash of every character. */
function denseBetween(begun: number, text: string, from: number, to: number): number {
  let hash = begun;
  let index = from;
  for (; index + 4 <= to; index += 4) hash = mixed(hash, fourOf(text, index));
  // The length goes in with the last characters.
  let rest = to - from;
  for (; index < to; index += 1) rest = Math.imul(rest, 0x1_0001) ^ text.charCodeAt(index);
  return mixed(hash, rest);
}

/** Characters of a text up to which all of them are read, and places that are read of a longer one. */
const READ_WHOLE = 64;
const PLACES = 8;

/** A hash of a text by its length, its beginning, its end and places between: an edit seldom leaves all of them. */
function sampled(begun: number, text: string): number {
  const { length } = text;
  let hash = mixed(begun, length);
  if (length <= READ_WHOLE) return denseBetween(hash, text, 0, length);
  const step = (length - 8) >> 3;
  const last = step * PLACES;
  for (let index = 0; index < last; index += step) {
    hash = mixed(hash, text.charCodeAt(index) | (text.charCodeAt(index + 1) << 16));
  }
  return mixed(mixed(hash, fourOf(text, length - 8)), fourOf(text, length - 4));
}

/** Hashes that are written down at most, so that a record stays small. */
const MOST_WRITTEN = 60;

/**
 * A print as it is written in a record: how many tools, blocks of instructions and messages there were, and eight bits
 * of the hash of each, of tools and instructions before messages. Each goes on from the one before, so what follows a
 * difference differs too, and the first difference is found although each has few bits.
 */
export function writtenPrint({ tools, system, messages }: PromptPrint): string {
  let hash = 0;
  let bytes = '';
  for (const list of [tools, system, messages]) {
    for (const one of list) {
      if (bytes.length >= MOST_WRITTEN) break;
      hash = mixed(hash, one);
      bytes += String.fromCharCode((hash ^ (hash >>> 8) ^ (hash >>> 16) ^ (hash >>> 24)) & 0xff);
    }
  }
  return `${tools.length}.${system.length}.${messages.length}.${btoa(bytes).replace(/=+$/, '')}`;
}
