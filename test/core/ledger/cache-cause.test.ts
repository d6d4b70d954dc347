import { describe, expect, it } from 'vitest';
import { type AskedPrompt, cacheReport, type CacheRules, movedBecause } from '../../../src/core/ledger/cache-cause.ts';
import { printOf } from '../../../src/core/ledger/prompt-print.ts';
import { failure } from '../../../src/contracts/failure.ts';
import type { PromptCacheReport } from '../../../src/contracts/prompt-cache.ts';
import type { Message } from '../../../src/protocol/message.ts';
import { sceneOf } from '../../support/requests.ts';

const RULES: CacheRules = { keptMs: 300_000, leastTokens: 1_024, leastForSome: 1_024, needsMarks: false };
const said = (count: number, edited?: number): readonly Message[] =>
  Array.from({ length: count }, (_, index) => ({
    role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `${index === edited ? 'edited ' : ''}${index} `.repeat(100),
  }));
const asked = (changes: Partial<AskedPrompt> = {}, messages = said(4)): AskedPrompt => ({
  endpoint: { id: 'a#m', model: 'm', provider: 'a' },
  print: printOf({ messages, tools: [] }, 1),
  startedAt: 0,
  at: 0,
  endedAt: 1_000,
  promptTokens: 8_000,
  cachedTokens: 0,
  writtenTokens: 0,
  marked: false,
  ...changes,
});

interface Case {
  readonly now?: Partial<AskedPrompt>;
  readonly last?: Partial<AskedPrompt> | null;
  readonly messages?: readonly Message[];
  readonly rules?: Partial<CacheRules>;
  readonly servedElsewhere?: boolean;
}

function reportOf({ now, last = {}, messages = said(6), rules, servedElsewhere = false }: Case): PromptCacheReport {
  return cacheReport({
    now: asked({ startedAt: 60_000, at: 60_000, promptTokens: 9_000, ...now }, messages),
    last: last === null ? undefined : asked(last),
    servedElsewhere,
    rules: { ...RULES, ...rules },
    moved: () => 'it failed: server',
    premiumUsd: 1e-6,
  });
}

describe('why a prompt was not in its cache', () => {
  it.each<[string, Case, Partial<PromptCacheReport>]>([
    ['the first of its session', { last: null }, { cause: 'first', expected_tokens: 0, lost_usd: 0 }],
    ['one that another instance has served', { last: null, servedElsewhere: true }, { cause: 'evicted_or_unknown' }],
    ['one whose last was served elsewhere', { servedElsewhere: true }, { cause: 'evicted_or_unknown' }],
    ['what was cached', { now: { cachedTokens: 7_900 } }, { cause: undefined, expected_tokens: 8_000 }],
    ['a long pause', { now: { startedAt: 300_001 } }, { cause: 'expired', lost_usd: 0.008 }],
    ['another model', { now: { endpoint: { id: 'a#n', model: 'n', provider: 'a' } } }, { cause: 'model_changed' }],
    [
      'another endpoint',
      { now: { endpoint: { id: 'b#m', model: 'm', provider: 'b' } } },
      { cause: 'other_endpoint', moved: 'it failed: server' },
    ],
    [
      'an edited message',
      { messages: said(6, 1), now: { cachedTokens: 2_000 } },
      { cause: 'message_edited', at: 'messages[1]', lost_usd: 0.006 },
    ],
    [
      'an edited message whose beginning was evicted as well',
      { messages: said(6, 3), now: { cachedTokens: 0 } },
      { cause: 'evicted_or_unknown' },
    ],
    [
      'a change that costs next to nothing',
      { messages: said(6, 3), now: { cachedTokens: 7_950 } },
      { cause: undefined },
    ],
    [
      'a short one that was served elsewhere',
      { servedElsewhere: true, messages: said(2), now: { promptTokens: 900 } },
      { cause: 'too_short' },
    ],
    [
      'an unmarked one that was served elsewhere',
      { servedElsewhere: true, rules: { needsMarks: true } },
      { cause: 'not_marked' },
    ],
    [
      'nothing marked, at another endpoint',
      { rules: { needsMarks: true }, now: { endpoint: { id: 'b#m', model: 'm', provider: 'b' } } },
      { cause: 'not_marked' },
    ],
    [
      'nothing marked until now, at another endpoint',
      { rules: { needsMarks: true }, now: { marked: true, endpoint: { id: 'b#m', model: 'm', provider: 'b' } } },
      { cause: 'other_endpoint' },
    ],
    ['a short prompt', { last: { promptTokens: 900 } }, { cause: 'too_short', expected_tokens: 0 }],
    ['nothing marked', { rules: { needsMarks: true } }, { cause: 'not_marked', expected_tokens: 8_000 }],
    [
      'marked, and too short for its model',
      { rules: { needsMarks: true, leastForSome: 9_000 }, last: { marked: true } },
      { cause: 'too_short' },
    ],
    [
      'what was not marked of a prompt',
      { rules: { needsMarks: true }, last: { writtenTokens: 3_000 }, now: { cachedTokens: 3_000 } },
      { cause: undefined, expected_tokens: 3_000 },
    ],
    ['nothing of that', {}, { cause: 'evicted_or_unknown', expected_tokens: 8_000 }],
  ])('%s', (_, one, expected) => {
    const { lost_usd: lostUsd, cause, ...report } = reportOf(one);
    const { lost_usd: lost, cause: expectedCause, ...rest } = expected;
    expect(cause).toBe(expectedCause);
    expect(report).toMatchObject(rest);
    if (lost !== undefined) expect(lostUsd).toBeCloseTo(lost, 9);
  });

  it('is silent about cost without a price', () => {
    const report = cacheReport({
      now: asked(),
      last: undefined,
      servedElsewhere: false,
      rules: RULES,
      moved: () => undefined,
      premiumUsd: undefined,
    });
    expect(report).not.toHaveProperty('lost_usd');
  });
});

describe('why a session moved', () => {
  const { catalog } = sceneOf({ providers: { a: { 'acme/one': {} }, b: { 'acme/one': {} } } });
  const [a, b] = catalog.endpoints('acme/one');
  if (a === undefined || b === undefined) throw new Error('no endpoints');
  const step = (endpoint: typeof a): { endpoint: typeof a; target: number; strategy: string; why: string } => ({
    endpoint,
    target: 0,
    strategy: 'direct',
    why: 'drawn',
  });
  const answered = { step: step(b), startedAt: 0, endedAt: 1, outcome: { ok: true } } as const;

  it('is a failure there, a rule, or that others came first', () => {
    const failed = { ...answered, step: step(a), outcome: { ok: false, failure: failure('server', 'no') } } as const;
    expect(movedBecause({ steps: [step(a), step(b)], rejected: [] }, [failed, answered], a.id)).toBe(
      'it failed: server',
    );
    const rejected = [{ endpoint: a, reason: 'max_price' as const }];
    expect(movedBecause({ steps: [step(b)], rejected }, [answered], a.id)).toBe('it was excluded: max_price');
    expect(movedBecause({ steps: [step(b), step(a)], rejected: [] }, [answered], a.id)).toBe(
      'others came first: drawn',
    );
    expect(movedBecause({ steps: [step(b)], rejected: [] }, [answered], a.id)).toBe('the request does not name it');
  });
});
