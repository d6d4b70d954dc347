import { likelyTokens } from '../../core/normalize/token-estimate.ts';
import type { Message } from '../../protocol/message.ts';
import type { FunctionTool } from '../../protocol/tools.ts';

/** A word or a piece of one with the space before it, a single sign, or a rest of space. */
const TOKEN = /\s*[\p{L}\p{M}\p{N}]{1,10}|\s*[^\s\p{L}\p{M}\p{N}]|\s+/gu;

/** Tokens that a message costs beside its text. */
const PER_MESSAGE = 4;

/** Tokens of parts that are not text, about what real providers count. */
const PER_PART: Readonly<Record<string, number | undefined>> = {
  image_url: 260,
  input_audio: 320,
  video_url: 1_800,
  file: 560,
};

/** Cuts text into the tokens that are streamed and counted. Joined, they are the text again. */
export function tokenize(text: string): readonly string[] {
  return text.match(TOKEN) ?? [];
}

/** Estimated tokens of one message of the prompt. */
export function messageTokens(message: Message): number {
  const { content } = message;
  let tokens = PER_MESSAGE;
  if (typeof content === 'string') tokens += likelyTokens(content);
  else {
    for (const part of content ?? [])
      tokens += part.type === 'text' ? likelyTokens(part.text) : (PER_PART[part.type] ?? 0);
  }
  if (message.role !== 'assistant') return tokens;
  for (const { function: call } of message.tool_calls ?? []) tokens += likelyTokens(call.name + call.arguments);
  return tokens;
}

/** Estimated tokens that the declarations of tools add to the prompt. */
export function toolTokens(tools: readonly FunctionTool[]): number {
  return tools.length === 0 ? 0 : likelyTokens(JSON.stringify(tools.map((tool) => tool.function)));
}
