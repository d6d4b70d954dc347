/** Calls another model on behalf of a tool: the advisor and the subagent. */
import type { ToolContext, ToolFunction } from '../../../contracts/server-tool.ts';
import type { ChatResult } from '../../../protocol/chat-result.ts';
import type { AdvisorOptions } from '../../../protocol/inner-model-options.ts';
import type { Message } from '../../../protocol/message.ts';
import { type ModelRule, rankModels } from './rank-models.ts';
import { milliseconds, type OptionShape, nonEmptyString } from '../../../options/values.ts';
import { errorOf, RouterError } from '../../../protocol/router-error.ts';
import type { ChatRequest } from '../../../protocol/chat-request.ts';
import type { ServerTool } from '../../../protocol/tools.ts';

/** Options of `advisorTool` and `subagentTool`. */
export interface HelperToolOptions {
  /** Model for requests that name none. Default: picked from the router's catalog by price and benchmark scores. */
  readonly model?: string | undefined;
  /** Milliseconds that one call may take. Default 180,000. */
  readonly timeoutMs?: number | undefined;
}

/** Options of `advisorTool` and `subagentTool`. */
export const HELPER_TOOL_OPTIONS: OptionShape<HelperToolOptions> = { model: nonEmptyString, timeoutMs: milliseconds };

/** What advisors and subagents have in common. */
type HelperOptions = Omit<AdvisorOptions, 'forward_transcript' | 'stream'>;

/** The model that a request names, or the best one of the catalog by a rule; at last the calling model. */
export function helperModel(
  { model }: HelperOptions,
  rule: ModelRule,
  { catalog, request }: Pick<ToolContext, 'catalog' | 'request'>,
): string {
  return model ?? rankModels(catalog, request, rule)[0] ?? request.targets[0]?.model ?? request.requested;
}

/** Calls a helper. */
export function askHelper(
  question: Pick<InnerQuestion, 'model' | 'instructions' | 'messages'>,
  { tools, max_tool_calls: maxToolCalls, ...sampling }: HelperOptions,
  context: ToolContext,
): PromiseLike<ChatResult> {
  return context.call(innerRequest({ ...question, sampling, tools, maxToolCalls }));
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

/**
 * The text of another model's answer.
 *
 * @throws {@link RouterError} 502 when there is none.
 */
export function textOfAnswer({ choices, model }: ChatResult): string {
  const content = choices[0]?.message.content?.trim() ?? '';
  if (content !== '') return content;
  const reason = choices[0]?.finish_reason ?? 'none';
  throw errorOf(502, `${model} gave no text (finish reason: ${reason})`);
}

/** What may be shown of a failed call. Errors of ours are written for whoever asked; what others throw is not. */
export function reasonOfFailure(thrown: unknown): string {
  return RouterError.isInstance(thrown) ? thrown.message : 'The model could not be called';
}

/** The text of a message, without media. */
export function textOfMessage({ content }: Message): string {
  if (content == null) return '';
  if (typeof content === 'string') return content;
  return content.flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n');
}

/** How another model is to answer, as a request says it. */
type InnerSampling = Pick<AdvisorOptions, 'max_completion_tokens' | 'reasoning' | 'temperature'>;

/** The request to another model. */
interface InnerQuestion {
  readonly model: string;
  readonly instructions?: string | undefined;
  readonly messages: readonly Message[];
  readonly sampling?: InnerSampling | undefined;
  readonly tools?: readonly ServerTool[] | undefined;
  /** Calls of `tools` together. */
  readonly maxToolCalls?: number | undefined;
}

/** Puts a question to another model into the form of a request. */
export function innerRequest({
  model,
  instructions,
  messages,
  sampling,
  tools = [],
  maxToolCalls,
}: InnerQuestion): ChatRequest {
  const { max_completion_tokens: limit, reasoning, temperature } = sampling ?? {};
  return {
    model,
    messages: instructions === undefined ? messages : [{ role: 'system', content: instructions }, ...messages],
    ...(limit === undefined ? {} : { max_completion_tokens: limit }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(tools.length === 0 ? {} : { tools }),
    ...(tools.length === 0 || maxToolCalls === undefined ? {} : { max_tool_calls: maxToolCalls }),
  };
}
