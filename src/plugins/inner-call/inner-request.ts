import type { ChatRequest } from '../../protocol/chat-request.ts';
import type { AdvisorOptions } from '../../protocol/inner-model-options.ts';
import type { Message } from '../../protocol/message.ts';
import type { ServerTool } from '../../protocol/tools.ts';

/** How another model is to answer, as a request says it. */
export type InnerSampling = Pick<AdvisorOptions, 'max_completion_tokens' | 'reasoning' | 'temperature'>;

/** What another model is asked. */
export interface InnerQuestion {
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
