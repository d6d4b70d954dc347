import { UI_MESSAGE_STREAM_HEADERS } from 'ai';
import { RouterError } from 'signalbox';
import { readChat } from '../../../../../lib/chats';
import { router } from '../../../../../lib/router';

interface Context {
  readonly params: Promise<{ readonly id: string }>;
}

/** `useChat({ resume: true })` calls this when its page is loaded: 204 says that no answer is being given. */
export async function GET(request: Request, { params }: Context): Promise<Response> {
  const { streamId } = readChat((await params).id);
  if (streamId === undefined) return new Response(null, { status: 204 });
  try {
    const stream = await router.resume(streamId, { signal: request.signal });
    return new Response(stream, { headers: UI_MESSAGE_STREAM_HEADERS });
  } catch (error) {
    if (RouterError.isInstance(error) && error.status === 404) return new Response(null, { status: 204 });
    throw error;
  }
}
