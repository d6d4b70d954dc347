import { answerWith, failWith, type UpstreamHandler } from './upstream.ts';

/** A message of the chat completions API, as a server reads it. */
export interface SentMessage {
  readonly role: string;
  readonly content?: string | readonly Readonly<Record<string, unknown>>[] | null;
  readonly tool_calls?: readonly { readonly id: string }[];
  readonly tool_call_id?: string;
  readonly reasoning_content?: string;
  readonly prefix?: boolean;
}

/** What a server says of messages that it does not take; undefined for those that it takes. */
export type Rule = (messages: readonly SentMessage[], body: Readonly<Record<string, unknown>>) => string | undefined;

/** Plays a server that refuses what a rule names, with 400 and its words, and answers the rest. */
export function refusing(...rules: readonly Rule[]): UpstreamHandler {
  return (request, response, raw) => {
    const messages = request.body['messages'] as readonly SentMessage[];
    const problem = rules.map((rule) => rule(messages, request.body)).find((one) => one !== undefined);
    if (problem === undefined) return answerWith('Understood')(request, response, raw);
    return failWith(400, { error: { message: problem, type: 'invalid_request_error', param: null, code: null } })(
      request,
      response,
      raw,
    );
  };
}

const partsOf = ({ content }: SentMessage): readonly Readonly<Record<string, unknown>>[] =>
  typeof content === 'string' || content == null ? [] : content;

/** OpenAI (platform.openai.com/docs/api-reference/chat; OpenHands#7700). */
export const mediaOfUsersOnly: Rule = (messages) => {
  const index = messages.findIndex(
    (message) => message.role !== 'user' && partsOf(message).some(({ type }) => type !== 'text' && type !== 'refusal'),
  );
  return index < 0
    ? undefined
    : `Invalid 'messages[${index}]'. Image URLs are only allowed for messages with role 'user', but this message with role '${messages[index]?.role}' contains an image URL.`;
};

/** OpenAI (platform.openai.com/docs/guides/function-calling; vscode#299295). */
export const everyCallHasItsResult: Rule = (messages) => {
  let open: string[] = [];
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (!open.includes(message.tool_call_id ?? '')) {
        return `Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls' (messages[${index}]).`;
      }
      open = open.filter((id) => id !== message.tool_call_id);
    } else if (open.length > 0) break;
    else open = (message.tool_calls ?? []).map(({ id }) => id);
  }
  return open.length === 0
    ? undefined
    : `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(', ')}`;
};

/** OpenAI (openai-agents-python#1513). */
export const filesWithNames: Rule = (messages) => {
  for (const [index, message] of messages.entries()) {
    for (const [place, { type, file }] of partsOf(message).entries()) {
      const { filename, file_data: data, file_id: id } = (file ?? {}) as Readonly<Record<string, string>>;
      const path = `messages[${index}].content[${place}].file`;
      if (type !== 'file' || id !== undefined) continue;
      if (filename === undefined) return `Missing required parameter: '${path}.file_id'.`;
      if (data?.startsWith('data:') !== true) return `Invalid '${path}.file_data': expected a base64-encoded data URL.`;
    }
  }
  return undefined;
};

/** Mistral (mistral-common's validator; avante.nvim#2695, hermes-agent#20154). */
export const orderOfMistral: Rule = (messages) => {
  const next: Readonly<Record<string, readonly string[]>> = {
    system: ['system', 'user', 'assistant'],
    user: ['assistant', 'system', 'user'],
    assistant: ['assistant', 'user', 'tool'],
    tool: ['assistant', 'tool'],
  };
  for (const [index, { role, tool_call_id: id }] of messages.entries()) {
    const before = messages[index - 1]?.role;
    if (before !== undefined && next[before]?.includes(role) !== true)
      return `Unexpected role '${role}' after role '${before}'`;
    if (role === 'tool' && !/^[a-zA-Z0-9]{9}$/.test(id ?? '')) {
      return `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`;
    }
  }
  const last = messages.at(-1);
  return last?.role === 'assistant' && last.prefix !== true
    ? 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant'
    : undefined;
};

/** Templates of Mistral's models on vLLM, llama.cpp, LM Studio (crush#279). */
export const alternatingTurns: Rule = (messages) => {
  const turns = messages.filter(
    ({ role, tool_calls: calls }) => role !== 'tool' && role !== 'system' && !calls?.length,
  );
  return turns.some(({ role }, index) => (role === 'user') !== (index % 2 === 0))
    ? 'After the optional system message, conversation roles must alternate user/assistant/user/assistant/...'
    : undefined;
};

