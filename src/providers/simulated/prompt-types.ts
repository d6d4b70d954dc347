/** What simulated models read of a conversation, as types. */
import type { FunctionTool } from '../../protocol/tools.ts';

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

/** How much is thought before the answer. */
export interface ReasoningAssignment {
  readonly sentences: number;
  readonly maxTokens: number;
  /** True: thought, counted and not shown. */
  readonly hidden: boolean;
}

/** What an endpoint has to do for a request. What it does not take is left out, as a real provider would not see it. */
export interface Assignment {
  readonly tools: readonly FunctionTool[];
  readonly toolChoice: 'auto' | 'required' | { readonly name: string };
  readonly parallelToolCalls: boolean;
  /** Schema of a JSON answer; undefined for prose. */
  readonly schema?: Readonly<Record<string, unknown>> | undefined;
  /** Infinity where nobody set a limit. */
  readonly maxTokens: number;
  readonly stop: readonly string[];
  readonly verbosity?: string | undefined;
  readonly reasoning?: ReasoningAssignment | undefined;
}
