import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { NativeJob, NativeState } from '../native-batches.ts';

/** Milliseconds after its creation at which a batch ends by itself, and everything in it is lost. */
const WINDOW_MS = 172_800_000;
/** Names that stand in addresses as they are. */
const BATCH_NAME = /^batches\/[\w-]+$/;
const FILE_NAME = /^files\/[\w-]+$/;

/**
 * What is remembered of a batch; undefined for one without a name.
 *
 * @param file - Name of the file with its requests, where the batch does not tell.
 */
export function jobOf(operation: JsonObject, file: string | undefined): NativeJob | undefined {
  const { name } = operation;
  if (typeof name !== 'string' || !BATCH_NAME.test(name)) return undefined;
  const { inputConfig: input } = metadataOf(operation);
  return {
    job: { name, file: file ?? fileOf(isJsonObject(input) ? input['fileName'] : undefined) ?? null },
    expiresAt: expiryOf(operation),
  };
}

/** Whether a batch was made under a key of ours. */
export function isTwin(operation: JsonObject, key: string): boolean {
  return metadataOf(operation)['displayName'] === key;
}

/**
 * How a batch stands (upstreams 5.5). States have one prefix on the wire and another one in client libraries; those that
 * nobody knows yet are no reason to give the batch up.
 *
 * @param present - Makes a text of the provider's fit to be shown.
 */
export function stateOf(operation: JsonObject, present: (text: string) => string | undefined): NativeState {
  const { state } = metadataOf(operation);
  switch (typeof state === 'string' ? state.replace(/^(BATCH|JOB)_STATE_/, '') : '') {
    case 'SUCCEEDED':
    case 'PARTIALLY_SUCCEEDED':
      return { status: 'ended', outcome: 'completed' };
    case 'EXPIRED':
      return { status: 'ended', outcome: 'expired' };
    case 'CANCELLED':
      return { status: 'ended', outcome: 'cancelled' };
    case 'FAILED': {
      const { error } = operation;
      const message = isJsonObject(error) ? error['message'] : undefined;
      return {
        status: 'ended',
        outcome: 'failed',
        message: typeof message === 'string' && message !== '' ? present(message) : undefined,
      };
    }
    default:
      return { status: 'running', expiresAt: expiryOf(operation) };
  }
}

/** Name of the file with the results; it stands in the answer of the operation, or in what is told about it. */
export function answersOf(operation: JsonObject): string | undefined {
  const { response } = operation;
  const { output } = metadataOf(operation);
  return [response, output]
    .map((place) => fileOf(isJsonObject(place) ? place['responsesFile'] : undefined))
    .find((file) => file !== undefined);
}

function fileOf(name: unknown): string | undefined {
  return typeof name === 'string' && FILE_NAME.test(name) ? name : undefined;
}

function expiryOf(operation: JsonObject): number | undefined {
  const { createTime } = metadataOf(operation);
  const time = typeof createTime === 'string' ? Date.parse(createTime) : Number.NaN;
  return Number.isNaN(time) ? undefined : time + WINDOW_MS;
}

function metadataOf({ metadata }: JsonObject): JsonObject {
  return isJsonObject(metadata) ? metadata : {};
}
