/** Reads what a simulated model needs of a conversation. */
import type { ContentPart } from '../../protocol/content-part.ts';
import type { Message } from '../../protocol/message.ts';
import { topicsOf } from './prose.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ParameterName } from '../../catalog/model.ts';
import type { NormalizedRequest, ReasoningRequest } from '../../contracts/request.ts';
import type { ReasoningEffort } from '../../protocol/reasoning.ts';
import type { ToolChoice } from '../../protocol/tools.ts';
import { nearestEffort, reasoningOnly } from '../accepted-effort.ts';
import type { ToolResults, Prompt, ReasoningAssignment, Assignment } from './prompt-types.ts';

const NOUNS: readonly (readonly [type: string, one: string, many: string])[] = [
  ['image_url', 'image', 'images'],
  ['file', 'file', 'files'],
  ['input_audio', 'audio clip', 'audio clips'],
  ['video_url', 'video', 'videos'],
];

/** Reads a conversation. */
export function readPrompt(messages: readonly Message[]): Prompt {
  const requested = messages.findLast((message) => message.role === 'user');
  const question = textOf(requested);
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

/** Sentences of reasoning by effort. */
const SENTENCES: Readonly<Record<ReasoningEffort, number>> = {
  none: 0,
  minimal: 1,
  low: 2,
  medium: 4,
  high: 8,
  xhigh: 12,
  max: 16,
};
/** About how many tokens a sentence has. */
const TOKENS_PER_SENTENCE = 16;

/** What `json_object` requires: an object about the question, whose members are ours to choose. */
const ANY_OBJECT = {
  type: 'object',
  properties: {
    simulated: { const: true },
    topic: { type: 'string' },
    summary: { type: 'string', minLength: 20 },
    keywords: { type: 'array', items: { type: 'string' }, minItems: 2, maxItems: 4, uniqueItems: true },
    confidence: { type: 'number', minimum: 0, maximum: 1 },
  },
  required: ['simulated', 'topic', 'summary', 'keywords', 'confidence'],
} as const;

/** Reads what an endpoint has to do for a request. */
export function readAssignment(request: NormalizedRequest, endpoint: Endpoint): Assignment {
  const takes = (name: ParameterName): boolean => endpoint.parameters?.has(name) !== false;
  const { parameters, toolChoice } = request;
  const maxTokens =
    takes('max_completion_tokens') || takes('max_tokens') ? parameters.max_completion_tokens : undefined;
  return {
    tools: takes('tools') && toolChoice !== 'none' ? request.tools : [],
    toolChoice: takes('tool_choice') ? readChoice(toolChoice) : 'auto',
    parallelToolCalls: !takes('parallel_tool_calls') || parameters.parallel_tool_calls !== false,
    schema: readSchema(request, takes),
    maxTokens: Math.min(maxTokens ?? Infinity, endpoint.maxOutputTokens ?? Infinity),
    stop: takes('stop') ? (parameters.stop ?? []).filter((sequence) => sequence !== '') : [],
    verbosity: takes('verbosity') ? parameters.verbosity : undefined,
    reasoning: takes('reasoning') || takes('reasoning_effort') ? readReasoning(request.reasoning, endpoint) : undefined,
  };
}

/** A server tool that is forced by its type stands among the functions under the last part of that name. */
function readChoice(choice: ToolChoice | undefined): Assignment['toolChoice'] {
  if (choice === undefined || choice === 'none') return 'auto';
  if (typeof choice === 'string') return choice;
  return { name: 'function' in choice ? choice.function.name : choice.type.replace(/^.*:/, '') };
}

function readSchema(
  { responseFormat: format }: NormalizedRequest,
  takes: (name: ParameterName) => boolean,
): Assignment['schema'] {
  if (format?.type === 'json_schema' && takes('structured_outputs')) return format.json_schema.schema ?? ANY_OBJECT;
  const wantsJson = format?.type === 'json_schema' || format?.type === 'json_object';
  return wantsJson && takes('response_format') ? ANY_OBJECT : undefined;
}

function readReasoning(request: ReasoningRequest | undefined, endpoint: Endpoint): ReasoningAssignment | undefined {
  const { efforts, mandatory = false } = endpoint.reasoning ?? {};
  const hidden = request?.exclude === true;
  if (request?.effort === undefined && request?.maxTokens !== undefined) {
    const most = SENTENCES.max;
    const sentences = Math.min(most, Math.max(1, Math.floor(request.maxTokens / TOKENS_PER_SENTENCE)));
    return { sentences, maxTokens: request.maxTokens, hidden };
  }
  const wanted = request?.effort ?? (mandatory ? 'medium' : 'none');
  const sentences = SENTENCES[nearestEffort(wanted, mandatory ? reasoningOnly(efforts) : efforts)];
  return sentences === 0 ? undefined : { sentences, maxTokens: Infinity, hidden };
}
