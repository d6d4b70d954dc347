/** What the checks for providers are made of. */
import { type Catalog, buildCatalog } from '../../catalog/catalog.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Provider } from '../../contracts/provider.ts';
import { normalizeChatRequest } from '../../core/normalize/normalize.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { ResultCollector } from '../../core/stream/collect.ts';
import { piecesOf } from '../../core/stream/pieces.ts';
import type { ChatRequest } from '../../protocol/chat-request.ts';
import type { FinishReason } from '../../protocol/chat-result.ts';
import type { PieceStream, ProviderReply } from '../../contracts/provider-reply.ts';
import type { AttemptFailure } from '../../contracts/failure.ts';
import type { RequestContext, RouterFacts } from '../../core/normalize/context.ts';
import type { FinishPiece, ReportedUsage, StreamPiece } from '../../contracts/stream-piece.ts';

/** What a model says in a scripted answer, in the words of no wire. */
export interface ScriptedAnswer {
  /** Pieces of text; a stream sends each as an event of its own. */
  readonly text?: readonly string[] | undefined;
  /** Pieces of reasoning, which come before the text. */
  readonly reasoning?: readonly string[] | undefined;
  /** Tool calls, which come after the text. Arguments are JSON in pieces; none at all for a call without arguments. */
  readonly toolCalls?: readonly ScriptedToolCall[] | undefined;
  readonly usage?: ScriptedUsage | undefined;
  /** Default `stop`, or `tool_calls` when there are some. */
  readonly finish?: Exclude<FinishReason, 'error'> | undefined;
}

/** A tool call in a {@link ScriptedAnswer}. */
export interface ScriptedToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: readonly string[];
}

/** Token counts in a {@link ScriptedAnswer}. Cached tokens are part of the prompt. */
export interface ScriptedUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens?: number | undefined;
}

/** What the upstream does with every call from now on. */
export type ScriptedExchange =
  /** Gives an answer, well-formed and complete. */
  | {
      readonly type: 'answer';
      readonly form: 'whole' | 'stream';
      readonly answer: ScriptedAnswer;
      /** Sends the body in two parts, cut at this byte. Only used of an upstream with the ability `bytes`. */
      readonly cutAt?: number | undefined;
    }
  /** Answers with an error status and, as its wire has it, a body with this message. */
  | {
      readonly type: 'error';
      readonly status: number;
      readonly message: string;
      readonly headers?: Readonly<Record<string, string>> | undefined;
    }
  /** Streams everything of the answer but its end, usage and finish included; then ends, ends early, or falls silent. */
  | { readonly type: 'unfinished'; readonly answer: ScriptedAnswer; readonly ending: 'end' | 'cut' | 'hang' }
  /** Streams the same, then an error as its wire has it inside streams, and ends. */
  | { readonly type: 'stream error'; readonly answer: ScriptedAnswer; readonly message: string }
  /**
   * Answers calls for embeddings with `scriptedVector` of each input, in the length that is requested. Only used of an
   * upstream with the ability `embeddings`; one without `bytes` may answer with vectors of its own.
   */
  | {
      readonly type: 'embeddings';
      /** Counted for each input, where the wire counts. */
      readonly tokensPerInput: number;
    }
  /** Takes the request and never answers. */
  | { readonly type: 'silence' }
  /** Sends this body, whatever it is. Only used of an upstream with the ability `bytes`. */
  | { readonly type: 'body'; readonly status: number; readonly contentType: string; readonly body: string };

/**
 * What a provider can do beside text. Checks of other things are left out.
 *
 * - `bytes`: its upstream uses HTTP, so bodies can be cut and made nonsense of, and requests can be looked at.
 * - `cancellation`: an abort reaches its upstream.
 * - `embeddings`: it has `embed`, and a model that makes embeddings.
 */
export type ProviderAbility = 'reasoning' | 'tools' | 'usage' | 'bytes' | 'cancellation' | 'embeddings';

/** A provider under check, and its upstream. */
export interface ProviderHarness {
  readonly provider: Provider;
  /** The provider's own key, if it has one; it must not show up in anything the provider says. */
  readonly apiKey?: string | undefined;
  readonly abilities: ReadonlySet<ProviderAbility>;
  /** Makes the upstream do this with every call from now on, and forget the calls before. */
  play(exchange: ScriptedExchange): void;
  /** Calls that the upstream took since {@link ProviderHarness.play}: with `bytes`, head and body of each as text. */
  readonly calls: readonly string[];
  /** Bytes of bodies that the upstream sent since {@link ProviderHarness.play}. Only used with `bytes`. */
  readonly sentBytes: number;
  /** Calls that the upstream is still busy with: neither answered to the end nor closed by the provider. */
  readonly underWay: number;
}

/** The requests of a check. */
interface Asking {
  readonly stream: boolean;
  /** Members of the request's body. */
  readonly body?: Partial<ChatRequest> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The account's own key. */
  readonly apiKey?: string | undefined;
}

/** All that came of a call. */
export interface ObservedCall {
  /** Everything the provider said, one after the other. */
  readonly pieces: readonly StreamPiece[];
  readonly failure: AttemptFailure | undefined;
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly usage: ReportedUsage | undefined;
  readonly finishes: readonly FinishPiece[];
}

/** Text of the prompt of every call. */
export const PROMPT = 'Which line is free? — 線路 🚦';

