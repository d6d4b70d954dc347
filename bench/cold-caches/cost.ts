/** What a comparison costs: CPU, by turns of three prompts in one process, so that a machine that is busy slows all. */
import type { NormalizedRequest } from '../../src/contracts/request.ts';
import type { Endpoint } from '../../src/catalog/endpoint.ts';
import type { EventHub } from '../../src/runtime/events/events.ts';
import { ColdCaches } from '../../src/runtime/ledger/cold-caches.ts';
import { Chance } from './providers.ts';
import { Speaker } from './sessions.ts';

const ROUNDS = 12;
const CALLS = 8_000;

/** Prompts as they come over HTTP: each request has objects of its own. */
function prompts(tools: number, messages: number, characters: number): readonly NormalizedRequest[] {
  const speaker = new Speaker(new Chance(5));
  return Array.from({ length: 50 }, (_, turn) => {
    const request = {
      operation: 'chat',
      id: 'gen-1',
      created: 1,
      account: { id: 'a' },
      session: { key: `session:${turn % 50}` },
      cache: {},
      extra: {},
      tools: Array.from({ length: tools }, (__, index) => ({
        type: 'function',
        function: {
          name: `tool_${index}`,
          description: speaker.text(20),
          parameters: {
            type: 'object',
            properties: { [`path_${index}`]: { type: 'string', description: speaker.text(8) } },
          },
        },
      })),
      messages: Array.from({ length: messages }, (__, index) => ({
        role: index === 0 ? 'system' : index % 2 === 1 ? 'user' : 'assistant',
        content: speaker.text(characters / 5),
      })),
    };
    return JSON.parse(JSON.stringify(request)) as NormalizedRequest;
  });
}

/** Prints what one comparison costs. */
export function comparisonCost(events: EventHub): void {
  const endpoint = { id: 'a#m', model: 'm', provider: 'openai', implicitCaching: true } as unknown as Endpoint;
  const step = { endpoint, target: 0, strategy: 'direct', why: '' };
  const usage = {
    prompt_tokens: 9_000,
    completion_tokens: 9,
    total_tokens: 9_009,
    prompt_tokens_details: { cached_tokens: 8_900 },
  };
  const kinds = (
    [
      [0, 40, 200],
      [0, 40, 500],
      [8, 40, 500],
    ] as const
  ).map(([tools, messages, characters]) => ({
    name: `${messages} messages of ${characters} characters, ${tools} tools`,
    requests: prompts(tools, messages, characters),
    caches: new ColdCaches(1, events),
    least: Infinity,
    clock: 0,
  }));
  const plan = { requested: 'm', steps: [], rejected: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const kind of kinds) {
      const before = process.cpuUsage();
      for (let call = 0; call < CALLS; call += 1) {
        kind.clock += 10;
        const at = kind.clock;
        const attempts = [
          { step, startedAt: at, firstTokenAt: at + 1, endedAt: at + 2, usage, outcome: { ok: true as const } },
        ];
        const request = kind.requests[call % 50];
        kind.caches.note({ request, startedAt: at, attempts, plan } as never, {
          takesMarks: false,
          said: {},
          servedAt: -Infinity,
        });
      }
      const { user, system } = process.cpuUsage(before);
      kind.least = Math.min(kind.least, (user + system) / CALLS);
    }
  }
  for (const { name, least } of kinds) console.log(`${name}: ${least.toFixed(1)} µs of CPU`);
}
