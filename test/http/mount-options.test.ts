import { ConfigError, createRouter, simulated } from 'signalbox';
import { expressRouter } from 'signalbox/express';
import { fastifyRouter } from 'signalbox/fastify';
import { fetchRouter } from 'signalbox/fetch';
import { nextRouter } from 'signalbox/next';
import { nodeRouter } from 'signalbox/node';
import { describe, expect, it } from 'vitest';

type Mount = (router?: unknown, options?: unknown) => unknown;

/** Callers in JavaScript pass anything. */
const MOUNTS = {
  expressRouter: expressRouter as Mount,
  fetchRouter: fetchRouter as Mount,
  nextRouter: nextRouter as Mount,
  nodeRouter: nodeRouter as Mount,
};

describe.each(Object.entries(MOUNTS))('%s', (name, mount) => {
  it('says at once what it must be given', () => {
    const expected = `${name} must be given a router, as createRouter(options) makes one, not `;
    expect(() => mount()).toThrow(`${expected}nothing`);
    expect(() => mount({ providers: [] })).toThrow(`${expected}options`);
    expect(() => mount(() => {})).toThrow(ConfigError);
  });

  // Express has the base path itself.
  if (name === 'expressRouter') return;
  it('says at once that a base path must begin with a slash', () => {
    const router = createRouter({ providers: [simulated()] });
    expect(() => mount(router, { basePath: 'v1/' })).toThrow(
      `${name}.basePath must begin with a slash, such as "/v1", not "v1/"`,
    );
    for (const basePath of ['', '/', '/v1', '/v1/']) mount(router, { basePath });
  });
});

describe('fastifyRouter', () => {
  it('says at once that its options need a router', async () => {
    await expect((fastifyRouter as (...given: unknown[]) => Promise<void>)({ prefix: '' }, {})).rejects.toThrow(
      'fastifyRouter.router must be given a router, as createRouter(options) makes one, not nothing',
    );
  });
});
