import { buildCatalog } from '../src/catalog/catalog.ts';
import { DEFAULT_BREAKER_POLICY } from '../src/core/fallback/breaker.ts';
import { normalizeChatRequest } from '../src/core/normalize/normalize.ts';
import { DEFAULT_ADAPTIVE_POLICY } from '../src/core/selection/adaptive/policy.ts';
import { DEFAULT_SELECTION_POLICY, type World } from '../src/core/selection/world.ts';
import { planRoute } from '../src/core/selection/plan-route.ts';
import { systemEnvironment } from '../src/platform/environment.ts';
import { KnownEndpoints } from '../src/runtime/endpoints/endpoint-load.ts';
import { EndpointRecords } from '../src/runtime/endpoints/endpoint-records.ts';
import type { RouterFacts } from '../src/core/normalize/context.ts';

/**
 * Prints what planning one request costs in CPU, for models with 8, 50 and 300 endpoints: `node bench/planning.ts`. A
 * third of the endpoints was never called, a tenth has just failed. The least of nine rounds, because whatever else the
 * machine does only adds.
 */

const MODEL = 'acme/one';
const ROUNDS = 9;
const SIZES: readonly (readonly [endpoints: number, targetUs: number])[] = [
  [8, 10],
  [50, 25],
  [300, 120],
];

/** What a request asks of its route. */
interface Asked {
  readonly session_id?: string;
  readonly provider?: { readonly sort: 'latency' };
}

/** The columns: what requests ask, and nothing. */
const ASKED: readonly Asked[] = [{}, { session_id: 'a session' }, { provider: { sort: 'latency' } }];

function microseconds(endpoints: number, asked: Asked): number {
  const { session_id: session } = asked;
  const providers = Array.from({ length: endpoints }, (_, index) => {
    const prompt = 0.3 * 1.01 ** index;
    const price = { prompt, completion: 4 * prompt, cacheRead: prompt / 10 };
    return { slug: `p${index}`, name: `p${index}`, models: { [MODEL]: { price, contextLength: 128_000 } } };
  });
  const facts: RouterFacts = {
    catalog: buildCatalog(providers, undefined, undefined),
    policy: {},
    defaultModel: undefined,
    presets: {},
    routerModels: new Set(),
    docsUrl: '',
  };
  const environment = systemEnvironment();
  const normalized = normalizeChatRequest(
    {
      model: MODEL,
      messages: [{ role: 'user', content: 'How long does a plan take? '.repeat(40) }],
      ...asked,
    },
    {
      account: { id: 'bench' },
      id: 'gen-1',
      created: 0,
      endUser: 'nobody',
      sessionHeader: undefined,
      wantsMetadata: false,
    },
    facts,
  );
  if (!normalized.ok) throw new Error(normalized.fault.message);
  const request = normalized.value;
  const all = request.targets[0]?.endpoints ?? [];
  const health = { breaker: DEFAULT_BREAKER_POLICY, maxCooldownMs: 3_600_000 };
  const records = new EndpointRecords(new KnownEndpoints(new Map()), { health }, environment);
  for (const [index, endpoint] of all.entries()) {
    if (index % 3 === 2) continue;
    for (let call = 0; call < 12; call += 1) {
      const { generation } = records.started(endpoint);
      records.ended(endpoint, { ok: true, generation }, { latencyMs: 300 + 30 * call });
    }
    if (index % 10 !== 0) continue;
    const { generation } = records.started(endpoint);
    records.ended(endpoint, { ok: false, generation, failure: { kind: 'server', message: 'for a test' } });
  }
  const world = (): World => {
    const now = environment.now();
    return {
      record: records.record,
      admission: records.admissionAt(now),
      served: session === undefined ? [] : [{ endpoint: all[3]?.id ?? '', at: now, tokens: 100 }],
      now,
      roll: Math.random(),
      policy: DEFAULT_SELECTION_POLICY,
      strategy: 'adaptive',
      adaptive: DEFAULT_ADAPTIVE_POLICY,
    };
  };
  const plans = Math.round(40_000 / endpoints);
  let least = Infinity;
  for (let round = 0; round <= ROUNDS; round += 1) {
    const before = process.cpuUsage();
    for (let plan = 0; plan < plans; plan += 1) planRoute(request, world());
    const { user, system } = process.cpuUsage(before);
    // The first round only warms up.
    if (round > 0) least = Math.min(least, (user + system) / plans);
  }
  return least;
}

console.log('| Endpoints | Without a session | With a session | `sort: latency` | Target |\n|---|---|---|---|---|');
for (const [endpoints, targetUs] of SIZES) {
  const found = ASKED.map((asked) => `${microseconds(endpoints, asked).toFixed(1)} µs`);
  console.log(`| ${endpoints} | ${found.join(' | ')} | ≤ ${targetUs} µs |`);
}
