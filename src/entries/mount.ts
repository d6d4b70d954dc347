/** Public surface: what a mount of your own is made of. */
export { handle } from '../http/handle.ts';
export { errorReplyOf, notFoundReply } from '../http/error-reply.ts';
export { checkMount } from '../http/mount-options.ts';
export { BodyError } from '../contracts/exchange.ts';
export { polledFrames } from '../http/stream-frames.ts';
export { PENDING } from '../platform/wait.ts';
export type { Pollable, Polled } from '../platform/wait.ts';
export type { Frames, HttpCall, HttpHeaders, HttpReply, ParsedBody, UnreadBody } from '../contracts/exchange.ts';
