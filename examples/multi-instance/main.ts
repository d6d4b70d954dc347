import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const BATCHES = 8;
const REQUESTS = 25;
const program = fileURLToPath(new URL('instance.ts', import.meta.url));
const instances = [fork(program), fork(program)];
const [first = '', second = ''] = await Promise.all(
  instances.map(async (instance) => {
    const [message] = (await once(instance, 'message')) as [{ readonly baseURL: string }];
    return message.baseURL;
  }),
);

const ids: string[] = [];
for (let index = 0; index < BATCHES; index += 1) ids.push(await create(`batch-${index}`));
console.log(`The first instance took ${ids.length} batches`);

const statuses = await Promise.all(ids.map((id) => ended(id)));
console.log(`The second instance says: ${[...new Set(statuses)].join(', ')}`);

for (const [index, instance] of instances.entries()) {
  instance.kill('SIGTERM');
  const [{ answered }] = (await once(instance, 'message')) as [{ readonly answered: number }];
  console.log(`Instance ${index + 1} answered ${answered}`);
}

async function create(name: string): Promise<string> {
  const response = await fetch(`${first}/batches`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      endpoint: '/v1/chat/completions',
      model: 'simulated/small',
      requests: Array.from({ length: REQUESTS }, (_, index) => ({
        custom_id: `${name}-${index}`,
        body: { messages: [{ role: 'user', content: `What is ${index} plus ${index}?` }], max_tokens: 10 },
      })),
    }),
  });
  if (!response.ok) throw new Error(await response.text());
  return ((await response.json()) as { readonly id: string }).id;
}

/** Asks the instance that did not take the batch until it has ended. */
async function ended(id: string): Promise<string> {
  for (;;) {
    const response = await fetch(`${second}/batches/${id}`);
    if (!response.ok) throw new Error(await response.text());
    const { status, request_counts: counts } = (await response.json()) as {
      readonly status: string;
      readonly request_counts: { readonly completed: number };
    };
    if (['completed', 'failed', 'expired', 'cancelled'].includes(status)) return `${status} (${counts.completed})`;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
