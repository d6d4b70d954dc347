import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Account, type Provider, type RouterConfig, createRouter, openaiCompatible } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { type Mounted, listen } from '../../support/mounts.ts';

let upstreams: readonly [Mounted, Mounted];

/** Answers with a name, so that it shows who did, and with the first word of the system prompt. */
function upstream(name: string): Promise<Mounted> {
  return listen(
    createServer((request, response) => {
      let text = '';
      request
        .on('data', (data: Buffer) => (text += String(data)))
        .on('end', () => {
          const { model } = JSON.parse(text) as { model: string };
          const message = { role: 'assistant', content: `${name} with ${model}` };
          response.writeHead(200, { 'content-type': 'application/json' });
          const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
          response.end(JSON.stringify({ choices: [{ index: 0, finish_reason: 'stop', message }], usage }));
        });
    }),
  );
}

beforeAll(async () => {
  upstreams = [await upstream('one'), await upstream('two')];
});

afterAll(() => Promise.all(upstreams.map((one) => one[Symbol.asyncDispose]())));

/** Two providers of two models, the first of which is asked first. */
function providers(): Provider[] {
  const models = {
    'acme/a': { price: { prompt: 1, completion: 1 } },
    'acme/b': { price: { prompt: 1, completion: 1 } },
  };
  return upstreams.map(({ baseURL }, index) =>
    openaiCompatible({ slug: `p${index + 1}`, baseURL, apiKey: 'none', models }),
  );
}

/** What a policy changes to, for a request that had its answer from the first provider, and who answers it then. */
interface Change {
  readonly account?: Partial<Account>;
  readonly config?: RouterConfig;
  readonly before?: RouterConfig;
  readonly model?: string;
  /** The text of the answer, or the status of the refusal. */
  readonly after: string | number;
}

const CHANGES: Readonly<Record<string, Change>> = {
  'the account may not use the provider': { account: { policy: { ignore: ['p1'] } }, after: 'two with acme/a' },
  'the account may only use another provider': { account: { policy: { only: ['p2'] } }, after: 'two with acme/a' },
  'the account may not use the model': { account: { policy: { allowedModels: ['acme/b'] } }, after: 403 },
  'a rule denies the model': {
    config: { rules: [{ id: 'no-a', when: { models: ['acme/a'] }, deny: 'a is over' }] },
    after: 403,
  },
  'a rule excludes the provider': {
    config: { rules: [{ id: 'no-p1', preferences: { ignore: ['p1'] } }] },
    after: 'two with acme/a',
  },
  'a rule rewrites the model': {
    config: { rules: [{ id: 'to-b', when: { models: ['acme/a'] }, rewrite: 'acme/b' }] },
    after: 'one with acme/b',
  },
  'an alias leads to another model': {
    model: 'fast',
    before: { aliases: { fast: 'acme/a' } },
    config: { aliases: { fast: 'acme/b' } },
    after: 'one with acme/b',
  },
  'the provider is gone': { config: { providers: [] }, after: 'two with acme/a' },
};

describe.each([false, true])('an answer in the cache, streamed: %s', (stream) => {
  it.each(Object.entries(CHANGES))('is not given any more when %s', async (_, change) => {
    const { account: changed, config = {}, before = {}, model = 'acme/a', after } = change;
    let account: Account = { id: 'a' };
    const base: RouterConfig = {
      responseCache: { enabled: true },
      authenticate: () => account,
    };
    const router = createRouter({ ...base, providers: providers(), ...before });
    await using mount = await listen(createServer(nodeRouter(router)));
    const ask = async (): Promise<readonly [string | number, string | null]> => {
      const answer = await fetch(`${mount.baseURL}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          model,
          stream,
          provider: { order: ['p1', 'p2'] },
          messages: [{ role: 'user', content: 'Hello' }],
        }),
      });
      const text = await answer.text();
      const said = /(?:one|two) with [\w/]+/.exec(text)?.[0];
      return [answer.status === 200 ? (said ?? 'nothing') : answer.status, answer.headers.get('x-router-cache-status')];
    };
    expect(await ask()).toEqual(['one with acme/a', 'MISS']);
    expect(await ask()).toEqual(['one with acme/a', 'HIT']);
    const [, second] = providers();
    if (changed === undefined) {
      const isGone = config.providers?.length === 0 && second !== undefined;
      router.update({ ...base, ...config, providers: isGone ? [second] : providers() });
    } else account = { ...account, ...changed };
    const [said] = await ask();
    expect(said).toBe(after);
    if (typeof after === 'string') expect(await ask()).toEqual([after, 'HIT']);
    await router.close();
  });
});

describe('an answer in the cache', () => {
  it('is given although its provider is not there for the moment', async () => {
    const router = createRouter({ providers: providers(), responseCache: { enabled: true } });
    const request = {
      model: 'acme/a',
      provider: { only: ['p1'] },
      messages: [{ role: 'user', content: 'Hi' }],
    } as const;
    const first = await router.chat(request);
    await router.update({ providers: providers(), responseCache: { enabled: true } });
    await upstreams[0][Symbol.asyncDispose]();
    const second = await router.chat(request);
    expect(second.choices).toEqual(first.choices);
    upstreams = [await upstream('one'), upstreams[1]];
    await router.close();
  });
});
