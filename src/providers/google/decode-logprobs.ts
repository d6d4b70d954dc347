import type { Logprobs, TokenLogprob } from '../../protocol/chat-result.ts';
import { isJsonObject } from '../../protocol/json.ts';

/** Reads `logprobsResult`: the chosen tokens, and for each place those that were likeliest there. */
export function decodeLogprobs(value: unknown): Logprobs | undefined {
  if (!isJsonObject(value)) return undefined;
  const top = listOf(value['topCandidates']);
  const content = listOf(value['chosenCandidates']).flatMap((chosen, index): readonly TokenLogprob[] => {
    const place = top[index];
    const others = isJsonObject(place) ? listOf(place['candidates']).flatMap(readToken) : [];
    return readToken(chosen).map((token) => ({ ...token, top_logprobs: others }));
  });
  return content.length > 0 ? { content } : undefined;
}

function readToken(value: unknown): readonly Omit<TokenLogprob, 'top_logprobs'>[] {
  if (!isJsonObject(value)) return [];
  const { token, logProbability: logprob } = value;
  if (typeof token !== 'string' || typeof logprob !== 'number') return [];
  return [{ token, logprob, bytes: [...new TextEncoder().encode(token)] }];
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
