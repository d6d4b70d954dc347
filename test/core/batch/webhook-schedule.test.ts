import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_WEBHOOK_WAIT_MS, WEBHOOK_TRIES, afterWebhookTry } from '../../../src/core/batch/webhook-schedule.ts';

const status = fc.option(fc.integer({ min: 100, max: 599 }), { nil: undefined });

describe('the schedule of a webhook', () => {
  it('takes any 2xx for a delivery, ends with 410, and knows nothing else', () => {
    fc.assert(
      fc.property(
        status,
        fc.integer({ min: 1, max: 9 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (answer, tries, roll) => {
          const { type } = afterWebhookTry({ status: answer }, tries, roll);
          const good = answer !== undefined && answer >= 200 && answer < 300;
          expect(type).toBe(good ? 'delivered' : answer === 410 ? 'given_up' : 'again');
        },
      ),
    );
  });

  it('ends after ten tries in 75 hours and 35 minutes, give or take a tenth', () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), (rolls) => {
        let total = 0;
        let tries = 0;
        for (;;) {
          tries += 1;
          const next = afterWebhookTry({}, tries, rolls.next().value as number);
          if (next.type !== 'again') break;
          total += next.afterMs;
        }
        expect(tries).toBe(WEBHOOK_TRIES);
        const planned = 75 * 3_600_000 + 35 * 60_000 + 5_000;
        expect(Math.abs(total - planned)).toBeLessThanOrEqual(planned * 0.1);
      }),
    );
  });

  it('never comes back before a busy receiver wants it, and never waits for more than a day because of it', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(429, 502, 503, 504),
        fc.nat({ max: 1e9 }),
        fc.integer({ min: 1, max: 8 }),
        (busy, asked, tries) => {
          const next = afterWebhookTry({ status: busy, retryAfterMs: asked }, tries, 0.5);
          const plain = afterWebhookTry({ status: busy }, tries, 0.5);
          if (next.type !== 'again' || plain.type !== 'again') throw new Error('tried again');
          expect(next.afterMs).toBe(Math.max(plain.afterMs, Math.min(asked, MAX_WEBHOOK_WAIT_MS)));
        },
      ),
    );
    expect(afterWebhookTry({ status: 500, retryAfterMs: 1e9 }, 1, 0.5)).toEqual({ type: 'again', afterMs: 5_000 });
  });
});
