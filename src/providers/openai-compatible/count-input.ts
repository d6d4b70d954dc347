import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { ContentPart } from '../../protocol/content-part.ts';
import type { Message } from '../../protocol/message.ts';
import { EncodeError, type TokenCountCodec } from '../codec.ts';
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
    const body = native?.dialect === 'responses' ? native.body : bodyOf(request);
    const members = Object.entries(body).filter(([name]) => (COUNTED as readonly string[]).includes(name));
    return { model, ...Object.fromEntries(members) };
  },
  decode(body) {
    const inputTokens = read.count(body['input_tokens']);
    return inputTokens === undefined ? undefined : { inputTokens };
  },
};

function bodyOf({ messages, tools, responseFormat }: NormalizedRequest): Readonly<Record<string, unknown>> {
  return {
    input: messages.flatMap((message, index) => itemsOf(message, `messages[${index}]`)),
    ...(tools.length === 0
      ? {}
      : { tools: tools.map(({ function: declared }) => ({ type: 'function', strict: false, ...declared })) }),
    ...(responseFormat?.type === 'json_schema'
      ? { text: { format: { type: 'json_schema', ...responseFormat.json_schema } } }
      : {}),
  };
}

/** A message as items: calls and their results are items of their own. */
function itemsOf(message: Message, path: string): readonly object[] {
  const { role, content } = message;
  if (role === 'tool') {
    const output = typeof content === 'string' ? content : partsOf(content, 'input_text', path);
    return [{ type: 'function_call_output', call_id: message.tool_call_id, output }];
  }
  const calls = role === 'assistant' ? (message.tool_calls ?? []) : [];
  const said =
    content == null || content.length === 0
      ? []
      : [{ role, content: partsOf(content, role === 'assistant' ? 'output_text' : 'input_text', path) }];
  return [
    ...said,
    ...calls.map(({ id, function: called }) => ({
      type: 'function_call',
      call_id: id,
      name: called.name,
      arguments: called.arguments,
    })),
  ];
}

function partsOf(content: Message['content'], type: 'input_text' | 'output_text', path: string): readonly object[] {
  if (typeof content === 'string') return [{ type, text: content }];
  return (content ?? []).map((part, index) => partOf(part, type, `${path}.content[${index}]`));
}

function partOf(
  part: ContentPart | { readonly type: 'refusal'; readonly refusal: string },
  type: string,
  path: string,
) {
  switch (part.type) {
    case 'text':
      return { type, text: part.text };
    case 'refusal':
      return part;
    case 'image_url': {
      const { url, detail } = part.image_url;
      return { type: 'input_image', image_url: url, ...(detail == null ? {} : { detail }) };
    }
    case 'file': {
      const { file_data: data, file_id: id, filename } = part.file;
      if (id != null) return { type: 'input_file', file_id: id };
      const isAddress = data != null && !data.startsWith('data:');
      return isAddress
        ? { type: 'input_file', file_url: data }
        : { type: 'input_file', file_data: data, filename: filename ?? 'file' };
    }
    default:
      throw new EncodeError(`${path} is ${part.type}, which cannot be counted`);
  }
}
