/** Brings server tool calls of earlier turns back into a conversation, and limits the loop of tools. */
import type { AssistantMessage, Message, ToolCall } from '../../protocol/message.ts';
import { isJsonObject } from '../../protocol/json.ts';
import type { ReasoningDetail, StopCondition } from '../../protocol/reasoning.ts';
import { MAX_NAME_LENGTH, MAX_SERVER_TOOL_STEPS } from '../../protocol/limits.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import * as read from '../../platform/json.ts';
import type { Usage } from '../../protocol/usage.ts';

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
      function: { name: nameOf(detail), arguments: read.text(detail.arguments) ?? '{}' },
      ...(isJsonObject(detail.extra_content) ? { extra_content: detail.extra_content } : {}),
    },
    read.text(detail.result) ?? '',
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
  return bareToolName(read.text(name) ?? '');
}

/** What a loop of server tools has done so far. */
export interface LoopProgress {
  /** Calls of server tools that the requested model. Each is one step. */
  readonly steps: number;
  /** Names of all tools that were called, also the caller's own. */
  readonly called: ReadonlySet<string>;
  /** Sum over all turns; undefined before the first. */
  readonly usage: Usage | undefined;
  /** Why the last turn ended. */
  readonly finishReason: string | null;
}

/** Before the first turn. */
export const NO_PROGRESS: LoopProgress = { steps: 0, called: new Set(), usage: undefined, finishReason: null };

/**
 * Calls of server tools that this request may still make. `stop_server_tools_when` takes the place of
 * `max_tool_calls`, but nothing lifts the contract's own maximum (gaps 2.1).
 */
export function stepsLeft({ maxToolSteps, stopConditions }: NormalizedRequest, { steps }: LoopProgress): number {
  return Math.max(0, (stopConditions.length > 0 ? MAX_SERVER_TOOL_STEPS : maxToolSteps) - steps);
}

/** True when the next turn must be the last: its tools are off (gaps 2.6). */
export function isLoopOver(request: NormalizedRequest, progress: LoopProgress): boolean {
  return stepsLeft(request, progress) === 0 || request.stopConditions.some((condition) => holds(condition, progress));
}

/** Conditions are thresholds: a turn may make several calls, so an exact number could be passed over. */
function holds(condition: StopCondition, { steps, called, usage, finishReason }: LoopProgress): boolean {
  switch (condition.type) {
    case 'step_count_is':
      return steps >= condition.step_count;
    case 'has_tool_call':
      return called.has(bareToolName(condition.tool_name));
    case 'max_tokens_used':
      return (usage?.total_tokens ?? 0) >= condition.max_tokens;
    case 'max_cost':
      return (usage?.cost ?? 0) >= condition.max_cost_in_dollars;
    case 'finish_reason_is':
      return finishReason === condition.reason;
  }
}

/** The name of a server tool without the prefix of its type, in either brand: what models and conditions call it. */
function bareToolName(name: string): string {
  return name.replace(/^(?:open)?router:/, '');
}

/** A name that providers accept for a function and that is not taken yet. */
export function functionNameFor(wanted: string, taken: ReadonlySet<string>): string {
  const base = bareToolName(wanted).replaceAll(/[^a-zA-Z0-9_-]/g, '_') || 'tool';
  const room = MAX_NAME_LENGTH - SUFFIX_ROOM;
  let name = base.slice(0, MAX_NAME_LENGTH);
  for (let number = 2; taken.has(name); number += 1) name = `${base.slice(0, room)}_${number}`;
  return name;
}

/** Characters that a number behind a name may take. */
const SUFFIX_ROOM = 5;
