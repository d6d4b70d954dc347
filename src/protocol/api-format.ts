/** The names of the API formats besides chat completions. */

/**
 * API formats besides chat completions in which callers may send requests: Anthropic's Messages and OpenAI's Responses.
 */
export type ApiFormatName = 'messages' | 'responses';

/** Where a request requires a conversation that the server keeps. Its clients know how to go on without one. */
export const THREAD_PATH = 'thread';
