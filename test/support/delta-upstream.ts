/** A server of the chat wire that answers with deltas, whole or streamed, or refuses with a status. */
import { createRouter, openaiCompatible, type Router } from 'signalbox';
import { startUpstream, type Upstream } from './upstream.ts';

/** What the server answers to the request with this number: deltas, or a status that it refuses with. */
export type Reply = (body: Readonly<Record<string, unknown>>, count: number) => readonly object[] | number;

function chatServer(reply: Reply): Promise<Upstream> {
  let count = 0;
  return startUpstream(({ body }, response) => {
    count += 1;
    const deltas = reply(body, count);
    if (typeof deltas === 'number') {
      response.writeHead(deltas, { 'content-type': 'application/json', 'retry-after': '7' });
      response.end(JSON.stringify({ error: { message: 'The server says no' } }));
      return;
    }
    const usage = {
      prompt_tokens: 12,
      completion_tokens: 5,
      total_tokens: 17,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 2 },
    };
    const called = deltas.some((delta) => 'tool_calls' in delta);
    const finish = called ? 'tool_calls' : 'stop';
    if (body['stream'] === true) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const event = (rest: object): void => void response.write(`data: ${JSON.stringify({ id: 'c', ...rest })}\n\n`);
      for (const delta of deltas) event({ choices: [{ index: 0, delta, finish_reason: null }] });
      event({ choices: [{ index: 0, delta: {}, finish_reason: finish }] });
      event({ choices: [], usage });
      response.end('data: [DONE]\n\n');
      return;
    }
    const message = Object.assign({ role: 'assistant', content: null }, ...deltas) as object;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ id: 'c', choices: [{ index: 0, message, finish_reason: finish }], usage }));
  });
}

/** Runs `use` with a router over one endpoint, `acme/one`, of such a server. */
export async function withDeltas(
  reply: Reply,
  use: (router: Router, upstream: Upstream) => Promise<void>,
): Promise<void> {
  await using upstream = await chatServer(reply);
  const models = { 'acme/one': { price: { prompt: 1_000, completion: 2_000 } } };
  const router = createRouter({
    providers: [openaiCompatible({ slug: 'acme', baseURL: upstream.baseURL, apiKey: 'k', models })],
  });
  try {
    await use(router, upstream);
  } finally {
    await router.close();
  }
}
