import type { Choice } from '../../protocol/chat-result.ts';

/** What is kept of an answer. */
export interface CachedAnswer {
  /** Generation id of the request that was answered. */
  readonly sourceId: string;
  /** Epoch milliseconds. */
  readonly storedAt: number;
  readonly expiresAt: number;
  readonly model: string;
  /** Display name. */
  readonly provider: string;
  readonly choices: readonly Choice[];
}

/** What a caller is told about the cache (gaps 9.4). */
export type CacheReport =
  | { readonly status: 'MISS'; readonly ttlSeconds: number }
  | {
      readonly status: 'HIT';
      /** What is left. */
      readonly ttlSeconds: number;
      readonly ageSeconds: number;
      /** Generation id of the request that was answered. */
      readonly sourceId: string;
    };

/** The answer that a text holds; what somebody else wrote there is none. */
export function readCachedAnswer(text: string | undefined, now: number): CachedAnswer | undefined {
  if (text === undefined) return undefined;
  try {
    const answer = JSON.parse(text) as CachedAnswer;
    return Array.isArray(answer.choices) && answer.expiresAt > now ? answer : undefined;
  } catch {
    return undefined;
  }
}

/** What is told about an answer from the cache. */
export function reportHit({ storedAt, expiresAt, sourceId }: CachedAnswer, now: number): CacheReport {
  return {
    status: 'HIT',
    ttlSeconds: Math.max(0, Math.ceil((expiresAt - now) / 1_000)),
    ageSeconds: Math.max(0, Math.floor((now - storedAt) / 1_000)),
    sourceId,
  };
}
