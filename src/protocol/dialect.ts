/** Shapes besides chat completions in which callers may ask: Anthropic's Messages and OpenAI's Responses. */
export type DialectName = 'messages' | 'responses';
