import type { ContentPart } from '../../protocol/content-part.ts';
import type { Message } from '../../protocol/message.ts';
import { topicsOf } from './prose.ts';

/** The results of tools that a conversation ends in. */
export interface ToolResults {
  readonly count: number;
  /** Function that the last one came from. */
  readonly tool: string;
  /** Text of the last one. */
  readonly text: string;
}

/** What an answer takes up of a conversation. */
export interface Prompt {
  /** Text of the last user message. */
  readonly question: string;
  /** Words of the question that are worth repeating. */
  readonly topics: readonly string[];
  /** Attachments in the whole conversation, for example `2 images`. */
  readonly attachments: readonly string[];
  /** Present when the last message is the result of a tool. */
  readonly toolResults?: ToolResults | undefined;
}

const NOUNS: readonly (readonly [type: string, one: string, many: string])[] = [
  ['image_url', 'image', 'images'],
  ['file', 'file', 'files'],
  ['input_audio', 'audio clip', 'audio clips'],
  ['video_url', 'video', 'videos'],
];

/** Reads a conversation. */
export function readPrompt(messages: readonly Message[]): Prompt {
  const asked = messages.findLast((message) => message.role === 'user');
  const question = textOf(asked);
  return {
    question,
    topics: topicsOf(question),
    attachments: attachmentsOf(messages),
    toolResults: toolResultsOf(messages),
  };
}

/** All text of a message. */
function textOf(message: Message | undefined): string {
  const content = message?.content ?? '';
  if (typeof content === 'string') return content;
  return (content as readonly ContentPart[]).flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

function attachmentsOf(messages: readonly Message[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { content } of messages) {
    if (typeof content === 'string') continue;
    for (const { type } of content ?? []) counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  return NOUNS.flatMap(([type, one, many]) => {
    const count = counts.get(type) ?? 0;
    return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`];
  });
}

function toolResultsOf(messages: readonly Message[]): ToolResults | undefined {
  const last = messages.at(-1);
  if (last?.role !== 'tool') return undefined;
  const before = messages.findLastIndex((message) => message.role !== 'tool');
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []));
  const call = calls.findLast((one) => one.id === last.tool_call_id);
  return { count: messages.length - 1 - before, tool: call?.function.name ?? last.name ?? 'tool', text: textOf(last) };
}