/** Templates of Qwen on vLLM, SGLang, llama.cpp, LM Studio (vllm#41114, llama.cpp#20733). */
export const systemFirstAndOnce: Rule = (messages) =>
  messages.some(({ role }, index) => role === 'developer' || (role === 'system' && index > 0))
    ? 'System message must be at the beginning.'
    : undefined;

/** DeepSeek, and templates that put texts together (openclaude#774, litellm#6642). */
export const stringsOnly: Rule = (messages) => {
  const index = messages.findIndex((message) => {
    const parts = partsOf(message);
    return Array.isArray(message.content) && (message.role !== 'user' || parts.every(({ type }) => type === 'text'));
  });
  return index < 0
    ? undefined
    : `Failed to deserialize the JSON body into the target type: messages[${index}]: invalid type: sequence, expected a string`;
};

/** DeepSeek while it thinks (hermes-agent#14973, litellm#28057). */
export const reasoningComesBack: Rule = (messages, body) => {
  const { type } = (body['thinking'] ?? { type: 'enabled' }) as { readonly type: string };
  const lacks = messages.some(({ tool_calls: calls, reasoning_content: text }) => calls?.length && !text?.trim());
  return type === 'enabled' && lacks
    ? 'The `reasoning_content` in the thinking mode must be passed back to the API.'
    : undefined;
};

interface Content {
  readonly role: string;
  readonly parts: readonly Readonly<Record<string, unknown>>[];
}

/** Plays Gemini, which wants as many results as calls, and a user before a call (gemini-cli#3814). */
export const geminiTurns: UpstreamHandler = ({ body }, response) => {
  const contents = body['contents'] as readonly Content[];
  const countOf = (index: number, name: string): number =>
    (contents[index]?.parts ?? []).filter((part) => name in part).length;
  for (const index of contents.keys()) {
    const calls = countOf(index, 'functionCall');
    if (calls > 0 && calls !== countOf(index + 1, 'functionResponse')) {
      return refuse(
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      );
    }
    if (calls > 0 && contents[index - 1]?.role !== 'user') {
      return refuse(
        'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
      );
    }
    if (countOf(index, 'functionResponse') > 0 && countOf(index - 1, 'functionCall') === 0) {
      return refuse('Please ensure that function response turn comes immediately after a function call turn.');
    }
  }
  const answer = {
    candidates: [{ content: { role: 'model', parts: [{ text: 'Understood' }] }, finishReason: 'STOP' }],
  };
  const isStream = response.req.url?.includes('alt=sse') === true;
  response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
  response.end(isStream ? `data: ${JSON.stringify(answer)}\n\n` : JSON.stringify(answer));

  function refuse(message: string): void {
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }));
  }
};

type Item = Readonly<Record<string, unknown>>;

/** Plays OpenAI's Responses (platform.openai.com/docs/guides/function-calling; openai-agents-python#1513). */
export const responsesItems: UpstreamHandler = ({ body }, response) => {
  const items = body['input'] as readonly Item[];
  const outputs = items.flatMap(({ type, call_id: id }) => (String(type).endsWith('_call_output') ? [id] : []));
  const open = items.find(({ type, call_id: id }) => type === 'function_call' && !outputs.includes(id));
  const parts = items.flatMap(({ content }) => (Array.isArray(content) ? (content as Item[]) : []));
  const unnamed = parts.some(({ type, file_data: data, filename }) => type === 'input_file' && data && !filename);
  const problem =
    open !== undefined
      ? `No tool output found for function call ${String(open['call_id'])}.`
      : outputs.length > new Set(outputs).size
        ? 'Duplicate tool output found.'
        : unnamed
          ? "Missing required parameter: 'input[0].content[1].filename'."
          : undefined;
  if (problem !== undefined) {
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({ error: { message: problem, type: 'invalid_request_error', param: 'input', code: null } }),
    );
    return;
  }
  const content = [{ type: 'output_text', text: 'Understood', annotations: [] }];
  const output = [{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content }];
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const whole = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', status: 'completed', output, usage };
  response.writeHead(200, { 'content-type': body['stream'] === true ? 'text/event-stream' : 'application/json' });
  const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
  response.end(
    body['stream'] === true
      ? event({ type: 'response.output_text.delta', output_index: 0, delta: 'Understood' }) +
          event({ type: 'response.completed', response: whole })
      : JSON.stringify(whole),
  );
};
