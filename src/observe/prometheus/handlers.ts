/** What the Node handler reads of a request. Those of `node:http`, Express and Fastify's `raw` fit. */
export interface MetricsReader {
  readonly method?: string | undefined;
}

/** What the Node handler writes on. Those of `node:http`, Express and Fastify's `raw` fit. */
export interface MetricsWriter {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
  end(body?: string): unknown;
}

/** What is exposed. */
export interface Exposed {
  readonly contentType: string;
  metrics(): Promise<string>;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Answers with the metrics, for hosts that speak `Request` and `Response`. */
export function fetchHandler(exposed: Exposed): (request: Request) => Promise<Response> {
  return async ({ method }) => {
    const { status, headers, body } = await answer(exposed, method);
    return new Response(method === 'HEAD' ? null : body, { status, headers });
  };
}

/** Answers with the metrics, for hosts that speak as `node:http` does. */
export function nodeHandler(exposed: Exposed): (request: MetricsReader, response: MetricsWriter) => Promise<void> {
  return async ({ method = 'GET' }, response) => {
    const { status, headers, body } = await answer(exposed, method);
    response.writeHead(status, headers);
    if (method === 'HEAD') response.end();
    else response.end(body);
  };
}

async function answer(exposed: Exposed, method: string): Promise<Answer> {
  if (method !== 'GET' && method !== 'HEAD') {
    const headers = { 'content-type': 'text/plain; charset=utf-8', allow: 'GET, HEAD' };
    return { status: 405, headers, body: 'Metrics are read with GET\n' };
  }
  try {
    const body = await exposed.metrics();
    return { status: 200, headers: { 'content-type': exposed.contentType, 'cache-control': 'no-store' }, body };
  } catch {
    // A registry may hold metrics of the program, whose collectors may fail.
    const headers = { 'content-type': 'text/plain; charset=utf-8' };
    return { status: 500, headers, body: 'The metrics could not be collected\n' };
  }
}
