/** Counts the tokens of a prompt, by the provider or by an estimate. */
import { explainNoRoute } from '../../core/selection/no-route.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import { inVocabularyOf, promptParts } from '../../core/tokens/prompt-parts.ts';
import { likelyTextTokens } from '../../core/tokens/likely-tokens.ts';
import { loadGptTokenizer } from '../../platform/gpt-tokenizer.ts';
import { yieldTurn, valueWithin } from '../../platform/wait.ts';
import type { PdfContent } from '../../core/tokens/pdf-pages.ts';
import type { ApiFormatName } from '../../protocol/api-format.ts';
import type { Message } from '../../protocol/message.ts';
import { isJsonObject } from '../../protocol/json.ts';
import { RouterError } from '../../protocol/router-error.ts';
import { pdfContent } from './pdf-text.ts';
import type { RuntimeServices } from './services.ts';
import { endpointsNow, planRequest } from './plan.ts';
import type { PreparedRequest } from '../pipeline/prepared-request.ts';

/** How many tokens a prompt has, and who says so. */
export interface TokenCount {
  readonly input_tokens: number;
  /**
   * `provider`: the provider that would answer first; `gpt-tokenizer`: that package, with a factor for the vocabulary
   * of the model's author; `estimate`: by script and kind of content, mostly within 15 %, or of media whose size is not
   * in the request, such as an image behind an address.
   */
  readonly counted_by: 'provider' | 'gpt-tokenizer' | 'estimate';
  /** Name of the provider that counted. */
  readonly provider?: string | undefined;
}

/** Milliseconds that a provider may take to count. Clients ask before each turn, and an estimate is there at once. */
const MOST_MS = 5_000;

/**
 * A body that is to be counted as one that is to be answered: in some API formats those have fields that are required.
 */
export function countable(body: unknown, apiFormat: ApiFormatName | undefined): unknown {
  if (apiFormat !== 'messages' || !isJsonObject(body)) return body;
  const { thinking } = body;
  const budget = isJsonObject(thinking) ? thinking['budget_tokens'] : undefined;
  return { ...body, max_tokens: (typeof budget === 'number' ? budget : 0) + 1 };
}

/** Counts the tokens of a request that was understood. */
export async function countPrepared(
  services: RuntimeServices,
  prepared: PreparedRequest,
  signal: AbortSignal = new AbortController().signal,
): Promise<TokenCount> {
  const { request } = prepared;
  // What plugins would change or keep back must not reach a provider as it came.
  const isPlain = prepared.plugins.length === 0 && prepared.tools.size === 0;
  const first = await firstEndpoint(services, prepared);
  const endpoint = isPlain ? first : undefined;
  if (endpoint !== undefined) {
    const counted = await askProvider(services, prepared, endpoint, signal);
    if (counted !== undefined) return counted;
  }
  const model = endpoint?.model ?? request.targets[0]?.model ?? '';
  const { texts, fixedTokens, isGuess } = promptParts(request, model, await pdfsOf(request.messages));
  const count = await loadGptTokenizer('o200k_base');
  const textTokens = count === undefined ? likelyTextTokens(texts) : await countInTurns(texts, count, signal);
  return {
    input_tokens: inVocabularyOf(model, textTokens, fixedTokens),
    counted_by: count === undefined || isGuess ? 'estimate' : 'gpt-tokenizer',
  };
}

/** PDFs of a prompt that are read; the text of others is guessed. */
const MOST_PDFS = 16;

/** What the PDFs of a prompt hold, by their base64. */
export async function pdfsOf(messages: readonly Message[]): Promise<ReadonlyMap<string, PdfContent>> {
  const pdfs = new Map<string, PdfContent>();
  for (const { content } of messages) {
    if (typeof content === 'string') continue;
    for (const part of content ?? []) {
      const data = part.type === 'file' ? part.file.file_data : undefined;
      if (data?.startsWith('data:application/pdf;base64,') !== true) continue;
      const base64 = data.slice(data.indexOf(',') + 1);
      if (!pdfs.has(base64) && pdfs.size < MOST_PDFS) pdfs.set(base64, await pdfContent(base64));
    }
  }
  return pdfs;
}

/** The endpoint that would be called first; none where nobody may get the prompt. */
async function firstEndpoint(services: RuntimeServices, { request }: PreparedRequest): Promise<Endpoint | undefined> {
  try {
    const plan = await planRequest(services, request);
    const noRoute =
      plan.steps.length === 0 ? explainNoRoute(plan, request, services.docsUrl, services.facts.catalog) : undefined;
    // What the account may not use, it may not count either.
    if (noRoute?.status === 403) throw new RouterError(noRoute);
    return endpointsNow(services, plan)[0];
  } catch (error) {
    if (RouterError.isInstance(error) && error.status !== 403) return undefined;
    throw error;
  }
}

async function askProvider(
  { environment, providers }: RuntimeServices,
  { request }: PreparedRequest,
  endpoint: Endpoint,
  signal: AbortSignal,
): Promise<TokenCount | undefined> {
  const provider = providers.get(endpoint.provider);
  if (provider?.countTokens === undefined) return undefined;
  const apiKey = endpoint.byok ? request.account.providerKeys?.[endpoint.provider]?.apiKey : undefined;
  const own = new AbortController();
  const counting = provider.countTokens({ request, endpoint, apiKey, signal: AbortSignal.any([signal, own.signal]) });
  const counted = await valueWithin(environment, counting, MOST_MS);
  if (counted === undefined) own.abort();
  signal.throwIfAborted();
  if (counted === undefined) return undefined;
  // Members of the provider's own, such as what context management would leave, are for callers of its API format.
  const native = request.native === undefined ? {} : counted.native;
  return { ...native, input_tokens: counted.inputTokens, counted_by: 'provider', provider: endpoint.providerName };
}

/** Characters that are counted at a time, in one turn, and in all: of longer prompts the rest is taken to be alike. */
const PIECE = 8_192;
const TURN = 65_536;
const MOST = 2_000_000;

async function countInTurns(
  texts: readonly string[],
  count: (text: string) => number,
  signal: AbortSignal,
): Promise<number> {
  const total = texts.reduce((sum, text) => sum + text.length, 0);
  let [tokens, done, turn] = [0, 0, 0];
  for (const text of texts) {
    for (let from = 0; from < text.length && done < MOST; from += PIECE) {
      const piece = text.slice(from, from + PIECE);
      tokens += count(piece);
      done += piece.length;
      turn += piece.length;
      if (turn < TURN) continue;
      turn = 0;
      await yieldTurn();
      signal.throwIfAborted();
    }
  }
  return done === 0 ? 0 : Math.ceil((tokens * total) / done);
}
