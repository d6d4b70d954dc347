import { adapterChecks, adapterControl } from 'signalbox/testing';
import { H2CClient, fetch as undiciFetch } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HTTP2_HOSTS } from '../support/hosts.ts';
import type { Mounted } from '../support/mounts.ts';

describe.each(Object.entries(HTTP2_HOSTS))('%s over HTTP/2', (_name, mount) => {
  const control = adapterControl();
  let mounted: Mounted;
  let client: H2CClient;
  beforeAll(async () => {
    mounted = await mount(control.router);
    client = new H2CClient(new URL(mounted.baseURL).origin, { pipelining: 100 });
  });
  afterAll(async () => {
    await client.destroy();
    await mounted[Symbol.asyncDispose]();
    await control.router.close();
  });

  const overHttp2 = ((url: string, init: object) => undiciFetch(url, { ...init, dispatcher: client })) as unknown as (
    url: string,
    init: RequestInit,
  ) => Promise<Response>;

  it.each(adapterChecks.map((check) => [check.name, check] as const))('%s', async (_check, { run }) => {
    await run(mounted.baseURL, control, overHttp2);
  });

  it('has every place free again when all that were begun are over', async () => {
    await expect.poll(() => control.router.internals.admission.inside).toBe(0);
  });
});
