import type { ContentPart } from '../../protocol/content-part.ts';
import type { Message, SystemMessage, ToolCall, ToolMessage, UserMessage } from '../../protocol/message.ts';
import { EncodeError } from '../encode-error.ts';
import { type AssistantContext, encodeAssistant } from './encode-assistant.ts';
import { type PlacedResult, encodeToolResults } from './encode-tool-results.ts';
import { type MediaContext, encodeMedia } from './media-parts.ts';
import type { Content, Part } from './wire.ts';

/** A conversation as Google takes it. */
export interface EncodedConversation {
  readonly systemInstruction?: { readonly parts: readonly Part[] } | undefined;
  readonly contents: readonly Content[];
}

/** Turns, neighbours of the same role in one: Google wants users and model to take turns. */
class Turns {
  readonly contents: { role: Content['role']; parts: Part[] }[] = [];

  add(role: Content['role'], parts: readonly Part[]): void {
    if (parts.length === 0) return;
    const last = this.contents.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else this.contents.push({ role, parts: [...parts] });
  }

  /** Puts parts in front of the first user turn, or makes one. */
  prefix(parts: readonly Part[]): void {
    if (parts.length === 0) return;
    const [first] = this.contents;
    if (first?.role === 'user') first.parts.unshift(...parts);
    else this.contents.unshift({ role: 'user', parts: [...parts] });
  }
}

/**
 * Writes the messages of a request. Instructions at the beginning have a place of their own; later ones stand as a
 * user's words where they came. The results of parallel calls share one turn.
 *
 * @throws {@link EncodeError} when nothing is said, or something that Google cannot be told.
 */
export function encodeConversation(messages: readonly Message[], context: AssistantContext): EncodedConversation {
  const instructions: Part[] = [];
  const turns = new Turns();
  let calls: readonly ToolCall[] = [];
  let leading = true;
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index];
    if (message === undefined) continue;
    const path = `messages[${index}]`;
    if (message.role === 'system' || message.role === 'developer') {
      if (leading) instructions.push(...encodeInstruction(message));
      else turns.add('user', encodeInstruction(message));
      continue;
    }
    leading = false;
    if (message.role === 'user') turns.add('user', encodeUser(message, path, context));
    else if (message.role === 'assistant') {
      calls = message.tool_calls ?? [];
      turns.add('model', encodeAssistant(message, path, context));
    } else {
      const results = resultsFrom(messages, index);
      turns.add('user', encodeToolResults(results, calls, context));
      index += results.length - 1;
    }
  }
  return placeInstructions(instructions, turns, context);
}

function placeInstructions(instructions: readonly Part[], turns: Turns, { family }: MediaContext): EncodedConversation {
  // Without a turn there is nothing to answer, so the instructions are what the user says.
  const ownPlace = family.systemInstruction && turns.contents.length > 0;
  if (!ownPlace) turns.prefix(instructions);
  if (turns.contents.length === 0) {
    throw new EncodeError('messages must say something: Google refuses a conversation in which nobody said a word');
  }
  return {
    ...(ownPlace && instructions.length > 0 ? { systemInstruction: { parts: instructions } } : {}),
    contents: turns.contents,
  };
}

function encodeInstruction({ content }: SystemMessage): readonly Part[] {
  const texts = typeof content === 'string' ? [content] : content.map(({ text }) => text);
  return texts.filter((text) => text !== '').map((text) => ({ text }));
}

/** Google knows no names of users, so the text says who speaks. */
function encodeUser({ content, name }: UserMessage, path: string, context: MediaContext): readonly Part[] {
  const speaker = name == null ? '' : `${name}: `;
  if (typeof content === 'string') return content === '' ? [] : [{ text: `${speaker}${content}` }];
  const parts = content.flatMap((part: ContentPart, index): readonly Part[] => {
    if (part.type === 'text') return part.text === '' ? [] : [{ text: part.text }];
    return [encodeMedia(part, `${path}.content[${index}]`, context)];
  });
  return speaker === '' || parts.length === 0 ? parts : [{ text: speaker.trimEnd() }, ...parts];
}

/** The tool messages that follow one another from here on. */
function resultsFrom(messages: readonly Message[], start: number): readonly PlacedResult[] {
  const results: PlacedResult[] = [];
  for (let index = start; index < messages.length; index += 1) {
    const message = messages[index];
    if (message?.role !== 'tool') break;
    results.push({ message: message satisfies ToolMessage, path: `messages[${index}]` });
  }
  return results;
}
