import { type Plugin, type Router, RouterError, type SimulatedOutcome, createRouter, simulated } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { hello, pluginBench, standIn, streamed } from '../support/plugins.ts';

/** Marks the prompt, so that a test sees whether it ran. */
const stubborn: Plugin = {
  ...standIn('stubborn'),
  preventOverrides: true,
  runsUnasked: () => true,
  onRequest: (_request, options) => ({
    type: 'continue',
    change: { messages: [{ role: 'user', content: `ran with ${JSON.stringify(options)}` }] },
  }),
};

const echo = ({ messages }: { readonly messages: readonly { readonly content?: unknown }[] }): string =>
  String(messages.at(-1)?.content);

describe('a plugin that requests cannot override', () => {
  const { router } = pluginBench(echo, { plugins: [stubborn] });
  const said = async (...asked: Parameters<typeof router.chat>): Promise<unknown> =>
    (await router.chat(...asked)).choices[0]?.message.content;

  it('runs although the request switches it off, and does not take its options', async () => {
    expect(await said(hello({ plugins: [{ id: 'stubborn', enabled: false }] }))).toBe('ran with {}');
    expect(await said(hello({ plugins: [{ id: 'stubborn', mine: 1 }] }))).toBe('ran with {}');
  });

  it('does what the account says, and nothing else', async () => {
    const plugins = [{ id: 'stubborn', mine: 1 }];
    const strict = { id: 'a', pluginDefaults: [{ id: 'stubborn', options: { from: 'account' } }] };
    expect(await said(hello({ plugins }), { account: strict })).toBe('ran with {"from":"account"}');
    const exempt = { id: 'b', pluginDefaults: [{ id: 'stubborn', enabled: false }] };
    expect(await said(hello({ plugins }), { account: exempt })).toBe('Hello');
  });
});

describe('what a plugin leaves for errors', () => {
  const parser: Plugin = {
    ...standIn('parser'),
    onRequest(_request, _options, context) {
      context.onError({ file_annotations: [{ type: 'file' }], error_type: 'not_me' });
      return { type: 'continue' };
    },
  };
  const plugins = [{ id: 'parser' }];
  const failing = (failures: readonly SimulatedOutcome[]): Router =>
    createRouter({
      providers: [
        simulated({ slug: 'acme', models: { 'acme/one': {} }, failures, firstTokenMs: 0, tokensPerSecond: 0 }),
      ],
      plugins: [parser],
      fallback: { maxAttempts: 1 },
    });

  it('is in the metadata when all providers fail, whole and streamed', async () => {
    const router = failing([{ kind: 'server' }, { kind: 'server' }]);
    const whole: unknown = await router.chat(hello({ plugins })).catch((error: unknown) => error);
    const { error } = await streamed(router, hello({ plugins }));
    for (const one of [whole, error]) {
      if (!RouterError.isInstance(one)) throw new Error('no error');
      expect(one.toDetail().metadata).toMatchObject({
        file_annotations: [{ type: 'file' }],
        error_type: 'provider_unavailable',
      });
    }
  });

  it('is in the metadata of the error that ends a stream', async () => {
    const router = failing([{ breakAfterTokens: 2 }]);
    const { error, text } = await streamed(router, hello({ plugins }));
    expect(text).not.toBe('');
    expect(error).toMatchObject({ metadata: { file_annotations: [{ type: 'file' }] } });
  });
});

describe('a router that is closed', () => {
  it('closes its plugins', async () => {
    let closed = 0;
    const { router } = pluginBench('Hi', {
      plugins: [{ ...standIn('holder'), close: () => Promise.resolve(void (closed += 1)) }],
    });
    await router.close();
    expect(closed).toBe(1);
  });
});
