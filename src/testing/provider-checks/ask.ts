import { type Catalog, buildCatalog } from '../../catalog/catalog.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { AttemptFailure } from '../../core/fallback/failure.ts';
import { type RequestContext, type RouterFacts, normalizeChatRequest } from '../../core/normalize/normalize.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import { ResultCollector } from '../../core/stream/collect.ts';
import type { FinishPiece, ReportedUsage, StreamPiece } from '../../core/stream/pieces.ts';
import { scatter } from '../../core/stream/scatter.ts';
import type { ChatRequest } from '../../protocol/chat-request.ts';
import type { Provider } from '../../providers/provider.ts';
import type { PieceStream, ProviderReply } from '../../providers/provider-reply.ts';
import type { ProviderHarness } from './harness.ts';

/** How a check asks. */
export interface Asking {
  readonly stream: boolean;
  /** Members of the request's body. */
  readonly body?: Partial<ChatRequest> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The account's own key. */
  readonly apiKey?: string | undefined;
}

/** All that came of a call. */
export interface Outcome {
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
export async function ask(harness: ProviderHarness, asking: Asking): Promise<Outcome> {
  return outcomeOf(await callOnce(harness, asking));
}

/** Reads a reply to its end. */
export async function outcomeOf(reply: ProviderReply): Promise<Outcome> {
  if (reply.type === 'failed') return summarize([{ type: 'failure', failure: reply.failure }]);
  return summarize(reply.type === 'whole' ? scatter(reply.result) : await readAll(reply.stream));
}

/** All pieces of a stream. */
export async function readAll(stream: PieceStream): Promise<readonly StreamPiece[]> {
  const pieces: StreamPiece[] = [];
  for (let read = await stream.read(); read !== undefined; read = await stream.read()) pieces.push(...read);
  return pieces;
}

function summarize(pieces: readonly StreamPiece[]): Outcome {
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
