/** Runs in a process of its own: what is loaded stays loaded. */
import { autoRouter, localClassifier } from 'signalbox';
import { expect, it } from 'vitest';
import { routerStage, routingBench } from '../../support/model-routers.ts';

const prompt = { text: 'Solve the equation 3x + 5 = 20', hasImage: false, hasTools: false };

it('the weights are loaded with the first request for a router model, and a classifier without them says so', async () => {
  const local = localClassifier();
  expect(() => local(prompt)).toThrow('localClassifier() was called before its weights were loaded: await its load()');
  const models = { 'acme/one': { usd: 1, info: { scores: { general: 0.5 } } } };
  const request = { model: 'router/auto', messages: [{ role: 'user', content: prompt.text } as const] };
  const taskFor = async (classify?: typeof local) => {
    const plugins = [autoRouter(classify && { classify })];
    const answer = await routingBench(models, { plugins }).router.chat(request, { metadata: true });
    return routerStage(answer.router_metadata?.pipeline).data;
  };
  // A wrapper that hands no load on is a classifier that fails.
  expect(await taskFor(((one: typeof prompt) => local(one)) as typeof local)).toMatchObject({
    task_type: 'general',
    degraded: ['classifier'],
  });
  expect(await taskFor(Object.assign((one: typeof prompt) => local(one), { load: local.load }))).toMatchObject({
    task_type: 'math',
  });
  expect(local(prompt).task).toBe('math');
  expect(await taskFor()).toMatchObject({ task_type: 'math' });
});
