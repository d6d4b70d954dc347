import { RouterError, createRouter, providersFromEnvironment, simulated } from 'signalbox';

const router = createRouter({ providers: [...providersFromEnvironment(), simulated()] });
const request = { model: 'simulated/small', messages: [{ role: 'user', content: 'Say hello to the trains' }] } as const;

const plan = await router.explain(request);
console.log(`Would try: ${plan.steps.map((step) => `${step.tag} (${step.why})`).join(', ')}`);

const answer = await router.chat(request, { metadata: true });
console.log(`${answer.provider} says: ${answer.choices[0]?.message.content}`);
console.log(`It cost ${answer.usage?.cost} USD. ${answer.router_metadata?.summary}`);

for await (const chunk of router.stream(request)) {
  process.stdout.write(chunk.choices[0]?.delta.content ?? '');
}
process.stdout.write('\n');

try {
  await router.chat({ ...request, temperature: 3 });
} catch (error) {
  if (!RouterError.isInstance(error)) throw error;
  console.log(`Refused with ${error.status}: ${error.message}`);
}
await router.close();
