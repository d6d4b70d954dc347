import {
  type AnswerScript,
  type ChatChunk,
  type ChatRequest,
  type ChatResult,
  type Plugin,
  type Router,
  type RouterConfig,
  type WarningEvent,
  createRouter,
  simulated,
} from 'signalbox';
import { type FakeEnvironment, fakeEnvironment } from 'signalbox/testing';

/** A plugin that takes any options and does nothing, in the place of one that a test does not need. */
export function standIn(id: string): Plugin {
  return { id, whenItThrows: 'fail', parseOptions: (options) => ({ ok: true, options }) };
}

/** A router whose only provider says what a test has written, and what was heard of it. */
export interface PluginBench {
  readonly router: Router;
  readonly environment: FakeEnvironment;
  readonly warnings: WarningEvent[];
}

/** Makes a {@link PluginBench}; the model is `acme/one` at 1 and 2 USD per million tokens. */
export function pluginBench(answer: AnswerScript | string, config: Omit<RouterConfig, 'providers'> = {}): PluginBench {
  const environment = fakeEnvironment();
  const warnings: WarningEvent[] = [];
  const provider = simulated({
    slug: 'acme',
    name: 'Acme',
    models: {
      'acme/one': { price: { prompt: 1, completion: 2 } },
      'acme/two': { price: { prompt: 10, completion: 20 } },
    },
    answer: typeof answer === 'string' ? () => answer : answer,
    firstTokenMs: 0,
    tokensPerSecond: 0,
    environment,
  });
  const router: Router = createRouter({
    environment,
    on: { warning: (warning) => void warnings.push(warning) },
    ...config,
    providers: [provider],
  });
  return { router, environment, warnings };
}

/** A request for `acme/one` that says hello, and more. */
export function hello(more: Partial<ChatRequest> = {}): ChatRequest {
  return { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }], ...more };
}

/** What a stream said, put together. */
export interface Streamed {
  readonly chunks: readonly ChatChunk[];
  readonly text: string;
  /** Thrown at the end. */
  readonly error: unknown;
}

/** Reads a stream to its end. */
export async function streamed(router: Router, request: ChatRequest, metadata = false): Promise<Streamed> {
  const chunks: ChatChunk[] = [];
  let error: unknown;
  try {
    for await (const chunk of router.stream(request, { metadata })) chunks.push(chunk);
  } catch (thrown) {
    error = thrown;
  }
  return { chunks, error, text: chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('') };
}

/** Asks both ways, one after the other: what was said, in one form. */
export async function* bothWays(
  router: Router,
  request: ChatRequest,
): AsyncGenerator<readonly [way: 'whole' | 'streamed', said: Said]> {
  yield ['whole', ofWhole(await router.chat(request, { metadata: true }))];
  const { chunks, text, error } = await streamed(router, request, true);
  if (error !== undefined) throw error;
  yield ['streamed', ofChunks(chunks, text)];
}

/** All that {@link bothWays} gives. */
export async function saidBothWays(router: Router, request: ChatRequest): Promise<readonly Said[]> {
  const all: Said[] = [];
  for await (const [, said] of bothWays(router, request)) all.push(said);
  return all;
}

/** What an answer said, whole or streamed. */
export interface Said {
  readonly text: string;
  readonly finish: string | null | undefined;
  readonly usage: ChatResult['usage'];
  readonly toolCalls: readonly { readonly name: string | undefined; readonly index: number }[];
  readonly details: readonly { readonly type: string }[];
  readonly annotations: readonly object[];
  readonly metadata: ChatResult['router_metadata'];
  readonly model: string | undefined;
}

function ofWhole({ choices, usage, router_metadata: metadata, model }: ChatResult): Said {
  const message = choices[0]?.message;
  return {
    text: message?.content ?? '',
    finish: choices[0]?.finish_reason,
    usage,
    toolCalls: (message?.tool_calls ?? []).map((call) => ({ name: call.function.name, index: call.index })),
    details: message?.reasoning_details ?? [],
    annotations: message?.annotations ?? [],
    metadata,
    model,
  };
}

function ofChunks(chunks: readonly ChatChunk[], text: string): Said {
  const deltas = chunks.flatMap((chunk) => chunk.choices[0]?.delta ?? []);
  const calls = deltas.flatMap((delta) => delta.tool_calls ?? []).filter((call) => call.function?.name !== undefined);
  return {
    text,
    finish: chunks.flatMap((chunk) => chunk.choices[0]?.finish_reason ?? []).at(-1),
    usage: chunks.at(-1)?.usage,
    toolCalls: calls.map((call) => ({ name: call.function?.name, index: call.index })),
    details: deltas.flatMap((delta) => delta.reasoning_details ?? []),
    annotations: deltas.flatMap((delta) => delta.annotations ?? []),
    metadata: chunks.at(-1)?.router_metadata,
    model: chunks[0]?.model,
  };
}
