import type { ToolContext, ToolFunction } from '../../core/pipeline/server-tool.ts';
import type { ChatResult } from '../../protocol/chat-result.ts';
import type { AdvisorOptions } from '../../protocol/inner-model-options.ts';
import type { Message } from '../../protocol/message.ts';
import { innerRequest } from './inner-request.ts';
import { type ModelRule, rankModels } from './rank-models.ts';
import { type OptionShape, milliseconds, text } from '../../core/options/option-kinds.ts';

/** Options of `advisorTool` and `subagentTool`. */
export interface HelperToolOptions {
  /** Model for requests that name none. Default: picked from the router's catalog by price and benchmark scores. */
  readonly model?: string | undefined;
  /** Milliseconds that one call may take. Default 180,000. */
  readonly timeoutMs?: number | undefined;
}

/** Options of `advisorTool` and `subagentTool`. */
export const HELPER_TOOL_OPTIONS: OptionShape<HelperToolOptions> = { model: text, timeoutMs: milliseconds };

/** What advisors and subagents have in common. */
type HelperOptions = Omit<AdvisorOptions, 'forward_transcript' | 'stream'>;

/** The model that a request names, or the best one of the catalog by a rule; at last the one that asks. */
export function helperModel(
  { model }: HelperOptions,
  rule: ModelRule,
  { catalog, request }: Pick<ToolContext, 'catalog' | 'request'>,
): string {
  return model ?? rankModels(catalog, request, rule)[0] ?? request.targets[0]?.model ?? request.requested;
}

/** Asks a helper. */
export function askHelper(
  model: string,
  instructions: string,
  messages: readonly Message[],
  { tools, max_tool_calls: maxToolCalls, ...sampling }: HelperOptions,
  context: ToolContext,
): PromiseLike<ChatResult> {
  return context.call(innerRequest({ model, instructions, messages, sampling, tools, maxToolCalls }));
}

/** Name of one of several helpers of a kind. */
export function helperName(kind: string, { name }: HelperOptions): string | undefined {
  return name === undefined ? undefined : `${kind} ${name}`;
}

/** A function whose arguments are texts that must all be there. */
export function textFunction(description: string, texts: Readonly<Record<string, string>>): ToolFunction {
  const properties = Object.fromEntries(
    Object.entries(texts).map(([name, meaning]) => [name, { type: 'string', description: meaning }]),
  );
  return {
    description,
    parameters: { type: 'object', properties, required: Object.keys(texts), additionalProperties: false },
  };
}
