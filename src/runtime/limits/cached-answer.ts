import type { CacheReport } from '../../core/limits/cache-rule.ts';
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
