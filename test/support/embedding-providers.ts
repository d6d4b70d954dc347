import type { EndpointDeclaration } from '../../src/catalog/endpoint.ts';
import type { EmbeddingCall, Provider } from '../../src/contracts/provider.ts';
import type { Environment } from '../../src/platform/environment.ts';
import type { EmbeddingReply } from '../../src/contracts/provider-reply.ts';
import { type FailureKind, failure } from '../../src/contracts/failure.ts';

/** What a stub does with a call for embeddings. */
export type Embeds = (call: EmbeddingCall) => unknown;

/** A provider that does what it is told with calls for embeddings, and keeps them. */
export interface EmbeddingStub extends Provider {
  readonly calls: readonly EmbeddingCall[];
}

/** Makes a provider; one behaviour per call, the last for ever. */
export function embeddingStub(
  slug: string,
  behaviours: readonly Embeds[],
  offer: EndpointDeclaration = { outputModalities: ['embeddings'], price: { prompt: 1, completion: 0 } },
): EmbeddingStub {
  const calls: EmbeddingCall[] = [];
  return {
    slug,
    name: slug.toUpperCase(),
    models: { 'acme/embed': offer },
    calls,
    chat: () => Promise.resolve({ type: 'failed', failure: failure('server', 'not for chat', { status: 500 }) }),
    embed: (call) => {
      const behave = behaviours[Math.min(calls.length, behaviours.length - 1)];
      calls.push(call);
      return behave?.(call) as Promise<EmbeddingReply>;
    },
  };
}

/** Answers with these vectors, or with one good vector for each input. */
export function embedsWith(vectors?: readonly unknown[], usage = { prompt_tokens: 10 }): Embeds {
  return ({ request }) =>
    Promise.resolve({
      type: 'embedded',
      result: {
        vectors: vectors ?? request.inputs.map((_, index) => [index, 0.5]),
        usage: { ...usage, completion_tokens: 0, total_tokens: usage.prompt_tokens },
      },
    });
}

/** Fails in this way. */
export function failsWith(kind: FailureKind, details: Parameters<typeof failure>[2] = {}): Embeds {
  return () => Promise.resolve({ type: 'failed', failure: failure(kind, `failed: ${kind}`, details) });
}

/** Never settles and does not listen either. */
export const isDeaf: Embeds = () => new Promise(() => {});

/** Answers after some time of a clock, or when it is aborted. */
export function answersAfter(environment: Environment, ms: number): Embeds {
  return (call) =>
    new Promise((resolve) => {
      environment.setTimer(() => resolve(embedsWith()(call)), ms);
      call.signal.addEventListener('abort', () => resolve(failsWith('aborted')(call)));
    });
}
