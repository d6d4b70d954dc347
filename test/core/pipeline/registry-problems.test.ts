import {
  ConfigError,
  type Plugin,
  type RouterConfig,
  createRouter,
  datetime,
  defineServerTool,
  simulated,
} from 'signalbox';
import { describe, expect, it } from 'vitest';
import { standIn } from '../../support/plugins.ts';

function problemsOf(config: RouterConfig): readonly string[] {
  try {
    createRouter({ ...config, providers: [simulated()] });
  } catch (error) {
    if (ConfigError.isInstance(error)) return error.problems.map(({ path, problem }) => `${path} ${problem}`);
    throw error;
  }
  return [];
}

const tool = (type: string) =>
  defineServerTool({
    type: type as 'router:x',
    describe: () => ({ description: '', parameters: {} }),
    execute: () => ({ result: '' }),
  });

describe('a configuration of plugins and server tools', () => {
  it('is told everything that is wrong with it at once', () => {
    const whenever = { id: 'b', whenItThrows: 'whenever' } as unknown as Plugin;
    expect(
      problemsOf({
        plugins: [
          standIn('a b'),
          { ...standIn('same'), models: ['router/one', 'nonsense'] },
          { ...standIn('same'), models: ['router/one'], timeoutMs: 0 },
          whenever,
          { id: 'bare', whenItThrows: 'fail' },
        ],
        pluginDefaults: [{ id: 'nobody' }, { id: 'bare', options: { size: 1 } }],
        serverTools: [datetime(), datetime(), tool('router:Big'), tool('router:bash')],
        timeouts: { pluginMs: -1, serverToolMs: Number.NaN },
      }),
    ).toEqual([
      'timeouts.pluginMs must be a non-negative number of milliseconds, not -1',
      'timeouts.serverToolMs must be a non-negative number of milliseconds, not NaN',
      'plugins[0].id must be 1 to 64 letters, digits and "-", not "a b"',
      'plugins[1].models[1] must be a slug such as "router/auto", not "nonsense"',
      'plugins[2].timeoutMs must be a number above 0, not 0',
      'plugins[2].id must be unique, but "same" is there twice',
      'plugins[2].models must not claim "router/one", which "same" has',
      'plugins[3].whenItThrows must be "fail" or "skip", not "whenever"',
      'pluginDefaults[0].id must be the id of a registered plugin (a b, same, same, b, bare), not "nobody"',
      'pluginDefaults[1].options takes no options, but has "size"',
      'serverTools[1].type must be unique, but "router:datetime" is there twice',
      'serverTools[2].type must be "router:" and lower-case letters or "_", not "router:Big"',
      'serverTools[3].type must not be "router:bash": chat completions always refuse it',
    ]);
  });

  it('may be left out, or be fine', () => {
    expect(problemsOf({})).toEqual([]);
    expect(
      problemsOf({ plugins: [standIn('a'), standIn('b')], pluginDefaults: [{ id: 'a', options: { x: 1 } }] }),
    ).toEqual([]);
  });
});
