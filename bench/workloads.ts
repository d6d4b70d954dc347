/** One kind of request, and how many of them make a round. */
export interface Workload {
  readonly name: string;
  readonly body: string;
  readonly requests: number;
  readonly concurrency: number;
}

const MODEL = 'bench/model';

function whole(messages: readonly unknown[], rest: object = {}): string {
  return JSON.stringify({ model: MODEL, messages, temperature: 0.7, max_tokens: 256, ...rest });
}

const TOOLS = Array.from({ length: 8 }, (_, index) => ({
  type: 'function',
  function: {
    name: `tool_${index}`,
    description: 'Looks something up and gives back what it found, with its source and date.',
    parameters: {
      type: 'object',
      properties: { query: { type: 'string' }, limit: { type: 'integer', minimum: 1 }, exact: { type: 'boolean' } },
      required: ['query'],
    },
  },
}));

function conversation(turns: number): unknown[] {
  const messages: unknown[] = [{ role: 'system', content: 'You help with questions about many things. '.repeat(8) }];
  for (let turn = 0; messages.length < turns; turn += 1) {
    messages.push({ role: 'user', content: 'What do we know about this, and where does it say so? '.repeat(4) });
    const call = {
      id: `call_${turn}`,
      type: 'function',
      function: { name: `tool_${turn % 8}`, arguments: '{"query":"this"}' },
    };
    messages.push({ role: 'assistant', content: null, tool_calls: [call] });
    messages.push({ role: 'tool', tool_call_id: call.id, content: 'It was found in three places. '.repeat(6) });
    messages.push({ role: 'assistant', content: 'There are three places that speak of it. '.repeat(5) });
  }
  return messages.slice(0, turns);
}

const IMAGE = `data:image/png;base64,${Buffer.alloc(750_000, 7).toString('base64')}`;

/** The workloads that the targets are set for. */
export const WORKLOADS: readonly Workload[] = [
  {
    name: 'whole, 1 kB answer',
    body: whole([{ role: 'user', content: 'Hello there' }]),
    requests: 3_000,
    concurrency: 8,
  },
  {
    // So many at a time that the core of the server is full: requests wait for it, and so does the collector.
    name: 'saturated, 1 kB answer, 64 at a time',
    body: whole([{ role: 'user', content: 'Hello there' }]),
    requests: 6_000,
    concurrency: 64,
  },
  {
    name: 'whole, 40 messages with tools',
    body: whole(conversation(40), { tools: TOOLS }),
    requests: 2_000,
    concurrency: 8,
  },
  {
    name: 'whole, 1 MB image',
    body: whole([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: IMAGE } },
        ],
      },
    ]),
    requests: 200,
    concurrency: 4,
  },
  {
    name: 'stream, 102 events',
    body: whole([{ role: 'user', content: 'Tell me a story' }], { stream: true }),
    requests: 1_500,
    concurrency: 8,
  },
  {
    // Half a second each: many at a time, so that a round does not take a minute.
    name: 'paced stream, an event every 5 ms',
    body: whole([{ role: 'user', content: 'Tell me a story, paced' }], { stream: true }),
    requests: 96,
    concurrency: 32,
  },
];
