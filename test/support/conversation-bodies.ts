import type { ChatRequest } from 'signalbox';

type Messages = ChatRequest['messages'];
type Part = Readonly<Record<string, unknown>>;
type Content = string | readonly Part[] | null | undefined;

/** A body of each API format that says a conversation, which is given in chat's. Each has one tool. */
export const BODIES: Readonly<Record<string, (messages: Messages) => object>> = {
  '/chat/completions': (messages) => ({
    messages,
    tools: [{ type: 'function', function: { name: 'look', parameters: SCHEMA } }],
  }),
  '/messages': (messages) => ({
    max_tokens: 100,
    system: instructions(messages),
    messages: messages.slice(leading(messages)).map(turnOf),
    tools: [{ name: 'look', input_schema: SCHEMA }],
  }),
  '/responses': (messages) => ({
    input: messages.flatMap(itemsOf),
    tools: [{ type: 'function', name: 'look', parameters: SCHEMA }],
  }),
};

const SCHEMA = { type: 'object', properties: { at: { type: 'string' } } };

function leading(messages: Messages): number {
  const first = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  return first < 0 ? messages.length : first;
}

function instructions(messages: Messages): readonly object[] {
  return messages.slice(0, leading(messages)).flatMap(({ content }) => blocksOf(content as Content));
}

function blocksOf(content: Content): readonly object[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return (content ?? []).map((part) => {
    if (part['type'] === 'image_url') return { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } };
    if (part['type'] !== 'file') return part;
    const { filename, file_data: data = '' } = part['file'] as Readonly<Record<string, string>>;
    return {
      type: 'document',
      ...(filename === undefined ? {} : { title: filename }),
      source: data.startsWith('data:')
        ? { type: 'base64', media_type: 'application/pdf', data: data.slice(data.indexOf(',') + 1) }
        : { type: 'url', url: data },
    };
  });
}

function turnOf(message: Messages[number]): object {
  const { role, content } = message;
  if (role === 'tool') {
    const result = { type: 'tool_result', tool_use_id: message.tool_call_id, content: blocksOf(content as Content) };
    return { role: 'user', content: [result] };
  }
  if (role !== 'assistant') {
    return { role: role === 'developer' ? 'system' : role, content: blocksOf(content as Content) };
  }
  const calls = (message.tool_calls ?? []).map(({ id, function: { name } }) => ({
    type: 'tool_use',
    id,
    name,
    input: {},
  }));
  return { role, content: [...blocksOf(content as Content), ...calls] };
}

function itemsOf(message: Messages[number]): readonly object[] {
  const { role, content } = message;
  if (role === 'tool') {
    return [{ type: 'function_call_output', call_id: message.tool_call_id, output: inputOf(content as Content) }];
  }
  const calls = role === 'assistant' ? (message.tool_calls ?? []) : [];
  const said = content == null || content.length === 0 ? [] : [{ role, content: saidBy(role, content as Content) }];
  return [
    ...said,
    ...calls.map(({ id, function: { name, arguments: text } }) => ({
      type: 'function_call',
      call_id: id,
      name,
      arguments: text,
    })),
  ];
}

function saidBy(role: string, content: Content): unknown {
  if (role !== 'assistant' || typeof content === 'string') return inputOf(content);
  return (content ?? []).map((part) => ({ ...part, type: 'output_text', annotations: [] }));
}

function inputOf(content: Content): unknown {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => {
    if (part['type'] === 'image_url') return { type: 'input_image', image_url: 'https://x.test/a.png' };
    if (part['type'] === 'file') {
      const { file_data: data = '', filename } = part['file'] as Readonly<Record<string, string>>;
      const named = filename === undefined ? {} : { filename };
      return { type: 'input_file', ...named, ...(data.startsWith('data:') ? { file_data: data } : { file_url: data }) };
    }
    return { ...part, type: 'input_text' };
  });
}
