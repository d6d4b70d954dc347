import type { JsonObject } from '../../../protocol/json.ts';
import type { Dialect, DialectContext, DialectError, WholeAnswer } from '../dialect.ts';
import { errorTypeOf, isLengthError, RESPONSES_ERRORS } from './errors.ts';
import { adoptResponse } from './native-request.ts';
import { OutputBuilder } from './output-builder.ts';
import { responseObject, stateOf } from './response-object.ts';
import { ResponsesStreamWriter } from './stream-writer.ts';
import { toChat } from './to-chat.ts';
import { customToolNames } from './tools.ts';
import * as read from '../../../platform/json.ts';

/** OpenAI's Responses, without anything stored (gaps 10). */
export const RESPONSES: Dialect = {
  ...RESPONSES_ERRORS,
  toChat,
  whole: wholeResponse,
  streamWriter: (context) => new ResponsesStreamWriter(context),
  absorb,
};

function wholeResponse({ result, native }: WholeAnswer, context: DialectContext): JsonObject {
  const { model, provider, usage, router_metadata: metadata, created } = result;
  if (native !== undefined) return adoptResponse(native, context, { model, provider, usage, metadata });
  const [choice] = result.choices;
  const builder = new OutputBuilder({
    generationId: context.generationId,
    customTools: customToolNames(context.body['tools']),
    emit: () => {},
  });
  if (choice !== undefined) builder.add(choice.message, choice.logprobs);
  const state = stateOf(choice?.finish_reason ?? null);
  const output = builder.close(state.status === 'completed' ? 'completed' : 'incomplete');
  const { service_tier: serviceTier } = result;
  return responseObject(context, { state, model, provider, created, output, usage, serviceTier, metadata });
}

/** A prompt or an answer that is too long is no failure here, but an answer that could not begin. */
function absorb(error: DialectError, context: DialectContext): JsonObject | undefined {
  if (!isLengthError(error)) return undefined;
  const { body, created } = context;
  return responseObject(context, {
    state: { status: 'incomplete', reason: 'max_output_tokens', errorType: errorTypeOf(error) },
    model: read.text(body['model']) ?? '',
    created,
    output: [],
    metadata: error.metadata,
  });
}
