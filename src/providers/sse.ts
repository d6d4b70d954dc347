import { createParser, type EventSourceParser } from 'eventsource-parser';

/** One server-sent event. */
export interface SseEvent {
  readonly event?: string | undefined;
  readonly data: string;
}

/** Characters of one event; a stream with a longer one is ended early. */
const MAX_EVENT_LENGTH = 16 * 1024 * 1024;
/** Characters without an event, also of lines that mean nothing and are not kept. */
const MAX_SILENT_LENGTH = 8 * MAX_EVENT_LENGTH;

/**
 * Splits the bytes of an event stream into events. Bytes may be cut anywhere, also inside a character; all forms of
 * line ends are fine, and a last event without its blank line is not lost.
 */
export class SseReader {
  readonly #decoder = new TextDecoder();
  readonly #parser: EventSourceParser;
  #tooLong = false;
  #silentLength = 0;
  #hasSpoken = false;

  constructor(onEvent: (event: SseEvent) => void) {
    this.#parser = createParser({
      onEvent: (event) => {
        this.#hasSpoken = true;
        onEvent(event);
      },
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded') this.#tooLong = true;
      },
      maxBufferSize: MAX_EVENT_LENGTH,
    });
  }

  /** Reads more bytes. Returns false once an event, or what came in place of one, was longer than is accepted. */
  push(bytes: Uint8Array): boolean {
    return this.#feed(this.#decoder.decode(bytes, STREAMED));
  }

  /** The stream is over: an event that was not closed is closed here. */
  end(): void {
    this.#feed(`${this.#decoder.decode()}\n\n`);
  }

  #feed(text: string): boolean {
    if (this.#tooLong) return false;
    this.#hasSpoken = false;
    this.#parser.feed(text);
    this.#silentLength = this.#hasSpoken ? 0 : this.#silentLength + text.length;
    this.#tooLong ||= this.#silentLength > MAX_SILENT_LENGTH;
    return !this.#tooLong;
  }
}

const STREAMED = { stream: true } as const;
