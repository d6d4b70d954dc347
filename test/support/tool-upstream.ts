import { type UpstreamHandler, chunkEvent, dataEvent, sendJson } from './upstream.ts';

/** A message as a provider gets it. */
export interface SentMessage {
  readonly role: string;
  readonly content: unknown;
}

/** What a scripted model does with one request: a text, or a call after a few words. */
export type ToolScript = (
  messages: readonly SentMessage[],
  model: unknown,
) => string | { readonly call: string; readonly args: object };

const USAGE = { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 };

/** A provider of chat completions whose models call tools, whole or streamed as asked. */
export function toolUpstream(script: ToolScript): UpstreamHandler {
  return ({ body }, response) => {
    const said = script(body['messages'] as readonly SentMessage[], body['model']);
    const text = typeof said === 'string' ? said : 'One moment.';
    const calls =
      typeof said === 'string'
        ? undefined
        : [
            {
              id: `call_${said.call}`,
              type: 'function',
              function: { name: said.call, arguments: JSON.stringify(said.args) },
            },
          ];
    const finish = calls === undefined ? 'stop' : 'tool_calls';
    const head = { id: 'c', created: 1, model: 'm' };
    if (body['stream'] !== true) {
      const message = { role: 'assistant', content: text, ...(calls === undefined ? {} : { tool_calls: calls }) };
      const choices = [{ index: 0, message, finish_reason: finish }];
      sendJson(response, 200, { ...head, object: 'chat.completion', choices, usage: USAGE });
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const word of text.split(/(?<= )/)) response.write(chunkEvent({ content: word }));
    if (calls !== undefined)
      response.write(chunkEvent({ tool_calls: calls.map((call, index) => ({ index, ...call })) }));
    response.write(chunkEvent({}, finish));
    response.write(dataEvent({ ...head, object: 'chat.completion.chunk', choices: [], usage: USAGE }));
    response.end('data: [DONE]\n\n');
  };
}

/** Texts of the results that a model was told. */
export function toldBy(messages: readonly SentMessage[]): readonly string[] {
  return messages.flatMap(({ role, content }) => (role === 'tool' ? String(content) : []));
}
