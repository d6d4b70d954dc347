import { ChunkEnvelope, dataFrame, DONE_FRAME } from '../../core/stream/envelope.ts';
import { API_FORMAT_ERRORS, failureOf } from '../../formats/errors.ts';
import * as read from '../../platform/json.ts';
import { RouterError } from '../../protocol/router-error.ts';
import type { StreamFormat } from './stream-layout.ts';

/**
 * The last frames of a stream that nobody goes on with, in its API format. They follow from what is kept of it alone, so
 * they are the same at every instance.
 *
 * @param first - Frames from the beginning of the stream.
 * @param last - Frames from its end.
 */
export function lostEnding(format: StreamFormat, id: string, first: string, last: string): string {
  const error = lostError(id);
  const detail = error.toDetail();
  switch (format) {
    case 'messages':
      return `event: error\n${dataFrame(JSON.stringify({ ...API_FORMAT_ERRORS.messages.error({ status: error.status, detail }), type: 'error' }))}`;
    case 'responses': {
      const failure = failureOf({ status: error.status, detail });
      const data = {
        type: 'error',
        sequence_number: nextNumber(last),
        ...failure,
        param: null,
        error_type: error.errorType,
      };
      return `event: error\n${dataFrame(JSON.stringify(data))}${DONE_FRAME}`;
    }
    case 'chat':
      return dataFrame(JSON.stringify(envelopeOf(id, first).error(detail, undefined))) + DONE_FRAME;
    case 'text':
      return '';
  }
}

/** What became of a stream whose instance is gone. */
export function lostError(id: string): RouterError {
  return new RouterError({
    status: 502,
    errorType: 'provider_unavailable',
    message:
      'The response ends here: the router instance that read it from its provider is gone, or no longer keeps it. Send ' +
      'the request again',
    generationId: id,
    retryable: true,
  });
}

/** The envelope of a stream, as its first chunk has it. */
function envelopeOf(id: string, first: string): ChunkEnvelope {
  const chunk = read.object(read.parse(/^data: (\{.*\})$/m.exec(first)?.[1] ?? '{}'));
  return new ChunkEnvelope({
    id: read.text(chunk['id']) ?? id,
    created: read.number(chunk['created']) ?? Number(/^gen-(\d+)/.exec(id)?.[1] ?? 0),
    model: read.text(chunk['model']) ?? '',
    provider: read.text(chunk['provider']) ?? '',
    systemFingerprint: read.text(chunk['system_fingerprint']),
  });
}

/** The number of the event that follows these. */
function nextNumber(frames: string): number {
  const numbers = [...frames.matchAll(/^data: .*?"sequence_number":(\d+)/gm)];
  const last = numbers.at(-1)?.[1];
  return last === undefined ? 0 : Number(last) + 1;
}
