/** Checks for providers: embeddings. */
import {
  CHECK_CONTEXT,
  type ProviderCheck,
  type ProviderHarness,
  providerCheck,
  expectHolds,
  expectSame,
  expectSettled,
  expectSoon,
  modelsOf,
  routerFacts,
} from './harness.ts';
import { NONSENSE, STATUS_KINDS } from './failure-checks.ts';
import { buildCatalog } from '../../catalog/catalog.ts';
import { normalizeEmbeddingRequest } from '../../core/normalize/normalize-embedding.ts';
import type { EmbeddingRequest } from '../../protocol/embedding.ts';
import type { EmbeddingReply } from '../../contracts/provider-reply.ts';
import type { AttemptFailure } from '../../contracts/failure.ts';
import type { UpstreamEmbeddings } from '../../contracts/stream-piece.ts';

const TEXTS = ['Grüße', '線路 🚦👩‍🚒', ' "a\\b"\n', 'Which line is free?'];
/** More than any provider is known to take in one call. */
const MANY = Array.from({ length: 2_100 }, (_, index) => `Line ${index}`);
const TOKENS_PER_INPUT = 3;

/** Asks for embeddings that must come. */
async function embedded(harness: ProviderHarness, asking: EmbeddingAsking): Promise<UpstreamEmbeddings> {
  harness.play({ type: 'embeddings', tokensPerInput: TOKENS_PER_INPUT });
  const reply = await embedOnce(harness, asking);
  if (reply.type === 'failed') throw new Error(`good embeddings are a failure: ${reply.failure.message}`);
  return reply.result;
}

async function failed(harness: ProviderHarness, asking: Partial<EmbeddingAsking> = {}): Promise<AttemptFailure> {
  const reply = await embedOnce(harness, { input: TEXTS, ...asking });
  if (reply.type !== 'failed') throw new Error('there is no failure');
  return reply.failure;
}

function numbersOf({ vectors }: UpstreamEmbeddings): readonly (readonly number[])[] {
  return vectors.map((vector) => Array.from(vector));
}

/** Checks of providers that make embeddings. */
export const embeddingChecks: readonly ProviderCheck[] = [
  providerCheck('gives a vector for each input, in their order', ['embeddings'], async (harness) => {
    const vectors = numbersOf(await embedded(harness, { input: TEXTS }));
    expectSame(vectors.length, TEXTS.length, 'the number of vectors');
    expectSame(new Set(vectors.map(String)).size, TEXTS.length, 'the number of different vectors');
    expectSame(new Set(vectors.map(({ length }) => length)).size, 1, 'the number of different lengths');
    const reversed = numbersOf(await embedded(harness, { input: TEXTS.toReversed() }));
    expectSame(reversed.toReversed(), vectors, 'the vectors of the same inputs in another order');
  }),

  providerCheck('gives the vectors as they came', ['embeddings', 'bytes'], async (harness) => {
    const result = await embedded(harness, { input: TEXTS });
    expectSame(
      numbersOf(result),
      TEXTS.map((text) => scriptedVector(text)),
      'the vectors',
    );
  }),

  providerCheck('gives vectors of the length that is asked for', ['embeddings'], async (harness) => {
    const vectors = numbersOf(await embedded(harness, { input: TEXTS, dimensions: 12 }));
    expectSame(
      vectors.map(({ length }) => length),
      TEXTS.map(() => 12),
      'the lengths',
    );
  }),

  providerCheck('keeps the order of as many inputs as a request may have', ['embeddings'], async (harness) => {
    const vectors = numbersOf(await embedded(harness, { input: MANY.slice(0, MOST_INPUTS) }));
    const [last] = numbersOf(await embedded(harness, { input: [MANY[MOST_INPUTS - 1] ?? ''] }));
    expectSame(vectors.length, MOST_INPUTS, 'the number of vectors');
    expectSame(new Set(vectors.map(String)).size, MOST_INPUTS, 'the number of different vectors');
    expectSame(vectors.at(-1), last, 'the vector of the last input');
  }),

  providerCheck('counts the tokens of all inputs', ['embeddings', 'usage', 'bytes'], async (harness) => {
    for (const input of [TEXTS, MANY.slice(0, MOST_INPUTS)]) {
      const { usage } = await embedded(harness, { input });
      // Some wires count nothing; what is counted must be right.
      if (usage === undefined) continue;
      const tokens = input.length * TOKENS_PER_INPUT;
      expectSame([usage.prompt_tokens, usage.total_tokens], [tokens, tokens], 'prompt and total tokens');
    }
  }),

  providerCheck('tells what each status means for embeddings', ['embeddings', 'bytes'], async (harness) => {
    for (const [status, kind] of STATUS_KINDS) {
      harness.play({ type: 'error', status, message: 'It did not work' });
      const { kind: reported, status: seen } = await failed(harness);
      expectSame([reported, seen], [kind, status], `the kind and status of ${status}`);
      expectSame(harness.calls.length, 1, `the number of calls after a ${status}`);
    }
  }),

  providerCheck(
    "uses the account's own key for embeddings, and shows no key",
    ['embeddings', 'bytes'],
    async (harness) => {
      const apiKey = 'sk-own-key-of-the-account-0123456789';
      harness.play({ type: 'error', status: 401, message: `Incorrect API key provided: ${apiKey}` });
      const failure = await failed(harness, { apiKey });
      expectHolds(harness.calls[0]?.includes(apiKey) === true, 'the key of the account is sent');
      expectHolds(!JSON.stringify(failure).includes(apiKey), 'the failure does not hold the key');
    },
  ),

  providerCheck('takes nonsense for no embeddings, and never throws', ['embeddings', 'bytes'], async (harness) => {
    for (const [contentType, body] of NONSENSE) {
      harness.play({ type: 'body', status: 200, contentType, body });
      const reply = await embedOnce(harness, { input: TEXTS });
      expectHolds(reply.type === 'failed' || reply.result.vectors.length === 0, `nothing is made of ${body}`);
    }
  }),

  providerCheck('ends a call for embeddings that is given up', ['embeddings', 'cancellation'], async (harness) => {
    harness.play({ type: 'silence' });
    const before = await expectSettled(failed(harness, { signal: AbortSignal.abort() }), 'a reply');
    expectSame(before.kind, 'aborted', 'the kind of the failure of a call that never began');
    const controller = new AbortController();
    const called = failed(harness, { signal: controller.signal });
    await expectSoon(() => harness.underWay === 1, 'the upstream is called');
    controller.abort();
    const { kind } = await expectSettled(called, 'a reply to a call that was given up');
    expectSame(kind, 'aborted', 'the kind of the failure');
    await expectSoon(() => harness.underWay === 0, 'the upstream is told that nobody waits for it');
  }),
];

