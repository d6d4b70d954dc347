import type { Dialect } from '../dialect.ts';
import { messagesError, messagesStatus } from './errors.ts';
import { MessagesStreamWriter } from './stream-writer.ts';
import { messagesToChat } from './to-chat.ts';
import { wholeMessage } from './whole.ts';

/** Anthropic's Messages: `POST /messages` (gaps 10; upstreams 2). */
export const MESSAGES: Dialect = {
  name: 'messages',
  requestIdHeader: 'request-id',
  toChat: messagesToChat,
  whole: wholeMessage,
  streamWriter: (context) => new MessagesStreamWriter(context),
  error: messagesError,
  status: messagesStatus,
};
