import type { ChatResult } from '../../src/protocol/chat-result.ts';
import type { ChatChunk } from '../../src/protocol/chunk.ts';
import type { ChatRequest } from '../../src/protocol/chat-request.ts';
import type { RouterMetadata } from '../../src/protocol/metadata.ts';
import { RouterError } from '../../src/protocol/router-error.ts';
import type { RouterConfig } from '../../src/config/router.ts';
import { createRouter } from '../../src/index.ts';
import type { CallOptions, Router } from '../../src/router/router.ts';
import { memoryStore } from '../../src/storage/memory.ts';
import { type FakeEnvironment, fakeEnvironment } from '../../src/testing/fake-environment.ts';
import { type StubOptions, type Stubs, stubProviders } from './stub-provider.ts';
// Loaded by the first request that needs it, which takes real time; the clock of these tests has none.
import '../../src/core/selection/no-route.ts';
import '../../src/runtime/limits/cached-execution.ts';
import '../../src/runtime/pipeline/pipeline-execution.ts';

/** Short times, so that everything happens within seconds of the fake clock. */
export const TIMEOUTS = { connectMs: 200, firstTokenMs: 1_000, answerMs: 2_000, idleMs: 500, totalMs: 6_000 };

/** Longer than any request of these tests takes. */
export const LONG_MS = 120_000;

/** A router over stubs, on a fake clock. */
export interface Bench {
  readonly environment: FakeEnvironment;
  readonly router: Router;
  readonly stubs: Stubs;
}

/** Sets a router up. */
export function benchOf(
  providers: Readonly<Record<string, StubOptions>>,
  config: Omit<Partial<RouterConfig>, 'providers' | 'environment'> & { readonly seed?: number } = {},
): Bench {
  const { seed = 1, ...rest } = config;
  const environment = fakeEnvironment({ seed });
  const stubs = stubProviders(environment, providers);
  const router = createRouter({
    timeouts: TIMEOUTS,
    identitySecret: 'a secret of a test',
    state: memoryStore({ maxEntries: 100, now: environment.now }),
    ...rest,
    on: { warning: () => {}, ...rest.on },
    providers: stubs.providers,
    environment,
  });
  return { environment, router, stubs };
}

/** How one request of a test is made. */
export interface Asked extends CallOptions {
  readonly body?: Partial<ChatRequest>;
  readonly stream?: boolean;
  /** Leaves a stream after so many chunks. */
  readonly leaveAfter?: number | undefined;
}

/** How one request came out. */
export interface Outcome {
  readonly status: 'ok' | 'left' | 'failed' | 'aborted';
  readonly startedAt: number;
  readonly endedAt: number;
  readonly chunks: readonly ChatChunk[];
  readonly result?: ChatResult | undefined;
  readonly error?: unknown;
}

/** A request under way. */
export interface Running {
  /** Undefined as long as it runs. */
  readonly outcome: Outcome | undefined;
  readonly settled: Promise<Outcome>;
}

/** Makes a request and writes down how it comes out. Never rejects. */
export function ask({ router, environment }: Bench, asked: Asked = {}): Running {
  const { body, stream = false, leaveAfter, ...options } = asked;
  const request: ChatRequest = { messages: [{ role: 'user', content: 'Hello' }], model: 'acme/one', ...body };
  const startedAt = environment.now();
  const chunks: ChatChunk[] = [];

  async function run(): Promise<Pick<Outcome, 'status' | 'result'>> {
    if (!stream) return { status: 'ok', result: await router.chat(request, options) };
    for await (const chunk of router.stream(request, options)) {
      chunks.push(chunk);
      if (chunks.length === leaveAfter) return { status: 'left' };
    }
    return { status: 'ok' };
  }

  let outcome: Outcome | undefined;
  const finish = (how: Pick<Outcome, 'status' | 'result' | 'error'>): Outcome =>
    (outcome = { ...how, startedAt, endedAt: environment.now(), chunks });
  const settled = run().then(finish, (error: unknown) =>
    finish({ status: RouterError.isInstance(error) ? 'failed' : 'aborted', error }),
  );
  return {
    get outcome() {
      return outcome;
    },
    settled,
  };
}

/** Makes a request and lets as much time pass as it needs. */
export async function askAndWait(bench: Bench, asked?: Asked): Promise<Outcome> {
  const running = ask(bench, asked);
  await bench.environment.advance(LONG_MS);
  // What is loaded on first use takes real time.
  for (let turn = 0; running.outcome === undefined && turn < 1_000; turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  if (running.outcome === undefined) throw new Error('the request never ended');
  return running.outcome;
}

/** Everything that an answer says, whole or streamed. */
export function textOf({ chunks, result }: Outcome): string {
  if (result !== undefined) return result.choices[0]?.message.content ?? '';
  return chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
}

/** The metadata of an answer or of an error, when the request asked for it. */
export function metadataOf({ chunks, result, error }: Outcome): RouterMetadata | undefined {
  if (result !== undefined) return result.router_metadata;
  if (RouterError.isInstance(error)) return error.routerMetadata;
  return chunks.at(-1)?.router_metadata;
}

/** Status of an outcome as HTTP would tell it; undefined for a caller who went away. */
export function statusOf({ status, error }: Outcome): number | undefined {
  if (status === 'ok') return 200;
  return RouterError.isInstance(error) ? error.status : undefined;
}
