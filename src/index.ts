export { createRouter } from './router.ts';
export type { CallOptions, OpenedChat, Router, RouterInternals } from './router.ts';
export { handle } from './http/handle.ts';
export { errorReplyOf, notFoundReply } from './http/error-reply.ts';
export { BodyError } from './http/exchange.ts';
export type { HttpCall, HttpHeaders, HttpReply, ParsedBody, UnreadBody } from './http/exchange.ts';
export { openaiCompatible } from './providers/openai-compatible/provider.ts';
export type { Transport } from './providers/transport/transport.ts';
