import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { openTelemetry } from 'signalbox/opentelemetry';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { hello, pluginBench } from '../support/plugins.ts';
import { readProjectFile } from '../support/source-files.ts';

afterEach(() => vi.unstubAllEnvs());

/** What a backend documents of its requests; others are refused with its status. */
interface Backend {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

const PROTOBUF = { 'content-type': 'application/x-protobuf' };
const BACKENDS: Readonly<Record<string, Backend>> = {
  Langfuse: {
    origin: 'https://cloud.langfuse.com',
    path: '/api/public/otel/v1/traces',
    headers: { ...PROTOBUF, authorization: 'Basic BASE64_OF_KEYS', 'x-langfuse-ingestion-version': '4' },
  },
  LangSmith: {
    origin: 'https://api.smith.langchain.com',
    path: '/otel/v1/traces',
    headers: { ...PROTOBUF, 'x-api-key': 'API_KEY', 'langsmith-project': 'PROJECT' },
  },
  Datadog: {
    origin: 'https://otlp.datadoghq.com',
    path: '/v1/traces',
    headers: { ...PROTOBUF, 'dd-api-key': 'API_KEY', 'dd-otlp-source': 'llmobs' },
  },
  Phoenix: {
    origin: 'http://localhost:6006',
    path: '/v1/traces',
    headers: { ...PROTOBUF, authorization: 'Bearer API_KEY' },
  },
};

/** The variables of a recipe, as the page has them. */
function recipeOf(name: string): Readonly<Record<string, string>> {
  const page = readProjectFile('docs/observability.md');
  const [, lines = ''] = new RegExp(`^# ${name}[^\\n]*\\n((?:OTEL_[^\\n]*\\n)+)`, 'm').exec(page) ?? [];
  return Object.fromEntries(
    [...lines.matchAll(/^(\w+)=(.*)$/gm)].map(([, variable = '', value = '']) => [variable, value]),
  );
}

/** The length-delimited fields of a message of protobuf, by number. */
function fieldsOf(message: Buffer): readonly (readonly [number, Buffer])[] {
  const fields: (readonly [number, Buffer])[] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = message[at++] ?? 0;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    const type = tag & 7;
    if (type === 2) {
      const length = varint();
      fields.push([tag >> 3, message.subarray(at, at + length)]);
      at += length;
    } else if (type === 0) varint();
    else at += type === 1 ? 8 : 4;
  }
  return fields;
}

const inside = (message: Buffer, number: number): readonly Buffer[] =>
  fieldsOf(message).flatMap(([field, bytes]) => (field === number ? [bytes] : []));

/** Attributes of text of all spans of an ExportTraceServiceRequest. */
function attributesIn(body: Buffer): Readonly<Record<string, string>> {
  const spans = inside(body, 1)
    .flatMap((resource) => inside(resource, 2))
    .flatMap((scope) => inside(scope, 2));
  const pairs = spans.flatMap((span) => inside(span, 9));
  return Object.fromEntries(
    pairs.map((pair) => [String(inside(pair, 1)[0]), String(inside(inside(pair, 2)[0] ?? Buffer.alloc(0), 1)[0])]),
  );
}

/** A collector that refuses what a backend does not document. */
async function startCollector({ path, headers }: Backend) {
  const received: { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Buffer }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const isKnown = Object.entries(headers).every(([name, value]) => request.headers[name] === value);
      const status = request.method !== 'POST' || request.url !== path ? 404 : isKnown ? 200 : 401;
      received.push({ status, headers: request.headers, body: Buffer.concat(chunks) });
      response.writeHead(status, PROTOBUF).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('the recipe for', () => {
  it.each(Object.entries(BACKENDS))('%s sends what it documents', async (name, backend) => {
    await using collector = await startCollector(backend);
    const recipe = recipeOf(name);
    const endpoint = recipe['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? '';
    expect(endpoint.startsWith(`${backend.origin}/`)).toBe(true);
    vi.stubEnv('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', endpoint.replace(backend.origin, collector.origin));
    vi.stubEnv('OTEL_EXPORTER_OTLP_TRACES_HEADERS', recipe['OTEL_EXPORTER_OTLP_TRACES_HEADERS']);
    const processor = new SimpleSpanProcessor(new OTLPTraceExporter());
    const { router } = pluginBench('It is noon.');
    await openTelemetry(router, {
      tracerProvider: new BasicTracerProvider({ spanProcessors: [processor] }),
      content: true,
    });
    await router.chat(hello());
    await processor.forceFlush();
    await processor.shutdown();
    expect(collector.received.map(({ status }) => status)).toEqual([200, 200]);
    const attributes = Object.assign({}, ...collector.received.map(({ body }) => attributesIn(body))) as Record<
      string,
      string
    >;
    expect(JSON.parse(attributes['gen_ai.output.messages'] ?? '')).toEqual([
      { role: 'assistant', parts: [{ type: 'text', content: 'It is noon.' }], finish_reason: 'stop' },
    ]);
    expect(JSON.parse(attributes['gen_ai.input.messages'] ?? '')).toMatchObject([{ role: 'user' }]);
    expect(attributes['gen_ai.operation.name']).toBe('chat');
  });

  it.each(Object.entries(BACKENDS))('%s is refused with another key', async (_name, backend) => {
    await using collector = await startCollector(backend);
    const { status } = await fetch(`${collector.origin}${backend.path}`, { method: 'POST', headers: PROTOBUF });
    expect(status).toBe(401);
  });
});
