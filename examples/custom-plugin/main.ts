import { createRouter, defaultPlugins, simulated } from 'signalbox';
import { byLength } from './by-length.ts';

const router = createRouter({
  providers: [simulated()],
  plugins: [...defaultPlugins(), byLength({ small: 'simulated/small', large: 'simulated/large' })],
});

async function ask(content: string): Promise<void> {
  const request = {
    model: 'router/by-length',
    messages: [{ role: 'user', content }],
    plugins: [{ id: 'by-length', long: 500 }],
    max_tokens: 5,
  } as const;
  const plan = await router.explain(request);
  const answer = await router.chat(request);
  const order = [...new Set(plan.steps.map(({ model }) => model))].join(', then ');
  console.log(`${content.length} characters: the plan is ${order}; answered by ${answer.model}`);
}

await ask('How long is a train?');
await ask('How long is a train? '.repeat(40));
await router.close();
