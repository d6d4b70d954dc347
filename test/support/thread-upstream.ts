import { Worker } from 'node:worker_threads';

/** An upstream in a thread of its own, so that its work is not measured with ours. */
export interface ThreadUpstream extends AsyncDisposable {
  /** Base address, ending in `/v1`. */
  readonly baseURL: string;
}

const PROGRAM = `
const { createServer } = require('node:http');
const { parentPort } = require('node:worker_threads');
const answer = JSON.stringify({
  id: 'a', object: 'chat.completion', created: 1, model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});
const vectors = JSON.stringify({ object: 'list', model: 'm', data: [{ object: 'embedding', index: 0, embedding: [1] }], usage: { prompt_tokens: 1, total_tokens: 1 } });
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(request.url.endsWith('embeddings') ? vectors : answer);
  });
});
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

/** Starts a {@link ThreadUpstream} that answers every request with a word. */
export async function startThreadUpstream(): Promise<ThreadUpstream> {
  const worker = new Worker(PROGRAM, { eval: true });
  const port = await new Promise<number>((resolve, reject) => {
    worker.once('message', resolve).once('error', reject);
  });
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    async [Symbol.asyncDispose]() {
      await worker.terminate();
    },
  };
}
