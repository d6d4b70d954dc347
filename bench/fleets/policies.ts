import type { TrafficClient } from '../../src/entries/testing.ts';

/** What a policy sees of a request: the text of its prompt. */
type Body = Parameters<TrafficClient['chat']>[0];

/** Chooses an endpoint for a request; `running` are the calls under way at each. */
export type Policy = (body: Body, running: readonly number[]) => number;

/** Sends each request once, to the endpoint that a policy chooses: what load balancers do. */
export function balancer(direct: readonly TrafficClient[], policy: Policy): TrafficClient {
  const running = direct.map(() => 0);
  const choose = (body: Body): { readonly client: TrafficClient; readonly leave: () => void } => {
    const index = policy(body, running);
    const client = direct[index];
    if (client === undefined) throw new RangeError('a policy chooses one of the endpoints');
    running[index] = (running[index] ?? 0) + 1;
    return { client, leave: () => void (running[index] = (running[index] ?? 1) - 1) };
  };
  return {
    async chat(body, options) {
      const { client, leave } = choose(body);
      try {
        return await client.chat(body, options);
      } finally {
        leave();
      }
    },
    async *stream(body, options) {
      const { client, leave } = choose(body);
      try {
        yield* client.stream(body, options);
      } finally {
        leave();
      }
    },
  };
}

export function leastBusy(): Policy {
  let turn = 0;
  return (_, running) => {
    turn += 1;
    // Among equally busy ones by turns.
    const order = running.map((_calls, index) => (index + turn) % running.length);
    return order.reduce((best, index) => ((running[index] ?? 0) < (running[best] ?? 0) ? index : best), order[0] ?? 0);
  };
}

export function roundRobin(): Policy {
  let turn = 0;
  return (_, running) => (turn += 1) % running.length;
}

export function atRandom(random: () => number): Policy {
  return (_, running) => Math.floor(random() * running.length);
}

/** Characters by whose hash a request finds its server: two blocks of 512 tokens, the first of which many share. */
const HASHED_CHARACTERS = 4_096;
/** Times the mean load beyond which the next server is taken: consistent hashing with bounded loads. */
const MOST_OVER_MEAN = 1.25;

export function prefixHashing(): Policy {
  return (body, running) => {
    const hash = hashOf(textOf(body).slice(0, HASHED_CHARACTERS));
    const total = running.reduce((sum, calls) => sum + calls, 1);
    const most = Math.ceil((MOST_OVER_MEAN * total) / running.length);
    for (let next = 0; next < running.length; next += 1) {
      const index = (hash + next) % running.length;
      if ((running[index] ?? 0) < most) return index;
    }
    return hash % running.length;
  };
}

function textOf({ messages }: Body): string {
  return messages.map(({ content }) => (typeof content === 'string' ? content : '')).join('\n');
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}
