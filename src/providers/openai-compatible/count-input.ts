/** Counts the tokens of a prompt by OpenAI's own operation. */
import { ToolIds } from '../tool-ids.ts';
import { FORTY_CHARACTERS } from './vendor-quirks.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { TokenCountCodec } from '../codec.ts';
import { inputItemsOf } from '../openai-responses/encode-items.ts';
import * as read from '../../platform/json.ts';

/** Members of a body of Responses that its tokens depend on: the API refuses those that say something of the answer. */
const COUNTED = ['input', 'instructions', 'tools', 'tool_choice', 'parallel_tool_calls', 'text', 'reasoning'] as const;

/**
 * `POST /responses/input_tokens`: how OpenAI counts a prompt. It takes the form of Responses only, so that a chat request
 * is written in it, as far as its tokens depend on that.
 */
export const INPUT_COUNT: TokenCountCodec = {
  path: () => '/responses/input_tokens',
  encode(request, { upstreamModel: model }) {
    const { native } = request;
    const body = native?.apiFormat === 'responses' ? native.body : bodyOf(request);
    const members = Object.entries(body).filter(([name]) => (COUNTED as readonly string[]).includes(name));
    return { model, ...Object.fromEntries(members) };
  },
  decode(body) {
    const inputTokens = read.count(body['input_tokens']);
    return inputTokens === undefined ? undefined : { inputTokens };
  },
};

function bodyOf({ messages, tools, responseFormat }: NormalizedRequest): Readonly<Record<string, unknown>> {
  const ids = new ToolIds(FORTY_CHARACTERS);
  return {
    input: messages.flatMap((message, index) => inputItemsOf(message, `messages[${index}]`, ids)),
    ...(tools.length === 0
      ? {}
      : { tools: tools.map(({ function: declared }) => ({ type: 'function', strict: false, ...declared })) }),
    ...(responseFormat?.type === 'json_schema'
      ? { text: { format: { type: 'json_schema', ...responseFormat.json_schema } } }
      : {}),
  };
}
