/** Public surface: what a mount of your own is made of. */
export { handle } from '../http/handle.ts';
export { errorReplyOf, notFoundReply } from '../http/error-reply.ts';
export { BodyError, polledFrames } from '../http/exchange.ts';
export { PENDING } from '../platform/poll.ts';
export type { Pollable, Polled } from '../platform/poll.ts';
export type { Frames, HttpCall, HttpHeaders, HttpReply, ParsedBody, UnreadBody } from '../http/exchange.ts';
