import { createServer, type ServerResponse } from 'node:http';

/**
 * An upstream that answers at once, with a 1 kB answer or a burst of 102 events. A prompt that says "paced" or "slowly"
 * gets them one by one.
 */
const ANSWER = JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'upstream-model',
  system_fingerprint: 'fp_bench',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'word '.repeat(140) }, logprobs: null, finish_reason: 'stop' },
  ],
  usage: { prompt_tokens: 20, completion_tokens: 140, total_tokens: 160 },
});

const head = {
  id: 'chatcmpl-bench',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'upstream-model',
  system_fingerprint: 'fp_bench',
};
const event = (rest: object): string => `data: ${JSON.stringify({ ...head, ...rest })}\n\n`;
const choice = (delta: object, finish: string | null = null): object => ({
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
});

const EVENTS = [
  event(choice({ role: 'assistant', content: '' })),
  ...Array.from({ length: 99 }, (_, index) => event(choice({ content: ` word${index}` }))),
  event(choice({}, 'stop')),
  event({ choices: [], usage: { prompt_tokens: 20, completion_tokens: 99, total_tokens: 119 } }),
  'data: [DONE]\n\n',
];

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString('latin1');
    const streamed = body.includes('"stream":true');
    response.writeHead(200, { 'content-type': streamed ? 'text/event-stream' : 'application/json' });
    if (!streamed) return response.end(ANSWER);
    if (body.includes('paced')) return pace(response, PACE_MS);
    if (body.includes('slowly')) return pace(response, SLOW_MS);
    for (const one of EVENTS) response.write(one);
    response.end();
  });
});

/** Milliseconds between two events. */
const PACE_MS = 5;
const SLOW_MS = 200;

function pace(response: ServerResponse, everyMs: number): void {
  let next = 0;
  const timer = setInterval(() => {
    response.write(EVENTS[next]);
    next += 1;
    if (next < EVENTS.length && !response.destroyed) return;
    clearInterval(timer);
    response.end();
  }, everyMs);
}

server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as { port: number }).port }));