/** Inputs of the largest request (gaps 7.4). */
const MOST_INPUTS = 2_048;

/** The requests of a check for embeddings. */
interface EmbeddingAsking {
  readonly input: readonly string[];
  readonly dimensions?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The account's own key. */
  readonly apiKey?: string | undefined;
}

/** Makes one call for embeddings and gives the provider's reply, as it is. */
async function embedOnce(harness: ProviderHarness, asking: EmbeddingAsking): Promise<EmbeddingReply> {
  const { provider } = harness;
  const { input, dimensions, signal = new AbortController().signal, apiKey } = asking;
  if (provider.embed === undefined) throw new Error('the provider under check has the ability, but no `embed`');
  const { endpoint, request } = requestFor(harness, { input, ...(dimensions === undefined ? {} : { dimensions }) });
  const progress = { connecting: ignore, connected: ignore, sending: ignore };
  return provider.embed({ request, endpoint, apiKey, signal, progress });
}

/** A request for the first model that makes embeddings, or may make some. */
function requestFor(
  { provider }: ProviderHarness,
  body: Omit<EmbeddingRequest, 'model'>,
): Pick<Parameters<NonNullable<ProviderHarness['provider']['embed']>>[0], 'request' | 'endpoint'> {
  const catalog = buildCatalog([provider]);
  const declared = modelsOf(provider);
  const model =
    declared.find((id) => catalog.endpoints(id).some((one) => one.outputModalities?.has('embeddings') === true)) ??
    declared[0] ??
    `${provider.slug}/check`;
  const checked = normalizeEmbeddingRequest({ model, ...body }, CHECK_CONTEXT, routerFacts(catalog));
  if (!checked.ok) throw new Error(`the check's own request is wrong: ${checked.fault.message}`);
  const endpoint = checked.value.targets[0]?.endpoints[0];
  if (endpoint === undefined) throw new Error('the provider under check must declare a model, or accept any');
  return { request: checked.value, endpoint };
}

function ignore(): void {}

/** Length of scripted vectors when nobody requires another. */
const USUAL_LENGTH = 4;
const STEPS = 4_096;

/**
 * The vector with which a scripted upstream answers for an input: the same for the same text, and another for another
 * one. Its numbers are exact as 32-bit floats, in base64 and in decimals.
 *
 * @param length - How many numbers were requested. Default 4.
 */
export function scriptedVector(text: string, length: number = USUAL_LENGTH): readonly number[] {
  let state = 7;
  for (let at = 0; at < text.length; at += 1) state = (Math.imul(state, 31) + text.charCodeAt(at)) >>> 0;
  return Array.from({ length }, () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return (state % STEPS) / STEPS - 0.5;
  });
}
