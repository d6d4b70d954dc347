import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
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
import type { NormalizedRequest } from '../src/contracts/request.ts';
import { KnownPrompts } from '../src/runtime/chat/known-prompts.ts';

/**
 * Prints what planning one request costs in CPU, for models with 8, 50 and 300 endpoints: `node bench/planning.ts`. A
 * third of the endpoints was never called, a tenth has just failed. The least of nine rounds, because whatever else the
 * machine does only adds. Then what it costs to find where the beginning of a prompt is cached, in CPU and in memory.
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

type Messages = Parameters<typeof normalizeChatRequest>[0]['messages'];

const QUESTION: Messages = [{ role: 'user', content: 'How long does a plan take? '.repeat(40) }];

/** A request to a model with so many endpoints. */
function requestTo(endpoints: number, asked: Asked, messages: Messages = QUESTION): NormalizedRequest {
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
  const normalized = normalizeChatRequest(
    { model: MODEL, messages, ...asked },
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
  return normalized.value;
}

function microseconds(endpoints: number, asked: Asked): number {
  const { session_id: session } = asked;
  const environment = systemEnvironment();
  const request = requestTo(endpoints, asked);
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
  return leastMicroseconds(Math.round(40_000 / endpoints), () => planRoute(request, world()));
}

/** Microseconds of CPU that something takes which is done so many times in a round. */
function leastMicroseconds(times: number, run: () => unknown): number {
  let least = Infinity;
  for (let round = 0; round <= ROUNDS; round += 1) {
    const before = process.cpuUsage();
    for (let time = 0; time < times; time += 1) run();
    const { user, system } = process.cpuUsage(before);
    // The first round only warms up.
    if (round > 0) least = Math.min(least, (user + system) / times);
  }
  return least;
}

const PROMPTS = 100_000;

/** Prints what the table of the beginnings of prompts costs. */
function showKnownPrompts(): void {
  const conversation = (index: number): Messages =>
    Array.from({ length: 40 }, (_, turn) => ({
      role: turn % 2 === 0 ? 'user' : 'assistant',
      content: `${index} ${turn} `.padEnd(400, 'and what follows from that? '),
    }));
  const known = new KnownPrompts(systemEnvironment());
  const request = requestTo(8, {}, conversation(0));
  const [endpoint] = request.targets[0]?.endpoints ?? [];
  if (endpoint === undefined) throw new RangeError('the request has endpoints');
  known.note(request, endpoint);
  // The beginnings are found once for each request, so each plan has one of its own.
  const plan = (): unknown => known.find({ ...request, messages: [...request.messages] });
  const us = leastMicroseconds(20_000, plan);
  const before = process.memoryUsage().arrayBuffers;
  for (let index = 1; index <= PROMPTS; index += 1) {
    const messages = [{ role: 'user' as const, content: `${index} `.padEnd(40_000, 'and so on, ') }];
    known.note({ ...request, messages }, endpoint);
  }
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // What a table left when it grew is given back by a second one.
  collect();
  collect();
  const megabytes = (process.memoryUsage().arrayBuffers - before) / 1_000_000;
  console.log('\n| Beginnings of prompts | Found | Target |\n|---|---|---|');
  console.log(`| in a plan, 40 messages, 8 endpoints | ${us.toFixed(1)} µs | ≤ 6 µs |`);
  console.log(`| ${PROMPTS} prompts of 40,000 characters | ${megabytes.toFixed(1)} MB | ≤ 20 MB |`);
}

console.log('| Endpoints | Without a session | With a session | `sort: latency` | Target |\n|---|---|---|---|---|');
for (const [endpoints, targetUs] of SIZES) {
  const found = ASKED.map((asked) => `${microseconds(endpoints, asked).toFixed(1)} µs`);
  console.log(`| ${endpoints} | ${found.join(' | ')} | ≤ ${targetUs} µs |`);
}
showKnownPrompts();
