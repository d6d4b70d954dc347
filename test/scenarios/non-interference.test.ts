/** One account changes neither what is sent for another, nor what that is answered, nor what it pays. */
import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { HOSTILITY } from '../support/hostility.ts';
import { observe, OBSERVED, type ObservedCall } from '../support/two-accounts.ts';
import { saying } from '../support/hostility.ts';
import { storm } from '../support/storms.ts';

const SCHEMA = {
  type: 'json_schema',
  json_schema: {
    name: 'x',
    strict: true,
    schema: { type: 'object', properties: { a: { type: 'string', pattern: '^a', minLength: 2 } }, required: ['a'] },
  },
};

const chat = (more: object, model = 'acme/one', content: string = OBSERVED): ObservedCall['call'] => ({
  body: { model, messages: [{ role: 'user', content }], ...more },
});

const LONG = `${OBSERVED}: what are the words of this prompt, and how many of them are there? `.repeat(12);

/** What the observed account sends. */
const calls = fc.constantFrom<ObservedCall['call']>(
  chat({ temperature: 0, seed: 7, stop: ['END'], logprobs: true, top_logprobs: 2, max_tokens: 20, store: false }),
  chat({ safe_prompt: true, safety_settings: [{ category: 'x' }], response_format: SCHEMA, user: 'me' }),
  chat({ reasoning_effort: 'high', logit_bias: { '1': -100 }, parallel_tool_calls: false, stream: true }),
  chat({ top_k: 4, top_p: 0.5, stream: true }),
  chat({ seed: 1, temperature: 0.2 }, 'acme/two'),
  chat({ stream: true }, 'acme/one', LONG),
  chat({}, 'acme/one', LONG),
  chat({ session_id: 'shared-session', metadata: { a: 'b' } }),
  chat({ max_tokens: 40 }, 'acme/one', saying(OBSERVED, { hangs: true })),
  {
    path: '/messages',
    body: {
      model: 'acme/one',
      max_tokens: 30,
      temperature: 0.1,
      stop_sequences: ['x'],
      messages: [{ role: 'user', content: OBSERVED }],
    },
  },
  { path: '/responses', body: { model: 'acme/one', input: OBSERVED, temperature: 0.1, max_output_tokens: 40 } },
);

const schedules = fc.array(
  fc.record<ObservedCall>({
    call: calls,
    afterMs: fc.constantFrom(0, 20, 500, 3_000, 61_000, 400_000),
    leaves: fc.boolean().map((one) => one),
    acts: fc.array(fc.oneof(...HOSTILITY), { maxLength: 4 }),
  }),
  { minLength: 1, maxLength: 5 },
);

async function compare(schedule: readonly ObservedCall[], seed: number): Promise<void> {
  const alone = await observe(schedule, seed, true);
  expect(await observe(schedule, seed, false)).toEqual(alone);
}

const SEED = Number(process.env['PROPERTY_SEED'] ?? 1);
const RUNS = Number(process.env['SCHEDULES'] ?? storm(300));

// What is loaded by the first request that needs it takes real time; the clock of these schedules has none.
beforeAll(async () => {
  for (const schedule of fc.sample(schedules, { numRuns: 40, seed: 1 })) await observe(schedule, 1, false);
}, 120_000);

describe('traffic of another account', () => {
  it(`changes nothing, with the seed ${SEED}`, async () => {
    await fc.assert(fc.asyncProperty(schedules, fc.nat(1_000_000), compare), { numRuns: RUNS, seed: SEED });
  }, 3_600_000);
});
