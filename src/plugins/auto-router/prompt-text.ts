import type { Message } from '../../protocol/message.ts';

/** What a classifier is told about a request. */
export interface Prompt {
  /** What the user asked last, and what before when that is short; long texts without their middle. */
  readonly text: string;
  /** Whether the last user message shows an image. */
  readonly hasImage: boolean;
  /** Whether the model may call tools. */
  readonly hasTools: boolean;
}

/** Characters of one message that are looked at: its beginning and its end, where requests stand. */
const HEAD = 800;
const TAIL = 400;
/** A question shorter than this is read together with the one before. */
const SHORT = 40;

/** Finds what the user wants in a conversation. Answers, tool results and instructions are not looked at. */
export function promptOf(messages: readonly Message[], hasTools: boolean): Prompt {
  const asked = messages.filter((message) => message.role === 'user').slice(-2);
  const last = asked.at(-1);
  const text = textOf(last);
  const before = asked.length > 1 && text.length < SHORT ? textOf(asked[0]) : '';
  const parts = Array.isArray(last?.content) ? last.content : [];
  return {
    text: before === '' ? text : `${text}\n${before}`,
    hasImage: parts.some((part) => part.type === 'image_url'),
    hasTools,
  };
}

function textOf(message: Message | undefined): string {
  const content = message?.content ?? '';
  if (typeof content === 'string') return shortened(content);
  return shortened(content.flatMap((part) => (part.type === 'text' ? [shortened(part.text)] : [])).join('\n'));
}

function shortened(text: string): string {
  return text.length <= HEAD + TAIL ? text : `${text.slice(0, HEAD)}\n${text.slice(-TAIL)}`;
}
