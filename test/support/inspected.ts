import { type Account, apiKeys, createRouter, type Router, type RouterConfig, RouterError, simulated } from 'signalbox';
import { inspector } from 'signalbox/inspector';

/** A key that may see everything, and one that may only ask models. */
export const KEYS = { management: 'sk-management-0123456789', inference: 'sk-inference-0123456789' } as const;

/** A router with authentication, so that every mount can be looked at with a key. */
export const WITH_KEYS: Pick<RouterConfig, 'authenticate'> = {
  authenticate: apiKeys([
    { id: 'operator', key: KEYS.management, scopes: ['operator', 'inference'] },
    { id: 'team-a', key: KEYS.inference, scopes: ['inference'] },
  ]),
};

const PARAMETERS = [
  'temperature',
  'max_tokens',
  'max_completion_tokens',
  'tools',
  'tool_choice',
  'stop',
  'seed',
] as const;

const WRITER = {
  contextLength: 64_000,
  maxOutputTokens: 4_000,
  parameters: PARAMETERS,
  implicitCaching: true,
} as const;

/** A router whose model has endpoints of every sort: cheap, dear, slow, failing, too small. */
export function inspectedRouter(config: RouterConfig = {}): Router {
  const writer = (prompt: number, more: object = {}): object => ({
    ...WRITER,
    price: { prompt, completion: prompt * 4, cacheRead: prompt / 4 },
    ...more,
  });
  return createRouter({
    providers: [
      simulated({
        slug: 'alpha',
        name: 'Alpha',
        firstTokenMs: 90,
        tokensPerSecond: 900,
        models: { 'acme/writer': writer(0.5), 'acme/quick': writer(0.1) },
      }),
      simulated({
        slug: 'beta',
        name: 'Beta',
        firstTokenMs: 160,
        tokensPerSecond: 600,
        failureRate: 0.25,
        models: { 'acme/writer': writer(0.52) },
      }),
      simulated({
        slug: 'gamma',
        name: 'Gamma',
        firstTokenMs: 50,
        tokensPerSecond: 1_500,
        models: { 'acme/writer': writer(0.8, { region: 'eu', zeroDataRetention: true }) },
      }),
      simulated({
        slug: 'delta',
        name: 'Delta',
        failureRate: 1,
        firstTokenMs: 20,
        models: { 'acme/writer': writer(0.45), 'acme/broken': writer(0.3) },
      }),
      simulated({
        slug: 'epsilon',
        name: 'Epsilon',
        models: { 'acme/writer': writer(0.4, { maxOutputTokens: 8 }) },
      }),
    ],
    catalog: [],
    inspector: inspector(),
    ledger: { tags: ['feature'] },
    // Batches stay as they are until a test runs them.
    batches: { worker: false },
    ...config,
  });
}

const QUESTIONS = [
  'How do lighthouses and foghorns help ships?',
  'Write two sentences about the sea in winter.',
  'What is the difference between a signal and a semaphore?',
];

/** Sends requests of several accounts, sessions and sorts, some at the same time. */
export async function sendTraffic(router: Router, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += 4) {
    await Promise.all([0, 1, 2, 3].map((lane) => sendOne(router, sent + lane)));
  }
}

async function sendOne(router: Router, number: number): Promise<void> {
  const account: Account = { id: `team-${'abc'[number % 3] ?? 'a'}` };
  const model = number % 9 === 8 ? 'acme/broken' : number % 4 === 3 ? 'acme/quick' : 'acme/writer';
  const request = {
    model,
    messages: [{ role: 'user' as const, content: QUESTIONS[number % QUESTIONS.length] ?? '' }],
    max_tokens: 60 + (number % 5) * 20,
    metadata: { feature: ['search', 'chat', 'summary'][number % 3] ?? 'chat' },
    ...(number % 2 === 0 ? { session_id: `session-${number % 3}` } : {}),
  };
  try {
    if (number % 3 === 0) await router.chat(request, { account });
    else {
      const chunks = router.stream(request, { account })[Symbol.asyncIterator]();
      while ((await chunks.next()).done !== true);
    }
  } catch (error) {
    // Some are meant to fail.
    if (!RouterError.isInstance(error)) throw error;
  }
}

/** A batch of short requests, every so-many-th of which no endpoint may answer. */
export function batchOf(count: number, model: string, failing = Infinity): Parameters<Router['batches']['create']>[0] {
  return {
    endpoint: '/v1/chat/completions',
    model,
    requests: Array.from({ length: count }, (_, index) => ({
      custom_id: `item-${index}`,
      body: {
        messages: [{ role: 'user', content: QUESTIONS[index % QUESTIONS.length] ?? '' }],
        max_tokens: 40,
        ...(index % failing === failing - 1 ? { provider: { only: ['nobody'] } } : {}),
      },
    })),
  };
}
