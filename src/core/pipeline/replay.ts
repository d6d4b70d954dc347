import type { AssistantMessage, Message, ToolCall } from '../../protocol/message.ts';
import { isJsonObject } from '../../protocol/json.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import { bareToolName } from './tool-names.ts';

type ServerCallDetail = Extract<ReasoningDetail, { type: 'reasoning.server_tool_call' }>;

/**
 * Brings finished server tool calls of earlier turns back into the conversation (gaps 6.4). They came to the caller as
 * reasoning details of the answer; the model gets them as what they were: a call, its result, and what followed.
 * Calls of tools that this request does not offer are taken out, because nobody could explain them to the model.
 */
export function replayServerToolCalls(messages: readonly Message[], offered: ReadonlySet<string>): readonly Message[] {
  if (!messages.some(hasServerCalls)) return messages;
  return messages.flatMap((message, index) =>
    hasServerCalls(message) ? replay(message as AssistantMessage, index, offered) : [message],
  );
}

function hasServerCalls(message: Message): boolean {
  return message.role === 'assistant' && message.reasoning_details?.some(isServerCall) === true;
}

function isServerCall(detail: ReasoningDetail): detail is ServerCallDetail {
  return detail.type === 'reasoning.server_tool_call';
}

/** Each run of calls becomes a turn of its own, together with the reasoning that led to it. */
function replay(message: AssistantMessage, index: number, offered: ReadonlySet<string>): readonly Message[] {
  const turns: Message[] = [];
  let reasoning: ReasoningDetail[] = [];
  let calls: ServerCallDetail[] = [];
  const close = (): void => {
    if (calls.length > 0) turns.push(...turnOf(calls, reasoning, `${index}_${turns.length}`));
    if (calls.length > 0) reasoning = [];
    calls = [];
  };
  for (const detail of message.reasoning_details ?? []) {
    if (!isServerCall(detail)) {
      close();
      reasoning.push(detail);
    } else if (offered.has(nameOf(detail))) calls.push(detail);
  }
  close();
  const { reasoning_details: _, ...rest } = message;
  return [...turns, reasoning.length === 0 ? rest : { ...rest, reasoning_details: reasoning }];
}

function turnOf(
  calls: readonly ServerCallDetail[],
  reasoning: readonly ReasoningDetail[],
  prefix: string,
): readonly Message[] {
  const made = calls.map((detail, position): readonly [ToolCall, string] => [
    {
      id: detail.tool_call_id ?? `server_${prefix}_${position}`,
      type: 'function',
      function: { name: nameOf(detail), arguments: textOf(detail.arguments) || '{}' },
      ...(isJsonObject(detail.extra_content) ? { extra_content: detail.extra_content } : {}),
    },
    textOf(detail.result),
  ]);
  return [
    {
      role: 'assistant',
      content: null,
      ...(reasoning.length === 0 ? {} : { reasoning_details: reasoning }),
      tool_calls: made.map(([call]) => call),
    },
    ...made.map(([call, result]): Message => ({ role: 'tool', tool_call_id: call.id, content: result })),
  ];
}

function nameOf({ tool_name: name }: ServerCallDetail): string {
  return bareToolName(textOf(name));
}

/** Details come back from callers, who may have changed them. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
