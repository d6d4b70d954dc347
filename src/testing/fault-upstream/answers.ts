/** What a request asks for, as far as the fault upstream cares. */
export interface AskedFor {
  readonly model: string;
  readonly text: string;
}

const USAGE = { prompt_tokens: 10, completion_tokens: 9, total_tokens: 19 };
const ID = 'chatcmpl-fault-upstream';
const CREATED = 1_700_000_000;

/** A whole answer of the chat completions wire, as an object that a fault may spoil. */
export function completion({ model, text }: AskedFor): Record<string, unknown> {
  return {
    id: ID,
    object: 'chat.completion',
    created: CREATED,
    model,
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage: USAGE,
  };
}

/** The events of a whole stream: role, one content chunk for each word, finish, usage, end mark. */
export function streamEvents({ model, text }: AskedFor): readonly string[] {
  return [
    roleEvent(model),
    ...wordsOf(text).map((word) => chunkEvent(model, { content: word })),
    chunkEvent(model, {}, 'stop'),
    event({ ...chunk(model), choices: [], usage: USAGE }),
    DONE_EVENT,
  ];
}

/** The first chunk of a stream: it says who speaks, and nothing else. */
export function roleEvent(model: string): string {
  return chunkEvent(model, { role: 'assistant', content: '' });
}

/** One chunk of a stream. */
export function chunkEvent(model: string, delta: object, finish: string | null = null): string {
  return event({ ...chunk(model), choices: [{ index: 0, delta, finish_reason: finish }] });
}

/** One server-sent event. */
export function event(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** The end mark of the wire. */
export const DONE_EVENT = 'data: [DONE]\n\n';

/** The words of a text, each with the space behind it: one content chunk each. */
export function wordsOf(text: string): readonly string[] {
  return text.match(/\S+\s*/g) ?? [];
}

function chunk(model: string): object {
  return { id: ID, object: 'chat.completion.chunk', created: CREATED, model };
}
