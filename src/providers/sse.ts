/** Splits streams into server-sent events. */
import { createParser, type EventSourceParser } from 'eventsource-parser';
import { TextPieces } from '../platform/decode-text.ts';
import type { StreamPiece } from '../contracts/stream-piece.ts';
import type { StreamDecoder } from './codec.ts';

/** How a line and its event end in most streams. Whatever came before, an event begins behind this. */
const EVENT_END = '\n\n';

/** Characters of one event; a stream with a longer one is ended early. */
const MAX_EVENT_LENGTH = 16 * 1024 * 1024;
/**
 * Lines of one event, beside comments. However short, each costs a parser memory, and putting them together costs time.
 */
const MAX_EVENT_LINES = 100_000;
/** Characters without an event, also of lines that mean nothing and are not kept. */
const MAX_SILENT_LENGTH = 8 * MAX_EVENT_LENGTH;

/** Turns events into pieces, each alone, or of those that need no parser several at once. */
type EventDecoder = Pick<StreamDecoder, 'event' | 'known'>;

/**
 * Splits the bytes of an event stream into events. Bytes may be cut anywhere, also inside a character; all forms of
 * line ends are fine, and a last event without its blank line is not lost.
 */
export class SseReader {
  readonly #text = new TextPieces();
  readonly #parser: EventSourceParser;
  #tooLong = false;
  #silentLength = 0;
  /** Lines without an event, besides comments and blank ones. */
  #silentLines = 0;
  #line: 'begins' | 'counts' | 'comment' = 'begins';
  #hasSpoken = false;
  readonly #decoder: EventDecoder;
  /** Where the events go of what is read now. */
  #pieces: StreamPiece[] = [];
  /** True where an event begins. */
  #isBetween = true;

  constructor(decoder: EventDecoder) {
    this.#decoder = decoder;
    this.#parser = createParser({
      onEvent: (event) => {
        this.#hasSpoken = true;
        decoder.event(event, this.#pieces);
      },
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded') this.#tooLong = true;
      },
      maxBufferSize: MAX_EVENT_LENGTH,
    });
  }

  /**
   * Reads more bytes and appends the pieces of their events. Returns false once an event, or what came in place of one,
   * was longer than is accepted.
   */
  push(bytes: Uint8Array, pieces: StreamPiece[]): boolean {
    this.#pieces = pieces;
    const text = this.#text.decode(bytes);
    return this.#decoder.known === undefined ? this.#feed(text) : this.#readEvents(text);
  }

  /** The stream is over: an event that was not closed is closed here. */
  end(pieces: StreamPiece[]): void {
    this.#pieces = pieces;
    this.#feed(`${this.#text.end()}\n\n`);
  }

  /** Event by event: with each that is parsed, those behind it may become known. */
  #readEvents(text: string): boolean {
    let at = 0;
    do {
      const from = this.#isBetween ? (this.#decoder.known?.(text, at, this.#pieces) ?? at) : at;
      if (from > at) this.#spoke();
      at = from;
      const end = text.indexOf(EVENT_END, at);
      if (end < 0) break;
      at = end + EVENT_END.length;
      this.#isBetween = this.#feed(text.slice(from, at));
      // What says nothing may come without end, and is read at once.
    } while (this.#isBetween && this.#hasSpoken);
    if (at === text.length) return !this.#tooLong;
    this.#isBetween = text.endsWith(EVENT_END);
    return this.#feed(text.slice(at));
  }

  #feed(text: string): boolean {
    if (this.#tooLong) return false;
    this.#hasSpoken = false;
    this.#parser.feed(text);
    if (this.#hasSpoken) {
      this.#spoke();
      return !this.#tooLong;
    }
    this.#silentLength += text.length;
    this.#countLines(text);
    this.#tooLong ||= this.#silentLength > MAX_SILENT_LENGTH || this.#silentLines > MAX_EVENT_LINES;
    return !this.#tooLong;
  }

  #spoke(): void {
    this.#silentLength = 0;
    this.#silentLines = 0;
    this.#line = 'begins';
  }

  #countLines(text: string): void {
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === LINE_FEED || code === CARRIAGE_RETURN) {
        if (this.#line === 'counts') this.#silentLines += 1;
        this.#line = 'begins';
      } else if (this.#line === 'begins') this.#line = code === COLON ? 'comment' : 'counts';
    }
  }
}

const [LINE_FEED, CARRIAGE_RETURN, COLON] = [10, 13, 58] as const;
