import type { Codec } from '../codec.ts';
import type { Dialect } from '../openai-compatible/dialect.ts';
import { decodeResponse } from './decode-response.ts';
import { encodeResponses } from './encode-request.ts';
import { ResponsesStreamDecoder } from './stream-decoder.ts';

/** OpenAI's Responses wire, for callers who speak it themselves: their bodies go out, and answers stay as they are. */
export function responsesCodec(dialect: Dialect): Codec {
  return {
    path: () => '/responses',
    encode: (request, endpoint) => encodeResponses(request, endpoint, dialect),
    decodeResult: decodeResponse,
    streamDecoder: (context) => new ResponsesStreamDecoder(context),
  };
}
