import type { InspectedRouter } from '../config/inspector.ts';
import type { LedgerRecord } from '../contracts/ledger.ts';
import type { ChatRequest } from '../protocol/chat-request.ts';
import { RouterError } from '../protocol/router-error.ts';
import type { RequestPage } from './wire.ts';

/** Letters of a prompt that stand for a token. */
const LETTERS_OF_TOKEN = 4;
/** Letters of the prompt that stands in for the one that was not kept. */
const MOST_LETTERS = 400_000;

/**
 * What a request like a recorded one would do now: the same model, preferences and length, with words of no meaning in
 * place of the prompt, which the ledger does not keep. Calls nobody.
 */
export async function explainAgain(
  router: InspectedRouter,
  { operation, requested, decision }: LedgerRecord,
): Promise<Pick<RequestPage, 'now' | 'refused'>> {
  if (operation !== 'chat' || decision === undefined) return {};
  const tokens = decision.likely_prompt_tokens ?? decision.prompt_tokens;
  const content = 'word'.repeat(Math.min(MOST_LETTERS, tokens * LETTERS_OF_TOKEN) / 4 || 1);
  const { order, ignore, only, allow_fallbacks, require_parameters, sort, max_price } = decision.preferences ?? {};
  const request = {
    model: requested,
    messages: [{ role: 'user', content }],
    max_tokens: decision.output_tokens,
    provider: {
      order,
      ignore,
      only: only?.at(0),
      allow_fallbacks,
      require_parameters,
      sort,
      max_price,
    },
  } as ChatRequest;
  try {
    const { steps, rejected } = await router.explain(request);
    return { now: { steps, rejected } };
  } catch (error) {
    if (RouterError.isInstance(error)) return { refused: error.message };
    throw error;
  }
}
