import { type UpstreamHandler, answerWith, chunkEvent, dataEvent, sendJson } from './upstream.ts';

/** Text of plain answers. */
export const STORY = 'Once upon a time a signalman kept the box at the junction.';

const USAGE = { prompt_tokens: 21, completion_tokens: 13, total_tokens: 34 };
const TOOL_CALL = {
  id: 'call_weather',
  type: 'function',
  function: { name: 'get_weather', arguments: '{"city":"Paris"}' },
};

/**
 * Plays a provider that calls `get_weather` when it may and was not answered yet, gives `{"name":"Ada","age":36}` when
 * JSON is asked for, and tells {@link STORY} otherwise. `slow` makes a stream that goes on for seconds.
 */
export const scriptedProvider: UpstreamHandler = (request, response, raw) => {
  const { body } = request;
  const messages = body['messages'] as readonly { role: string; content: unknown }[];
  const last = messages.at(-1);
  if (last?.content === 'slow') return endless(response, body['stream'] === true);
  if (Array.isArray(body['tools']) && last?.role !== 'tool') {
    return body['stream'] === true ? streamToolCall(response) : sendToolCall(response);
  }
  if (body['response_format'] !== undefined)
    return answerWith('{"name":"Ada","age":36}', USAGE)(request, response, raw);
  return answerWith(STORY, USAGE)(request, response, raw);
};

function sendToolCall(response: Parameters<UpstreamHandler>[1]): void {
  sendJson(response, 200, {
    id: 'chatcmpl-tool',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'upstream-model',
    choices: [
      { index: 0, message: { role: 'assistant', content: null, tool_calls: [TOOL_CALL] }, finish_reason: 'tool_calls' },
    ],
    usage: USAGE,
  });
}

function streamToolCall(response: Parameters<UpstreamHandler>[1]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const { id, type } = TOOL_CALL;
  response.write(chunkEvent({ role: 'assistant', content: null }));
  response.write(
    chunkEvent({ tool_calls: [{ index: 0, id, type, function: { name: 'get_weather', arguments: '' } }] }),
  );
  for (const piece of ['{"ci', 'ty":"Pa', 'ris"}']) {
    response.write(chunkEvent({ tool_calls: [{ index: 0, function: { arguments: piece } }] }));
  }
  response.write(chunkEvent({}, 'tool_calls'));
  response.write(
    dataEvent({
      id: 'chatcmpl-tool',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [],
      usage: USAGE,
    }),
  );
  response.end('data: [DONE]\n\n');
}

/** A stream that never ends by itself; a whole answer that never comes. */
function endless(response: Parameters<UpstreamHandler>[1], stream: boolean): void {
  if (!stream) return;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const timer = setInterval(() => response.write(chunkEvent({ content: 'tick ' })), 10);
  response.on('close', () => clearInterval(timer));
}
