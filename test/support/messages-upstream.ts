import { type UpstreamHandler, sendJson } from './upstream.ts';

/** What {@link messagesProvider} says, block by block. No chat completion could hold all of it. */
export const NATIVE_BLOCKS = [
  { type: 'thinking', thinking: 'Which box?', signature: 'EqQBCgIYAhIM+/=' },
  { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'signal box' } },
  {
    type: 'web_search_tool_result',
    tool_use_id: 'srvtoolu_1',
    content: [{ type: 'web_search_result', url: 'https://example.com', title: 'Boxes', encrypted_content: 'RW5j' }],
  },
  { type: 'redacted_thinking', data: 'EmwKAhgBEgy=' },
  { type: 'text', text: 'The one at the junction.' },
  { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'York' } },
] as const;

const USAGE = {
  input_tokens: 10,
  cache_creation_input_tokens: 30,
  cache_read_input_tokens: 60,
  cache_creation: { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 0 },
  output_tokens: 20,
  service_tier: 'standard',
};

const HEAD = { id: 'msg_native', type: 'message', role: 'assistant', model: 'one-20260101' };

/** Plays a provider that speaks Messages itself. `slow` makes a stream that goes on for seconds. */
export const messagesProvider: UpstreamHandler = ({ body }, response) => {
  const last = (body['messages'] as readonly { content: unknown }[]).at(-1);
  if (body['stream'] !== true) {
    sendJson(response, 200, {
      ...HEAD,
      content: NATIVE_BLOCKS,
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: USAGE,
    });
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(event({ type: 'message_start', message: { ...HEAD, content: [], stop_reason: null, usage: USAGE } }));
  response.write(event({ type: 'ping' }));
  if (last?.content === 'slow') {
    response.write(start(0, { type: 'text', text: '' }));
    const tick = (): boolean => response.write(delta(0, { type: 'text_delta', text: 'tick ' }));
    const timer = setInterval(tick, 10);
    response.on('close', () => clearInterval(timer));
    return;
  }
  for (const [index, block] of NATIVE_BLOCKS.entries()) {
    response.write(eventsOf(index, block) + event({ type: 'content_block_stop', index }));
  }
  response.write(
    event({ type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: USAGE }),
  );
  response.end(event({ type: 'message_stop' }));
};

function event(data: { readonly type: string; readonly [member: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}

function start(index: number, block: object): string {
  return event({ type: 'content_block_start', index, content_block: block });
}

function delta(index: number, said: object): string {
  return event({ type: 'content_block_delta', index, delta: said });
}

function eventsOf(index: number, block: (typeof NATIVE_BLOCKS)[number]): string {
  switch (block.type) {
    case 'text':
      return (
        start(index, { ...block, text: '' }) +
        block.text
          .split(/(?<= )/)
          .map((text) => delta(index, { type: 'text_delta', text }))
          .join('')
      );
    case 'thinking':
      return (
        start(index, { ...block, thinking: '', signature: '' }) +
        delta(index, { type: 'thinking_delta', thinking: block.thinking }) +
        delta(index, { type: 'signature_delta', signature: block.signature })
      );
    case 'tool_use':
    case 'server_tool_use':
      return (
        start(index, { ...block, input: {} }) +
        delta(index, { type: 'input_json_delta', partial_json: JSON.stringify(block.input) })
      );
    default:
      return start(index, block);
  }
}
