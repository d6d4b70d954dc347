import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { createRouter, openaiCompatible, type RouterConfig } from 'signalbox';
import { inspector } from 'signalbox/inspector';
import { nodeRouter } from 'signalbox/node';
import type { EndpointRows, RequestList, RequestPage } from '../../../src/http/inspector/wire.ts';
import { listen } from '../../support/mounts.ts';
import { answerWith, startUpstream } from '../../support/upstream.ts';

it('tells which configuration is in force, and shows a request beside its copy', async () => {
  await using upstream = await startUpstream(answerWith('Hello'));
  const price = { prompt: 1, completion: 1 };
  const models = { 'up/old': { price, upstreamModel: 'old' }, 'up/new': { price, upstreamModel: 'new' } };
  const provider = openaiCompatible({ slug: 'up', baseURL: upstream.baseURL, apiKey: 'sk-1', models });
  const mirror = { model: 'up/new', share: 1, budget: { limitUsd: 1 } };
  const config: RouterConfig = { providers: [provider], aliases: { fast: { model: 'up/old', mirror } } };
  const router = createRouter({ ...config, inspector: inspector(), allowAnonymous: true });
  await using mounted = await listen(createServer(nodeRouter(router)));
  const ask = async <Body>(path: string): Promise<Body> =>
    (await (await fetch(`${mounted.baseURL}/inspector/api/${path}`)).json()) as Body;

  const { id } = await router.chat({ model: 'fast', messages: [{ role: 'user', content: 'Hello' }] });
  await expect.poll(async () => (await ask<RequestList>('requests')).rows).toHaveLength(2);
  const { rows } = await ask<RequestList>('requests');
  const copy = rows.find(({ mirror: alias }) => alias === 'fast');
  expect(copy).toMatchObject({ parent: id, model: 'up/new', account: 'mirror/fast', status: 200 });
  const page = await ask<RequestPage>(`requests/${id}`);
  expect(page.record.applied).toEqual({ mirror: { alias: 'fast', model: 'up/new', by: 'session' } });
  expect(page.copies).toMatchObject([{ id: copy?.id, model: 'up/new', cost_nano_usd: 15_000 }]);
  const { record, copies } = await ask<RequestPage>(`requests/${copy?.id}`);
  expect([record.parent, record.mirror, copies]).toEqual([id, 'fast', undefined]);

  expect((await ask<EndpointRows>('endpoints')).configuration.version).toBe(1);
  router.update({ ...config, allowAnonymous: true });
  expect((await ask<EndpointRows>('endpoints')).configuration).toEqual(router.versions.at(-1));
  expect(router.configuration.version).toBe(2);
  await router.close();
});
