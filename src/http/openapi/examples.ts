/** The examples of the OpenAPI document. */
import type { JsonValue } from '../../protocol/json.ts';
import examples from './examples.json' with { type: 'json' };

/** One call of an operation, as a router answered it whose only provider, East, has simulated models. */
export interface OperationExample {
  /** Path below the mount, with its query. Default: that of the operation. */
  readonly path?: string;
  /** Body that is sent. Absent where none is. */
  readonly request?: JsonValue;
  readonly status: number;
  /** Body that comes back: JSON, or the text itself where that is none. */
  readonly response: JsonValue;
}

/** Examples by `operationId`. A test checks each against the schemas of its operation. */
export const EXAMPLES: Readonly<Record<string, OperationExample>> = examples;

/** What of an operation has a place for examples. */
interface Exemplified {
  readonly operationId: string;
  readonly requestBody?: { readonly content: MediaTypes };
  readonly responses: Readonly<Record<string, { readonly content?: MediaTypes }>>;
}

type MediaTypes = Readonly<Record<string, object>>;

/** An operation with its example in the request and in the answer. */
export function withExample(operation: object): object {
  const { operationId, requestBody, responses } = operation as Exemplified;
  const example = Object.hasOwn(EXAMPLES, operationId) ? EXAMPLES[operationId] : undefined;
  if (example === undefined) return operation;
  const { request, status, response } = example;
  const answer = responses[status];
  const body = request === undefined ? undefined : requestBody;
  return {
    ...operation,
    ...(body && { requestBody: { ...body, content: exemplified(body.content, request) } }),
    responses: { ...responses, [status]: { ...answer, content: exemplified(answer?.content, response) } },
  };
}

/** The first type of content is that of the example. */
function exemplified(content: MediaTypes = {}, example: JsonValue | undefined): MediaTypes {
  const [first, ...others] = Object.entries(content);
  return first === undefined ? content : Object.fromEntries([[first[0], { ...first[1], example }], ...others]);
}
