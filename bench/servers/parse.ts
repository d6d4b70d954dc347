import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent } from 'undici';
import { UPSTREAM, report } from './harness.ts';

/** Reference (b): the proxy one writes by hand. Parses and serialises everything in both directions. */
const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

report(createServer((request, response) => void answer(request, response)));

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = JSON.parse(Buffer.concat(chunks).toString()) as { model: string; stream?: boolean };
  body.model = 'upstream-model';
  const upstream = await agent.request({
    origin: UPSTREAM,
    path: '/v1/chat/completions',
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer key' },
    body: JSON.stringify(body),
  });
  if (body.stream !== true) {
    const result = JSON.parse(await upstream.body.text()) as Record<string, unknown>;
    response.writeHead(upstream.statusCode, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ...result, id: 'gen-1', model: 'bench/model', provider: 'Bench' }));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let rest = '';
  for await (const chunk of upstream.body) {
    const events = (rest + (chunk as Buffer).toString()).split('\n\n');
    rest = events.pop() ?? '';
    let out = '';
    for (const event of events) {
      const data = event.slice('data: '.length);
      if (data === '[DONE]') out += 'data: [DONE]\n\n';
      else {
        const parsed = JSON.parse(data) as Record<string, unknown>;
        out += `data: ${JSON.stringify({ ...parsed, id: 'gen-1', model: 'bench/model', provider: 'Bench' })}\n\n`;
      }
    }
    response.write(out);
  }
  response.end();
}
