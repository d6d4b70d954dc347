import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { usableEndpoints, usableTargets } from '../../../src/core/selection/usable-endpoints.ts';
import { DEFAULT_SELECTION_POLICY, type SelectionPolicy } from '../../../src/core/selection/world.ts';
import type { Rejection } from '../../../src/core/selection/route-plan.ts';
import type { ChatRequest } from '../../../src/protocol/chat-request.ts';
import { MODEL, serving } from '../../support/requests.ts';

const STRICT: SelectionPolicy = { ...DEFAULT_SELECTION_POLICY, unknownCapability: 'exclude', toolSupport: 'exclude' };

const offers = {
  plain: {},
  able: { abilities: { tools: true, seed: true, response_format: true }, toolChoices: ['auto', 'required'] },
  seeing: { inputModalities: ['text', 'image'], contextLength: 2_000 },
  short: { contextLength: 100, maxOutputTokens: 20 },
  limited: { maxPromptTokens: 30, abilities: { tools: false } },
  quick: { tier: 'priority', price: { prompt: 1, completion: 2 } },
  slow: { tier: 'flex', reasoning: { mandatory: true } },
} as const;

const scenes = [{}, { maxPrice: { prompt: 0.5 } }, { dataCollection: 'deny' }].map((policy) =>
  serving(offers, { policy: policy as object }),
);

const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } } as const;
const bodies: fc.Arbitrary<Partial<ChatRequest>> = fc.record(
  {
    messages: fc.tuple(fc.nat({ max: 3_000 }), fc.boolean()).map(([length, seen]) => [
      {
        role: 'user' as const,
        content: [{ type: 'text' as const, text: 'x'.repeat(length) }, ...(seen ? [image] : [])],
      },
    ]),
    model: fc.constantFrom(MODEL, `${MODEL}:nitro`, `${MODEL}:floor`),
    tools: fc.constant([{ type: 'function' as const, function: { name: 'look_up' } }]),
    tool_choice: fc.constantFrom('auto' as const, 'required' as const, 'none' as const),
    seed: fc.nat(),
    max_tokens: fc.integer({ min: 1, max: 200 }),
    response_format: fc.constant({ type: 'json_object' as const }),
    service_tier: fc.constantFrom('flex' as const, 'priority' as const),
    reasoning: fc.constantFrom({ effort: 'none' as const }, { effort: 'high' as const }),
    provider: fc.constantFrom({ only: ['able', 'short'] }, { require_parameters: true }),
  },
  { requiredKeys: ['messages', 'model'] },
);

describe('the endpoints that a request may use', () => {
  it('are the same when they are remembered from an earlier request of its kind', () => {
    let chosen = 0;
    fc.assert(
      fc.property(
        bodies,
        fc.constantFrom(...scenes),
        fc.constantFrom(DEFAULT_SELECTION_POLICY, STRICT),
        fc.constantFrom(undefined, { short: { apiKey: 'own' } }),
        (body, scene, policy, providerKeys) => {
          const request = scene.request(body, { account: { id: 'tester', providerKeys } });
          const [target] = request.targets;
          if (target === undefined) throw new Error('there is a model');
          const fresh: Rejection[] = [];
          const [usable] = usableTargets([target], request, policy, fresh);
          const rejected: Rejection[] = [];
          expect(usableEndpoints(target, request, policy, rejected)).toEqual(usable?.endpoints ?? []);
          expect(rejected).toEqual(fresh);
          chosen += usable?.endpoints.length ?? 0;
        },
      ),
      { numRuns: 2_000 },
    );
    expect(chosen).toBeGreaterThan(1_000);
  });
});
