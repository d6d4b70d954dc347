import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { textOf } from './batch-object.ts';
import { BATCH_PAGE, type BatchWire } from './batch-wire.ts';

/** Hours that the provider gets. */
const WINDOW_HOURS = 24;

/**
 * The batch jobs of Mistral: files as those of OpenAI, but the model is the job's and no field of the requests
 * (upstreams 5.4).
 */
export const JOB_WIRE: BatchWire = {
  path: '/batch/jobs',
  resultFiles: ['output_file', 'error_file'],
  lineOf: (id, _url, { model: _model, ...body }) => ({ custom_id: id, body }),
  creationOf: ({ file, url, model, metadata }) => ({
    input_files: [file],
    endpoint: url,
    model,
    metadata,
    timeout_hours: WINDOW_HOURS,
  }),
  listQuery: (page) => `page=${page}&page_size=${BATCH_PAGE}`,
  hasMore: (_answer, listed) => listed.length >= BATCH_PAGE,
  inputOf: ({ input_files: files }) => (Array.isArray(files) ? files[0] : undefined),
  expiryOf,
  stateOf(batch, present) {
    switch (batch['status']) {
      case 'SUCCESS':
        return { status: 'ended', outcome: 'completed' };
      case 'TIMEOUT_EXCEEDED':
        return { status: 'ended', outcome: 'expired' };
      case 'CANCELLED':
        return { status: 'ended', outcome: 'cancelled' };
      case 'FAILED': {
        const { errors } = batch;
        const first = (Array.isArray(errors) ? errors : []).find(isJsonObject);
        const message = textOf(first?.['message']);
        return { status: 'ended', outcome: 'failed', message: message && present(message) };
      }
      default:
        return { status: 'running', expiresAt: expiryOf(batch) };
    }
  },
};

/** Jobs do not say when they end by themselves: after the time that was asked for. */
function expiryOf({ created_at: seconds }: JsonObject): number | undefined {
  return typeof seconds === 'number' && seconds > 0 ? (seconds + WINDOW_HOURS * 3_600) * 1_000 : undefined;
}
