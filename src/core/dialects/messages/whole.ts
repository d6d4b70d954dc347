import type { ChatResult } from '../../../protocol/chat-result.ts';
import { isJsonObject, type JsonObject } from '../../../protocol/json.ts';
import type { MessagesResult, StopDetails } from '../../../protocol/messages/messages-result.ts';
import type { DialectContext, WholeAnswer } from '../dialect.ts';
import { type BlockOptions, resultBlocks } from './result-blocks.ts';
import { stopReason } from './stop-reason.ts';
import { originalNames } from './tool-names.ts';
import { costOf, messagesUsage } from './usage.ts';

/** Writes a whole answer as a Message. One that came in this shape only gets what the router knows. */
export function wholeMessage({ result, native }: WholeAnswer, { body }: DialectContext): JsonObject {
  const message = native === undefined ? translated(result, blockOptions(body)) : completed(native, result);
  return message as unknown as JsonObject;
}

/** How the blocks of the answer to a request are written. */
export function blockOptions(body: JsonObject): BlockOptions {
  const { thinking, tools } = body;
  return {
    toolName: originalNames(tools),
    omitThinking: isJsonObject(thinking) && thinking['display'] === 'omitted',
  };
}

function translated(result: ChatResult, options: BlockOptions): MessagesResult {
  const [choice] = result.choices;
  const refusal = choice?.message.refusal ?? null;
  const reason = stopReason(choice?.finish_reason ?? null, choice?.native_finish_reason ?? null, refusal !== null);
  return {
    id: result.id,
    type: 'message',
    role: 'assistant',
    model: result.model,
    content: choice === undefined ? [] : resultBlocks(choice.message, options),
    stop_reason: reason,
    stop_sequence: null,
    stop_details: reason === 'refusal' ? stopDetails(refusal) : null,
    container: null,
    usage: messagesUsage(result.usage, result.service_tier),
    ...routersOwn(result),
  };
}

/** What is told about a refusal. */
export function stopDetails(explanation: string | null): StopDetails {
  return { type: 'refusal', category: null, explanation };
}

/** The provider's own answer, with the model's name in this router, the cost and the metadata. */
function completed(native: JsonObject, result: ChatResult): object {
  const usage = isJsonObject(native['usage']) ? native['usage'] : {};
  return { ...native, model: result.model, usage: { ...usage, ...costOf(result.usage) }, ...routersOwn(result) };
}

function routersOwn({
  provider,
  router_metadata: metadata,
}: ChatResult): Pick<MessagesResult, 'provider' | 'router_metadata'> {
  return {
    ...(provider === undefined ? {} : { provider }),
    ...(metadata === undefined ? {} : { router_metadata: metadata }),
  };
}
