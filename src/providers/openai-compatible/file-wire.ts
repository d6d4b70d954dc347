import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { textOf } from './batch-object.ts';
import { BATCH_PAGE, type BatchWire } from './batch-wire.ts';

/** The batches of OpenAI and of servers like it (upstreams 5.1, 5.4). */
export const FILE_WIRE: BatchWire = {
  path: '/batches',
  resultFiles: ['output_file_id', 'error_file_id'],
  lineOf: (id, url, body) => ({ custom_id: id, method: 'POST', url, body }),
  creationOf: ({ file, url, metadata }) => ({
    input_file_id: file,
    endpoint: url,
    completion_window: '24h',
    metadata,
  }),
  listQuery(_page, after) {
    return `limit=${BATCH_PAGE}${after === undefined ? '' : `&after=${encodeURIComponent(after)}`}`;
  },
  hasMore: ({ has_more: more }, listed) => more === true && textOf(listed.at(-1)?.['id']) !== undefined,
  inputOf: (batch) => batch['input_file_id'],
  expiryOf,
  stateOf(batch, present) {
    const { status } = batch;
    switch (status) {
      case 'completed':
      case 'expired':
      case 'cancelled':
        return { status: 'ended', outcome: status };
      case 'failed':
        return { status: 'ended', outcome: status, message: reasonOf(batch, present) };
      default:
        return { status: 'running', expiresAt: expiryOf(batch) };
    }
  },
};

function expiryOf({ expires_at: seconds }: JsonObject): number | undefined {
  return typeof seconds === 'number' && seconds > 0 ? seconds * 1_000 : undefined;
}

/** What a batch that failed as a whole failed for: the first of its errors. */
function reasonOf({ errors }: JsonObject, present: (text: string) => string | undefined): string | undefined {
  const data: unknown = isJsonObject(errors) ? errors['data'] : undefined;
  const first = (Array.isArray(data) ? data : []).find(isJsonObject);
  const message = textOf(first?.['message']) ?? textOf(first?.['code']);
  if (message === undefined) return undefined;
  const line = first?.['line'];
  return present(typeof line === 'number' ? `${message} (request ${line})` : message);
}
