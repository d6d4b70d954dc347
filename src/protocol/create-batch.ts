/** The body of `POST /batches`, and its schemas. */
import { nullish } from '../schema/modifiers.ts';
import { array, boundedRecord } from '../schema/collections.ts';
import { literal, boolean, integer, string, enumeration } from '../schema/scalars.ts';
import { BATCH_ENDPOINTS, type BatchEndpoint } from './batch.ts';
import { type Checked, failed, faultAt, passed } from './fault.ts';
import { closed, identifier } from './fields.ts';
import { read, shownValue } from './issues.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { MAX_MODEL_SLUG_LENGTH } from './limits.ts';

/** Routing of a whole batch; other preferences are not taken (contract: create a batch). */
export interface BatchProvider {
  /** Slugs of the providers that may run it. */
  readonly only?: readonly string[] | null | undefined;
  /** Default true. */
  readonly allow_fallbacks?: boolean | null | undefined;
}

/** What describes a batch, besides its requests (contract: create a batch; gaps 8.2). */
export interface BatchFields {
  /** Operation that every request goes to. */
  readonly endpoint: BatchEndpoint;
  /** Model of every request. Left out: the one that all requests name themselves. */
  readonly model?: string | null | undefined;
  readonly completion_window?: '24h' | null | undefined;
  /** HTTPS URL that gets a webhook when the batch has ended. */
  readonly callback_url?: string | null | undefined;
  readonly provider?: BatchProvider | null | undefined;
  /** Id of an uploaded file with one request per line, in place of `requests`. */
  readonly input_file_id?: string | null | undefined;
  /** Up to 16 pairs of the caller's own, given back with the batch. */
  readonly metadata?: Readonly<Record<string, string>> | null | undefined;
  /**
   * How long the batch and its files are kept once it has ended, which is when the files are created. They are never
   * kept beyond `batches.limits.retentionMs`.
   */
  readonly output_expires_after?:
    | { readonly anchor: 'created_at'; /** Seconds. */ readonly seconds: number }
    | null
    | undefined;
}

/** Names of the {@link BatchFields}. All of them come before `requests`. */
export const BATCH_FIELDS = [
  'endpoint',
  'model',
  'completion_window',
  'callback_url',
  'provider',
  'input_file_id',
  'metadata',
  'output_expires_after',
] as const;

/** Most characters of a `custom_id`. */
const MAX_CUSTOM_ID_LENGTH = 512;
const MAX_URL_LENGTH = 2_048;

/** Seconds after which OpenAI's files may expire: an hour to 30 days. */
const EXPIRY_SECONDS = { least: 3_600, most: 2_592_000 };

/** When something expires, counted from its creation. */
export const expiresAfterSchema = closed({ anchor: literal('created_at'), seconds: integer(EXPIRY_SECONDS) });

/** Schemas of the members of {@link BatchFields}. */
export const batchFields = {
  endpoint: enumeration(BATCH_ENDPOINTS),
  model: nullish(identifier(1, MAX_MODEL_SLUG_LENGTH)),
  completion_window: nullish(literal('24h')),
  callback_url: nullish(identifier(1, MAX_URL_LENGTH)),
  provider: nullish(
    closed({
      only: nullish(array(identifier(1, 128), { least: 1, most: 256 })),
      allow_fallbacks: nullish(boolean),
    }),
  ),
  input_file_id: nullish(identifier(1, 128)),
  metadata: nullish(boundedRecord(string({ most: 512 }), { pairs: 16, keyLength: 64 })),
  output_expires_after: nullish(expiresAfterSchema),
};

/** Schema of {@link BatchFields}. */
export const batchFieldsSchema = closed(batchFields);

/** Schema of `custom_id`. */
export const customIdSchema = identifier(1, MAX_CUSTOM_ID_LENGTH);

/** Checks the fields that come before `requests`. */
export function parseBatchFields(fields: unknown): Checked<BatchFields> {
  if (!isJsonObject(fields)) {
    return failed(
      faultAt('', `must be a JSON object with "endpoint", "model" and "requests", not ${shownValue(fields)}`),
    );
  }
  const parsed = read(batchFieldsSchema, fields);
  return parsed.ok ? passed(parsed.value as BatchFields) : failed(faultAt(parsed.path, parsed.problem));
}

/** A request with its frame checked, not yet its body. */
interface FramedRequest {
  readonly customId: string;
  readonly body: JsonObject;
}

/** Checks the frame of one request. Its body is checked by the rules of the endpoint, when the batch is validated. */
export function parseBatchRequest(request: unknown, index: number): Checked<FramedRequest> {
  const at = `requests[${index}]`;
  if (!isJsonObject(request)) {
    return failed(faultAt(at, `must be an object with "custom_id" and "body", not ${shownValue(request)}`));
  }
  const { custom_id: customId, body } = request;
  const parsed = read(customIdSchema, customId);
  if (!parsed.ok) return failed(faultAt(`${at}.custom_id`, parsed.problem));
  if (isJsonObject(body)) return passed({ customId: parsed.value, body });
  const problem =
    body === undefined ? 'is required and must be an object' : `must be an object, not ${shownValue(body)}`;
  return failed(faultAt(`${at}.body`, problem));
}
