import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { TokenCounter } from './count-message.ts';

/** Endpoints with a context of at most so many tokens get shortened prompts without being asked for (gaps 5.8). */
export const SMALL_CONTEXT = 8_192;

/** Tokens that a model needs to begin an answer with, when the request sets no limit. */
const LEAST_OUTPUT = 256;
/** What is kept free for the answer of a request without a limit once a prompt is shortened anyway. */
const USUAL_OUTPUT = 4_096;

/** How many tokens of messages an endpoint takes; all Infinity for one of which nobody knows its context. */
export interface PromptRoom {
  /** A prompt of up to this length is left alone. */
  readonly whole: number;
  /** A longer one is shortened to this. */
  readonly shortened: number;
}

/** Works out the room for messages: the context without the requested output and without what stands beside them. */
export function promptRoom(endpoint: Endpoint, request: NormalizedRequest, beside: number): PromptRoom {
  const { contextLength = Infinity, maxPromptTokens = Infinity, maxOutputTokens = Infinity } = endpoint;
  const asked = request.needs.outputTokens;
  const least = Math.min(LEAST_OUTPUT, contextLength / 8);
  const usual = Math.min(USUAL_OUTPUT, maxOutputTokens, contextLength / 4);
  const room = (output: number): number => Math.floor(Math.min(contextLength - output, maxPromptTokens) - beside);
  return { whole: room(asked ?? least), shortened: room(asked ?? Math.max(least, usual)) };
}

/** Tokens of everything in a prompt that is no message: the functions, the schema of the answer, the beginning of it. */
export function tokensBesideMessages({ tools, responseFormat }: NormalizedRequest, count: TokenCounter): number {
  const functions = tools.reduce((sum, tool) => sum + 12 + count(JSON.stringify(tool.function)), 0);
  const schema = responseFormat?.type === 'json_schema' ? count(JSON.stringify(responseFormat.json_schema)) : 0;
  return 3 + functions + schema;
}

/** True for an endpoint whose prompts are shortened without being asked for. */
export function isSmall({ contextLength }: Endpoint): boolean {
  return contextLength !== undefined && contextLength <= SMALL_CONTEXT;
}

/** True for an endpoint that only draws: what it is told is no conversation. */
export function onlyDraws({ outputModalities }: Endpoint): boolean {
  return outputModalities !== undefined && outputModalities.has('image') && !outputModalities.has('text');
}
