import { adapterChecks, adapterControl } from 'signalbox/testing';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { HOSTS } from '../support/hosts.ts';
import type { Mounted } from '../support/mounts.ts';
import { withDocumentedFetch } from '../support/openapi.ts';

describe.each(Object.entries(HOSTS))('%s', (_name, mount) => {
  const control = adapterControl();
  let mounted: Mounted;
  beforeAll(async () => {
    mounted = await mount(control.router);
  });
  afterAll(async () => {
    await mounted[Symbol.asyncDispose]();
    await control.router.close();
  });

  it.each(adapterChecks.map((check) => [check.name, check] as const))('%s', async (_check, { run }) => {
    await withDocumentedFetch('/v1', () => run(mounted.baseURL, control));
  });
});
