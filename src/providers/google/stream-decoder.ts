import { failure } from '../../core/fallback/failure.ts';
import type { StreamPiece } from '../../core/stream/pieces.ts';
import { scatter } from '../../core/stream/scatter.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { parseJson } from '../parse-json.ts';
import type { StreamDecoder } from '../piece-stream.ts';
import type { SseEvent } from '../sse.ts';
import { type AnswerContext, AnswerReader } from './answer-reader.ts';
import { decodeResult } from './decode-result.ts';

/**
 * Decodes the events of `streamGenerateContent?alt=sse`. The wire has no end mark: a stream is whole when a candidate
 * said how it ended, and whatever follows is usage and signatures.
 */
export class GoogleStreamDecoder implements StreamDecoder {
  readonly #context: AnswerContext;
  readonly #reader: AnswerReader;
  #closing = false;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#reader = new AnswerReader(context);
  }

  event({ event, data }: SseEvent, pieces: StreamPiece[]): void {
    const text = data.trim();
    // Proxies that speak another wire as well may add its end mark.
    if (text === '' || text === '[DONE]') return;
    const responses = parseObjects(text);
    if (responses === undefined) {
      // An event that the end of the body cut off is no surprise: what came before tells whether the answer is whole.
      if (this.#closing || (event !== undefined && event !== 'message' && event !== 'error')) return;
      pieces.push({ type: 'failure', failure: failure('bad_response', 'The provider sent a malformed event') });
      return;
    }
    for (const response of responses) {
      this.#reader.read(event === 'error' && !('error' in response) ? { error: response } : response, pieces);
    }
  }

  closing(): void {
    this.#closing = true;
  }

  body(text: string, pieces: StreamPiece[]): void {
    const decoded = decodeResult(text, this.#context);
    if (decoded.ok) pieces.push(...scatter(decoded.result));
    else pieces.push({ type: 'failure', failure: decoded.failure });
  }

  end(): void {}
}

function parseObjects(data: string): readonly JsonObject[] | undefined {
  const value = parseJson(data);
  if (Array.isArray(value)) return value.every(isJsonObject) ? value : undefined;
  return isJsonObject(value) ? [value] : undefined;
}
