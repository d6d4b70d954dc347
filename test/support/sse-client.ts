import type { ChatChunk } from 'signalbox';

/** What a client has read of a stream. */
export interface ReadStream {
  readonly chunks: readonly ChatChunk[];
  /** True when the end mark was the last event. */
  readonly done: boolean;
  /** Comments between the events. */
  readonly comments: readonly string[];
  /** Text of choice 0. */
  readonly content: string;
  /** Finish reasons in order, of all choices. */
  readonly finishReasons: readonly string[];
}

/** Reads the events of a stream as strictly as a client may: one `data:` line or comment each, nothing else. */
export function readStream(text: string): ReadStream {
  if (text !== '' && !text.endsWith('\n\n')) throw new Error(`The stream ends inside an event: ${text.slice(-100)}`);
  const events = text.split('\n\n').slice(0, -1);
  const strange = events.find((event) => !event.startsWith('data: ') && !event.startsWith(':'));
  if (strange !== undefined) throw new Error(`Not an event: ${strange.slice(0, 100)}`);
  const data = events.filter((event) => event.startsWith('data: ')).map((event) => event.slice('data: '.length));
  const done = data.at(-1) === '[DONE]';
  const chunks = (done ? data.slice(0, -1) : data).map((one) => JSON.parse(one) as ChatChunk);
  const choices = chunks.flatMap((chunk) => chunk.choices);
  return {
    chunks,
    done,
    comments: events.filter((event) => event.startsWith(':')),
    content: choices
      .filter(({ index }) => index === 0)
      .map(({ delta }) => delta.content ?? '')
      .join(''),
    finishReasons: choices.flatMap(({ finish_reason: reason }) => (reason === null ? [] : [reason])),
  };
}
