import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { context } from '@opentelemetry/api';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { AlwaysOffSampler, BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { type Router, createRouter, logSink, openaiCompatible } from 'signalbox';
import { openTelemetry } from 'signalbox/opentelemetry';
import { prometheus } from 'signalbox/prometheus';
import type { Transport } from 'signalbox';
import { WORKLOADS } from './workloads.ts';

/**
 * CPU per in-process call and per streamed chunk above a raw stub: the same transport, parsed by hand. Then the same of
 * a call over more endpoints, and what each way of observing adds to a call.
 * Usage: npm run bench:in-process
 */
const CALLS = 20_000;
const STREAMS = 2_000;

const ANSWER = JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'upstream-model',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'word '.repeat(140) }, logprobs: null, finish_reason: 'stop' },
  ],
  usage: { prompt_tokens: 20, completion_tokens: 140, total_tokens: 160 },
});
const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] })}\n\n`;
const EVENTS = [
  ...Array.from({ length: 100 }, (_, index) => chunk({ content: ` word${index}` })),
  `${chunk({}, 'stop')}data: [DONE]\n\n`,
];
const encoder = new TextEncoder();
const answerBytes = [encoder.encode(ANSWER)];
const eventBytes = EVENTS.map((event) => [encoder.encode(event)]);

/** A transport without a network: whole answers in one read, streams with one event per read. */
const transport: Transport = {
  send({ body }) {
    const streamed = body?.includes('"stream":true') === true;
    const reads = streamed ? eventBytes : [answerBytes];
    let next = 0;
    return Promise.resolve({
      status: 200,
      header: (name) => (name === 'content-type' ? (streamed ? 'text/event-stream' : 'application/json') : undefined),
      read: () => Promise.resolve(reads[next++]),
      cancel() {},
    });
  },
  close: () => Promise.resolve(),
};

const models = { 'bench/model': { upstreamModel: 'm', price: { prompt: 1, completion: 2 } } } as const;
const router = createRouter({
  providers: [
    openaiCompatible({ slug: 'first', baseURL: 'http://stub', models, transport }),
    openaiCompatible({ slug: 'second', baseURL: 'http://stub', models, transport }),
  ],
});
const messages = [{ role: 'user' as const, content: 'Hello there' }];
const long = (
  JSON.parse(WORKLOADS.find(({ name }) => name.includes('40 messages'))?.body ?? '') as { messages: typeof messages }
).messages;

async function rawCall(): Promise<void> {
  const body = JSON.stringify({ model: 'm', messages });
  const response = await transport.send({
    method: 'POST',
    url: new URL('http://stub/'),
    headers: [],
    body,
    signal: new AbortController().signal,
    maxBytes: 1e9,
  });
  const decoder = new TextDecoder();
  for (let text = ''; ;) {
    const chunks = await response.read();
    if (chunks === undefined) return void JSON.parse(text);
    for (const one of chunks) text += decoder.decode(one, { stream: true });
  }
}

async function rawStream(): Promise<void> {
  const body = JSON.stringify({ model: 'm', messages, stream: true });
  const response = await transport.send({
    method: 'POST',
    url: new URL('http://stub/'),
    headers: [],
    body,
    signal: new AbortController().signal,
    maxBytes: 1e9,
  });
  const decoder = new TextDecoder();
  for (;;) {
    const chunks = await response.read();
    if (chunks === undefined) return;
    for (const one of chunks) {
      const data = decoder.decode(one, { stream: true }).slice('data: '.length);
      if (!data.includes('[DONE]')) JSON.parse(data);
    }
  }
}

async function routedStream(): Promise<void> {
  for await (const _ of router.stream({ model: 'bench/model', messages })) {
    // Reading is all.
  }
}

/** A reader that keeps metrics until it is asked. */
class QuietReader extends MetricReader {
  protected override onForceFlush = (): Promise<void> => Promise.resolve();
  protected override onShutdown = (): Promise<void> => Promise.resolve();
}

/** Throws spans away in batches, as late as an exporter would take them. */
const spanProcessors = [
  new BatchSpanProcessor({
    export: (_, done) => done({ code: 0 }),
    shutdown: () => Promise.resolve(),
  }),
];
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const OBSERVERS: Readonly<Record<string, (observed: Router) => (() => void) | Promise<() => void>>> = {
  'nothing attached': () => () => {},
  'log sink': (observed) => {
    const removals = Object.entries(logSink(quiet)).map(([name, listener]) =>
      observed.on(name as 'result', listener as () => void),
    );
    return () => removals.forEach((remove) => remove());
  },
  Prometheus: async (observed) => (await prometheus(observed)).detach,
  'OpenTelemetry, metrics': (observed) => {
    const sampler = new AlwaysOffSampler();
    const meterProvider = new MeterProvider({ readers: [new QuietReader()] });
    return openTelemetry(observed, { tracerProvider: new BasicTracerProvider({ sampler }), meterProvider });
  },
  'OpenTelemetry, metrics and every trace': (observed) => {
    const meterProvider = new MeterProvider({ readers: [new QuietReader()] });
    return openTelemetry(observed, { tracerProvider: new BasicTracerProvider({ spanProcessors }), meterProvider });
  },
};

async function cpuPer(times: number, run: () => Promise<unknown>): Promise<number> {
  for (let warm = 0; warm < times / 4; warm += 1) await run();
  const before = process.cpuUsage();
  for (let call = 0; call < times; call += 1) await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
}

for (let round = 0; round < 3; round += 1) {
  const raw = await cpuPer(CALLS, rawCall);
  const call = await cpuPer(CALLS, () => router.chat({ model: 'bench/model', messages }));
  const longCall = await cpuPer(CALLS / 4, () => router.chat({ model: 'bench/model', messages: long }));
  const plan = await cpuPer(CALLS, () => router.explain({ model: 'bench/model', messages }));
  const rawStreamed = await cpuPer(STREAMS, rawStream);
  const streamed = await cpuPer(STREAMS, routedStream);
  console.log(
    `call ${call.toFixed(1)} µs (${(call - raw).toFixed(1)} above the stub) · 40 messages ${longCall.toFixed(1)} µs · ` +
      `explain ${plan.toFixed(1)} µs · chunk ${(streamed / 102).toFixed(2)} µs (${((streamed - rawStreamed) / 102).toFixed(2)} above the stub)`,
  );
}

for (const count of [8, 50, 300]) {
  const providers = Array.from({ length: count }, (_, index) =>
    openaiCompatible({ slug: `p${index}`, baseURL: 'http://stub', models, transport }),
  );
  const wide = createRouter({ providers });
  const times = CALLS / 4;
  const call = await cpuPer(times, () => wide.chat({ model: 'bench/model', messages }));
  const raw = await cpuPer(times, rawCall);
  const plan = await cpuPer(times, () => wide.explain({ model: 'bench/model', messages }));
  console.log(
    `${count} endpoints: call ${(call - raw).toFixed(1)} µs above the stub · explain ${(plan - raw).toFixed(1)} µs`,
  );
}

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
const observed = new Map<string, number[]>(Object.keys(OBSERVERS).map((name) => [name, []]));
for (let round = 0; round < 3; round += 1) {
  for (const [name, attach] of Object.entries(OBSERVERS)) {
    const detach = await attach(router);
    observed.get(name)?.push(await cpuPer(CALLS, () => router.chat({ model: 'bench/model', messages })));
    detach();
  }
}
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
const bare = median(observed.get('nothing attached') ?? []);
for (const [name, values] of observed) {
  console.log(`call with ${name}: ${median(values).toFixed(1)} µs (${(median(values) - bare).toFixed(1)} more)`);
}
await spanProcessors[0]?.shutdown();
