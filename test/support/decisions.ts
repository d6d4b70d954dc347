import * as fc from 'fast-check';
import { UNKNOWN_HEALTH } from '../../src/core/fallback/health.ts';
import { DEFAULT_ADAPTIVE_POLICY } from '../../src/core/selection/adaptive/policy.ts';
import { UNMEASURED } from '../../src/core/selection/performance.ts';
import type { EndpointRecord } from '../../src/core/selection/world.ts';
import type { RoutePlan } from '../../src/core/selection/route-plan.ts';
import type { ChatRequest } from '../../src/protocol/chat-request.ts';
import { MODEL, NOW, sceneOf as sceneOfOptions } from './requests.ts';
import { FAULTLESS } from '../../src/core/fallback/outcomes.ts';

/** How well an endpoint did; null for one that was never called. */
export const condition = fc.option(fc.double({ min: 0, max: 1, noNaN: true }));

interface KnownEndpoint {
  readonly usd: number;
  readonly condition: number | null;
}

/** A scene of endpoints of which something is known, planned by the strategy `adaptive`. */
export function sceneOf(endpoints: readonly KnownEndpoint[]): {
  readonly plan: (body: Partial<ChatRequest>, roll: number) => RoutePlan;
} {
  const named = endpoints.map((endpoint, index) => [`p${index}`, endpoint] as const);
  const scene = sceneOfOptions({
    providers: Object.fromEntries(
      named.map(([slug, { usd }]) => [slug, { [MODEL]: { price: { prompt: usd, completion: usd } } }]),
    ),
  });
  const records: Record<string, EndpointRecord> = {};
  for (const [slug, { condition: value }] of named) {
    if (value === null) continue;
    const health = { ...UNKNOWN_HEALTH, condition: { ...FAULTLESS, value, at: NOW } };
    records[slug] = { health, performance: UNMEASURED };
  }
  return {
    plan: (body, roll) => scene.plan(body, { records, roll, strategy: 'adaptive', adaptive: DEFAULT_ADAPTIVE_POLICY }),
  };
}
