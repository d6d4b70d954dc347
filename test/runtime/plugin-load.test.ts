import { type Plugin, RouterError } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { hello, pluginBench, streamed } from '../support/plugins.ts';

const request = hello({ plugins: [{ id: 'heavy' }] });

/** A plugin that notes in which order things happen to it. */
function heavy(load: () => Promise<void> | void, whenItThrows: Plugin['whenItThrows'] = 'fail') {
  const notes: string[] = [];
  const plugin: Plugin = {
    id: 'heavy',
    whenItThrows,
    load() {
      notes.push('load');
      return load();
    },
    onRequest() {
      notes.push('onRequest');
      return { type: 'continue' };
    },
    onCandidates(targets) {
      notes.push('onCandidates');
      return targets;
    },
  };
  return { plugin, notes };
}

/** A load that is over when the test says so. */
function held() {
  let open: () => void = () => expect.fail('not loaded yet');
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { load: () => opened, open: () => open() };
}

describe('the load of a plugin', () => {
  it('is awaited before its first hook, and never called again', async () => {
    const gate = held();
    const { plugin, notes } = heavy(gate.load);
    const { router } = pluginBench('Hi', { plugins: [plugin] });
    const [first, second] = [router.chat(request), streamed(router, request)];
    await new Promise(setImmediate);
    expect(notes).toEqual(['load']);
    gate.open();
    await first;
    expect((await second).text).toBe('Hi');
    await router.chat(request);
    expect(notes.filter((note) => note === 'load')).toHaveLength(1);
    expect(notes.filter((note) => note === 'onRequest')).toHaveLength(3);
  });

  it('is awaited by explain, too', async () => {
    const { plugin, notes } = heavy(() => Promise.resolve());
    await pluginBench('Hi', { plugins: [plugin] }).router.explain(request);
    expect(notes).toEqual(['load', 'onCandidates']);
  });

  it('does not happen for a request that the plugin takes no part in', async () => {
    const { plugin, notes } = heavy(() => expect.fail('loaded'));
    const { router } = pluginBench('Hi', { plugins: [plugin] });
    await router.chat(hello());
    expect(notes).toEqual([]);
  });

  it('that fails is a failure of the plugin, and the next request tries again', async () => {
    let works = false;
    const load = () => (works ? Promise.resolve() : Promise.reject(new Error('secret path')));
    const { plugin, notes } = heavy(load);
    const { router, warnings } = pluginBench('Hi', { plugins: [plugin] });
    const error: unknown = await router.chat(request).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RouterError);
    expect(error).toMatchObject({ status: 502, message: 'The plugin "heavy" failed' });
    expect(warnings[0]?.message).toBe('The plugin "heavy" threw Error in load; the request failed');
    await expect(router.explain(request)).rejects.toMatchObject({ status: 502 });
    works = true;
    await router.chat(request);
    expect(notes).toEqual(['load', 'load', 'load', 'onRequest', 'onCandidates']);
  });

  it('that fails leaves out a plugin that may be skipped', async () => {
    const { plugin, notes } = heavy(() => Promise.reject(new Error('no')), 'skip');
    const { router } = pluginBench('Hi', { plugins: [plugin] });
    const answer = await router.chat(request, { metadata: true });
    expect(answer.router_metadata?.pipeline).toMatchObject([
      { name: 'heavy', data: { hook: 'load', reason: 'error', skipped: true } },
    ]);
    expect((await router.explain(request)).steps).toHaveLength(1);
    expect(notes).toEqual(['load', 'load']);
  });

  it('has the time of a hook', async () => {
    const gate = held();
    const { plugin } = heavy(gate.load);
    const { router, environment } = pluginBench('Hi', { plugins: [{ ...plugin, timeoutMs: 50 }] });
    const failed = expect(router.chat(request)).rejects.toMatchObject({ message: 'The plugin "heavy" took too long' });
    await environment.advance(50);
    await failed;
    gate.open();
    await router.chat(request);
  });
});
