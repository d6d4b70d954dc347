import { type AskedFor, type FaultWire, event, memberOf } from './wire.ts';

const USAGE = { prompt_tokens: 10, completion_tokens: 9, total_tokens: 19 };
const ID = 'chatcmpl-fault-upstream';
const CREATED = 1_700_000_000;

/** The chat completions wire. */
export const CHAT_WIRE: FaultWire = {
  streams: (request) => memberOf(request, 'stream') === true,
  modelOf(request) {
    const model = memberOf(request, 'model');
    return typeof model === 'string' ? model : undefined;
  },
  completion: (asked) => completion(asked, { role: 'assistant', content: asked.text }),
  opening: (asked) => [chunkEvent(asked, { role: 'assistant', content: '' })],
  chunk: (asked, text) => chunkEvent(asked, { content: text }),
  ending: (asked) => [chunkEvent(asked, {}, 'stop'), event({ ...chunk(asked), choices: [], usage: USAGE }), DONE_EVENT],
  failedCompletion: (asked) => completion(asked, { role: 'assistant', content: '' }, 'error'),
  failedEnding: (asked) => chunkEvent(asked, {}, 'error') + DONE_EVENT,
  emptyCompletion: (asked) => ({ ...completion(asked, {}), choices: [] }),
  errorBody: (error) => ({ error }),
  errorEvents: (error, status) => event({ error: { code: status, ...error } }) + DONE_EVENT,
  holding: (asked, value) => ({
    completion: completion(asked, { role: 'assistant', content: asked.text, reasoning_details: value }),
    event: chunkEvent(asked, { reasoning_details: value }),
  }),
};

const DONE_EVENT = 'data: [DONE]\n\n';

function completion({ model }: AskedFor, message: object, finish = 'stop'): Record<string, unknown> {
  return {
    id: ID,
    object: 'chat.completion',
    created: CREATED,
    model,
    choices: [{ index: 0, message, finish_reason: finish }],
    usage: USAGE,
  };
}

function chunkEvent(asked: AskedFor, delta: object, finish: string | null = null): string {
  return event({ ...chunk(asked), choices: [{ index: 0, delta, finish_reason: finish }] });
}

function chunk({ model }: AskedFor): object {
  return { id: ID, object: 'chat.completion.chunk', created: CREATED, model };
}
