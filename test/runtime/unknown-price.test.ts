import { createRouter, type EndpointDeclaration, simulated, type WarningEvent } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';

function benchWith(models: Readonly<Record<string, EndpointDeclaration>>) {
  const environment = fakeEnvironment();
  const warnings: WarningEvent[] = [];
  const provider = simulated({ slug: 'acme', models, environment, firstTokenMs: 0, tokensPerSecond: 0 });
  const router = createRouter({
    providers: [provider],
    environment,
    on: { warning: (warning) => void warnings.push(warning) },
  });
  const ask = (model: string) => ({ model, messages: [{ role: 'user' as const, content: 'Hello' }] });
  return { router, warnings, ask };
}

describe('an answer whose price is unknown', () => {
  it('is told once for each endpoint, with what to do about it', async () => {
    const { router, warnings, ask } = benchWith({ 'acme/one': {}, 'acme/two': {} });
    await router.chat(ask('acme/one'));
    await router.chat(ask('acme/one'));
    for await (const _ of router.stream(ask('acme/two')));
    for await (const _ of router.stream(ask('acme/one')));
    expect(warnings.map(({ code }) => code)).toEqual(['price_unknown', 'price_unknown']);
    expect(warnings.map(({ message }) => /^An answer of (\S+) at acme/.exec(message)?.[1])).toEqual([
      'acme/one',
      'acme/two',
    ]);
    expect(warnings[0]?.message).toContain("{ 'acme/one': { price: { prompt, completion } } }");
    expect(warnings[0]?.message).toContain('npx signalbox catalog refresh');
  });

  it('is not told where the price is known, also where it is nothing', async () => {
    const { router, warnings, ask } = benchWith({
      'acme/one': { price: { prompt: 1, completion: 2 } },
      'acme/two': { price: { prompt: 0, completion: 0 } },
    });
    await router.chat(ask('acme/one'));
    await router.chat(ask('acme/two'));
    expect(warnings).toEqual([]);
  });
});