/** Makes one call and gives the provider's reply, as it is. */
export async function callOnce(harness: ProviderHarness, asking: Asking): Promise<ProviderReply> {
  const { request, endpoint } = requestFor(harness.provider, asking);
  const { signal = new AbortController().signal, apiKey } = asking;
  const progress = { connecting: ignore, connected: ignore, sending: ignore };
  return harness.provider.chat({ request, endpoint, apiKey, signal, progress });
}

/** Makes one call and reads it to its end. */
export async function ask(harness: ProviderHarness, asking: Asking): Promise<ObservedCall> {
  return outcomeOf(await callOnce(harness, asking));
}

/** Reads a reply to its end. */
export async function outcomeOf(reply: ProviderReply): Promise<ObservedCall> {
  if (reply.type === 'failed') return summarize([{ type: 'failure', failure: reply.failure }]);
  return summarize(reply.type === 'whole' ? piecesOf(reply.result) : await readAll(reply.stream));
}

/** All pieces of a stream. */
export async function readAll(stream: PieceStream): Promise<readonly StreamPiece[]> {
  const pieces: StreamPiece[] = [];
  for (let read = await stream.read(); read !== undefined; read = await stream.read()) pieces.push(...read);
  return pieces;
}

function summarize(pieces: readonly StreamPiece[]): ObservedCall {
  const collector = new ResultCollector();
  for (const piece of pieces) collector.add(piece);
  const { choices, usage } = collector.result();
  const message = choices[0]?.message;
  const objects = pieces.filter((piece) => typeof piece !== 'string');
  return {
    pieces,
    usage,
    failure: objects.find((piece) => piece.type === 'failure')?.failure,
    finishes: objects.filter((piece) => piece.type === 'finish'),
    text: message?.content ?? '',
    reasoning: message?.reasoning ?? '',
    toolCalls: (message?.tool_calls ?? []).map((call) => ({ id: call.id, ...call.function })),
  };
}

/** A request for the first model of a provider, as the router would hand it over. */
function requestFor(provider: Provider, { stream, body }: Asking): { request: NormalizedRequest; endpoint: Endpoint } {
  const [model = `${provider.slug}/check`] = modelsOf(provider);
  const checked = normalizeChatRequest(
    { model, messages: [{ role: 'user', content: PROMPT }], stream, ...body },
    CHECK_CONTEXT,
    routerFacts(buildCatalog([provider])),
  );
  if (!checked.ok) throw new Error(`the check's own request is wrong: ${checked.fault.message}`);
  const endpoint = checked.value.targets[0]?.endpoints[0];
  if (endpoint === undefined) throw new Error('the provider under check must declare a model, or accept any');
  return { request: checked.value, endpoint };
}

/** What comes with every request of a check besides its body. */
export const CHECK_CONTEXT: RequestContext = {
  id: 'gen-1-check',
  created: 1,
  account: { id: 'check' },
  endUser: 'user_check',
  wantsMetadata: false,
};

/** What a router with nothing but this catalog knows. */
export function routerFacts(catalog: Catalog): RouterFacts {
  return { catalog, policy: {}, presets: {}, routerModels: new Set(), docsUrl: '' };
}

/** Models that a provider declares. */
export function modelsOf({ models }: Provider): readonly string[] {
  return Object.keys(models);
}

function ignore(): void {}

/** A check that every provider must pass. */
export interface ProviderCheck {
  /** What must hold, as a sentence. */
  readonly name: string;
  /** What the provider must be able to do for this check to mean something. */
  readonly needs: readonly ProviderAbility[];
  /** @throws Error that says what did not hold. */
  readonly run: (harness: ProviderHarness) => Promise<void>;
}

/** Makes a check. */
export function providerCheck(
  name: string,
  needs: readonly ProviderAbility[],
  run: (harness: ProviderHarness) => Promise<void>,
): ProviderCheck {
  return { name, needs, run };
}

/** Fails unless two values are the same JSON, whatever the order of their members. */
export function expectSame(actual: unknown, expected: unknown, what: string): void {
  const [got, wanted] = [canonical(actual), canonical(expected)];
  if (got !== wanted) throw new Error(`${what} is ${wanted}, but was ${got}`);
}

/** Fails unless a condition holds; what comes after it may rely on it. */
export function expectHolds(condition: unknown, what: string): asserts condition {
  if (condition !== true) throw new Error(`does not hold: ${what}`);
}

/** Waits until something holds; fails when it does not within two seconds. */
export async function expectSoon(holds: () => boolean, what: string): Promise<void> {
  for (let waited = 0; !holds(); waited += TURN_MS) {
    if (waited > SOON_MS) throw new Error(`does not hold after ${SOON_MS} ms: ${what}`);
    await pause(TURN_MS);
  }
}

/** Waits for a promise, but not for ever. */
export async function expectSettled<Value>(promise: Promise<Value>, what: string): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`does not happen within ${SOON_MS} ms: ${what}`)), SOON_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Lets so many milliseconds pass. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

const TURN_MS = 5;
const SOON_MS = 2_000;

function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_, member: unknown) =>
      typeof member === 'object' && member !== null && !Array.isArray(member)
        ? Object.fromEntries(Object.entries(member).sort(([left], [right]) => (left < right ? -1 : 1)))
        : member,
    ) ?? 'nothing'
  );
}
