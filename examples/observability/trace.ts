import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { context } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { createRouter, defineServerTool, simulated } from 'signalbox';
import { openTelemetry } from 'signalbox/opentelemetry';

// Where spans go. A program would have an exporter to its collector here, or use `NodeSDK`.
const exporter = new InMemorySpanExporter();
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());

// Two providers of one model. The first is overloaded; the second calls a tool and then answers.
const models = { 'acme/one': { price: { prompt: 1, completion: 2 } } };
const timetable = defineServerTool({
  type: 'router:timetable',
  describe: () => ({ description: 'Knows all trains.', parameters: { type: 'object', properties: {} } }),
  execute: async () => {
    await new Promise((resolve) => setTimeout(resolve, 25));
    return { result: '17:04', used: { cost: 0.001 } };
  },
});
const router = createRouter({
  providers: [
    simulated({ slug: 'east', models, failures: [{ kind: 'overloaded' }], firstTokenMs: 40 }),
    simulated({
      slug: 'west',
      models,
      firstTokenMs: 60,
      tokensPerSecond: 200,
      answer: ({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? 'The next train leaves at 17:04.'
          : { text: '', toolCalls: [{ name: 'timetable', arguments: {} }] },
    }),
  ],
  serverTools: [timetable],
  on: { warning: () => {} },
});
await openTelemetry(router, { tracerProvider });

await router.chat({
  model: 'acme/one',
  messages: [{ role: 'user', content: 'When is the next train?' }],
  tools: [{ type: 'router:timetable' }],
  provider: { order: ['east', 'west'] },
});
await router.close();

const spans = exporter.getFinishedSpans();
const msOf = ([seconds, nanos]: readonly [number, number]): number => seconds * 1_000 + nanos / 1e6;
const origin = Math.min(...spans.map(({ startTime }) => msOf(startTime)));

/** What a line says besides the name. */
function about({ attributes }: ReadableSpan): string {
  return [
    attributes['signalbox.attempt'] === undefined ? undefined : attributes['gen_ai.provider.name'],
    attributes['error.type'],
    attributes['http.response.status_code'],
    attributes['gen_ai.usage.input_tokens'] === undefined
      ? undefined
      : `${String(attributes['gen_ai.usage.input_tokens'])}+${String(attributes['gen_ai.usage.output_tokens'])} tokens`,
    attributes['signalbox.cost_usd'] === undefined
      ? undefined
      : `$${Number(attributes['signalbox.cost_usd']).toFixed(6)}`,
  ]
    .filter((part) => part !== undefined)
    .join(' ');
}

function print(parent: string | undefined, depth: number): void {
  const below = spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent);
  for (const span of below.toSorted((left, right) => msOf(left.startTime) - msOf(right.startTime))) {
    const start = (msOf(span.startTime) - origin).toFixed(0).padStart(4);
    const length = msOf(span.duration).toFixed(0).padStart(4);
    console.log(`${start} ms ${length} ms  ${`${'  '.repeat(depth)}${span.name}`.padEnd(26)} ${about(span)}`.trimEnd());
    print(span.spanContext().spanId, depth + 1);
  }
}

console.log('  begin  length  span');
print(undefined, 0);
