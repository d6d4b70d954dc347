import { type AskedFor, CHAT_WIRE, event, type FaultWire, type WireError } from './wire.ts';
import { ANTHROPIC_WIRE } from './anthropic-wire.ts';

const USAGE = { promptTokenCount: 10, candidatesTokenCount: 9, totalTokenCount: 19 };
const STREAMED = /:streamGenerateContent\b/;
const MODEL = /\/([^/:]+):\w+/;

/** Google's words for a status, in the place of a code. */
const STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** Google's native API: model and form of the answer are in the path, and a stream has no end mark. */
const GOOGLE_WIRE: FaultWire = {
  streams: ({ path }) => STREAMED.test(path),
  modelOf: ({ path }) => MODEL.exec(path)?.[1],
  completion: (asked) => response(asked, { parts: [{ text: asked.text }], role: 'model' }, 'STOP'),
  opening: (asked) => [event(response(asked, { parts: [{ text: '' }], role: 'model' }))],
  chunk: (asked, text) => event(response(asked, { parts: [{ text }], role: 'model' })),
  ending: (asked) => [event(response(asked, { parts: [{ text: '' }], role: 'model' }, 'STOP'))],
  failedCompletion: (asked) => response(asked, {}, 'MALFORMED_FUNCTION_CALL'),
  failedEnding: (asked) => event(response(asked, {}, 'MALFORMED_FUNCTION_CALL')),
  emptyCompletion: (asked) => ({ ...response(asked, {}), candidates: [] }),
  errorBody: (error, status) => ({ error: errorOf(error, status) }),
  errorEvents: (error, status) => event({ error: errorOf(error, status) }),
  holding(asked, value) {
    const call = { functionCall: { name: 'look', args: { at: value } } };
    const parts = [{ text: asked.text }, call];
    return {
      completion: response(asked, { parts, role: 'model' }, 'STOP'),
      event: event(response(asked, { parts: [call], role: 'model' })),
    };
  },
};

function response({ model }: AskedFor, content: object, finishReason?: string): Record<string, unknown> {
  const candidate = { content, ...(finishReason === undefined ? {} : { finishReason }), index: 0 };
  return { candidates: [candidate], usageMetadata: USAGE, modelVersion: model, responseId: 'fault-upstream' };
}

/** A code of another wire becomes the reason in the details, where Google has its own. */
function errorOf({ message, code, type }: WireError, status: number | undefined): object {
  const number = typeof code === 'number' ? code : status;
  const reason = typeof code === 'string' ? code : type;
  const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'googleapis.com' }];
  return {
    code: number,
    message,
    status: STATUSES[number ?? 0] ?? 'UNKNOWN',
    ...(reason === undefined ? {} : { details }),
  };
}

/** The wires that a fault upstream can speak: `chat` is that of chat completions, `anthropic` the Messages API, `google` Google's own. */
export const FAULT_WIRES = {
  chat: CHAT_WIRE,
  anthropic: ANTHROPIC_WIRE,
  google: GOOGLE_WIRE,
} as const satisfies Readonly<Record<string, FaultWire>>;

/** Name of a wire that a fault upstream can speak. */
export type FaultWireName = keyof typeof FAULT_WIRES;
