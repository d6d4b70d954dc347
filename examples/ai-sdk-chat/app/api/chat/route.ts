import { convertToModelMessages, generateId, streamText, type UIMessage } from 'ai';
import { saveChat } from '../../../lib/chats';
import { provider, router } from '../../../lib/router';

export async function POST(request: Request): Promise<Response> {
  const { id, messages } = (await request.json()) as { id: string; messages: UIMessage[] };
  const streamId = generateId();
  saveChat(id, { messages, streamId });
  const stop = new AbortController();
  const result = streamText({
    model: provider('chat'),
    messages: await convertToModelMessages(messages),
    // The router has tried others already.
    maxRetries: 0,
    abortSignal: stop.signal,
  });
  return result.toUIMessageStreamResponse({
    originalMessages: messages,
    generateMessageId: generateId,
    // Reads the answer to its end, whether or not the page is still there.
    consumeSseStream: ({ stream }) => router.keep(streamId, stream, { onStop: () => stop.abort() }),
    onFinish: ({ messages: all }) => saveChat(id, { messages: all }),
  });
}
