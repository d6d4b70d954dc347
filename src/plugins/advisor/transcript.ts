import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { Message, ToolCall } from '../../protocol/message.ts';
import { textOfMessage } from '../inner-call/message-text.ts';

/**
 * A conversation as text for somebody who takes no part in it: its tools are not theirs, and what it says is not said to
 * them. Media are named, not sent.
 */
export function transcriptOf(messages: readonly Message[]): string {
  return JSON.stringify(messages.map(entryOf));
}

function entryOf(message: Message): object {
  const { role, content } = message;
  const media = Array.isArray(content) ? content.flatMap(({ type }) => (type === 'text' ? [] : type)) : [];
  const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
  return {
    role,
    text: textOfMessage(message),
    ...(media.length === 0 ? {} : { media }),
    ...(calls.length === 0
      ? {}
      : { calls: calls.map(({ function: called }) => ({ name: called.name, arguments: called.arguments })) }),
  };
}

/**
 * What an advisor was asked earlier in a conversation, and what it said: it remembers. Found by the name under which
 * the model knows it, also in calls that the caller sent back with an earlier answer.
 */
export function earlierAdvice({ messages }: NormalizedRequest, name: string): readonly Message[] {
  const results = new Map(
    messages.flatMap((message) => (message.role === 'tool' ? [[message.tool_call_id, textOfMessage(message)]] : [])),
  );
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []));
  return calls
    .filter((call) => call.function.name === name)
    .flatMap((call) => consultation(call, results.get(call.id) ?? ''));
}

function consultation({ function: called }: ToolCall, result: string): readonly Message[] {
  const prompt = memberOf(called.arguments, 'prompt');
  const advice = memberOf(result, 'advice');
  if (prompt === undefined || advice === undefined) return [];
  return [
    { role: 'user', content: prompt },
    { role: 'assistant', content: advice },
  ];
}

function memberOf(json: string, name: string): string | undefined {
  try {
    const value = (JSON.parse(json) as Readonly<Record<string, unknown>> | null)?.[name];
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
