import * as fc from 'fast-check';
import { createRouter } from 'signalbox';
import { fetchRouter } from 'signalbox/fetch';
import { strictUpstream } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { runs } from '../support/properties.ts';
import { RANDOM_REQUESTS, type RandomRequest } from '../support/random-requests.ts';
import { STRICT_MODEL, STRICT_ROUTES, type StrictRoute } from '../support/strict-routes.ts';

/** Requests for each route and format; set it to look for what few requests do not find. */
const COUNT = Number(process.env['STRICT_REQUESTS'] ?? 40);

const FORMATS = Object.keys(RANDOM_REQUESTS) as readonly RandomRequest['format'][];

/**
 * Requests that go as the client wrote them, because upstream and client speak one API: what is wrong in them, the client
 * hears from the provider in its own words.
 */
function isNative({ name, vendor }: StrictRoute, format: RandomRequest['format']): boolean {
  if (name.startsWith('AI SDK')) return false;
  return (format === 'messages' && vendor === 'anthropic') || (format === 'responses' && name === 'openai gpt-5.6');
}

/** What is refused although it could be said, by rule: the reason why it stays. */
const EXCLUDED: Readonly<Record<string, string>> = {};

interface Scene extends AsyncDisposable {
  send(request: RandomRequest): Promise<{ readonly status: number; readonly text: string }>;
  readonly upstream: Awaited<ReturnType<typeof strictUpstream>>;
}

async function sceneOf({ vendor, template, provider }: StrictRoute): Promise<Scene> {
  // Routes to llama.cpp say that its model reads pictures.
  const without = vendor === 'llama.cpp' ? ['llama.cpp/image'] : undefined;
  const upstream = await strictUpstream(vendor, { template, without });
  const router = createRouter({
    providers: [provider(upstream.baseURL)],
    allowAnonymous: true,
    plugins: [],
    on: { warning: () => {} },
  });
  const handler = fetchRouter(router, { remoteAddress: () => '127.0.0.1' });
  return {
    upstream,
    async send({ path, body }) {
      const response = await handler(
        new Request(`http://127.0.0.1/v1${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ model: STRICT_MODEL, ...body }),
        }),
      );
      return { status: response.status, text: await response.text() };
    },
    async [Symbol.asyncDispose]() {
      await router.close();
      await upstream.close();
    },
  };
}

describe.each(STRICT_ROUTES)('$name', (route) => {
  const translated = FORMATS.filter((format) => !isNative(route, format));

  it.each(translated)('takes what the router makes of random requests of %s', async (format) => {
    await using scene = await sceneOf(route);
    const { upstream } = scene;
    const failing: Record<string, string> = {};
    let refusedByRouter = 0;
    let sent = 0;
    await fc.assert(
      fc.asyncProperty(RANDOM_REQUESTS[format], async (request) => {
        upstream.forget();
        const { status, text } = await scene.send(request);
        for (const { rules, body } of upstream.refusals) {
          for (const rule of rules) {
            if (rule in EXCLUDED) continue;
            const seen = JSON.stringify(body);
            if ((failing[rule]?.length ?? Infinity) > seen.length)
              failing[rule] = `${JSON.stringify(request.body)} ==> ${seen}`;
          }
        }
        sent += 1;
        if (upstream.accepted > 0 || upstream.refusals.length > 0) return;
        refusedByRouter += 1;
        // What cannot be said is the client's to change, and named.
        if (status !== 400 && status !== 422) failing[`status ${status}`] = `${text} ${JSON.stringify(request.body)}`;
      }),
      runs(COUNT),
    );
    expect(failing).toEqual({});
    expect(refusedByRouter / sent).toBeLessThan(0.9);
  });
});
