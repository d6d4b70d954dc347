import { describe, expect, it } from 'vitest';
import type { Tool } from '../../../src/protocol/tools.ts';
import { sceneOf } from '../../support/requests.ts';

function functionTool(name: string, description?: string): Tool {
  return { type: 'function', function: { name, description } };
}

const scene = sceneOf({
  providers: { alpha: { 'acme/one': {}, 'acme/two': {} } },
  presets: {
    careful: {
      model: 'acme/two',
      temperature: 0.1,
      seed: 7,
      provider: { data_collection: 'deny', zdr: true },
      tools: [functionTool('look_up', 'of the preset'), { type: 'router:web_search' }, { type: 'router:datetime' }],
    },
    models: { models: ['acme/one', 'acme/two'] },
    looping: { model: '@preset/looping' },
  },
});

describe('a preset', () => {
  it.each([
    ['by its field', { preset: 'careful' }, 'acme/two'],
    ['by a model of its name', { model: '@preset/careful' }, 'acme/two'],
    ['behind a model', { model: 'acme/one@preset/careful' }, 'acme/one'],
    ['by its field beside a model', { preset: 'careful', model: 'acme/one' }, 'acme/one'],
    ['with a list of models', { preset: 'models' }, 'acme/one'],
    ['by its field beside a model that is null', { preset: 'careful', model: null }, 'acme/two'],
  ])('is found %s', (_name, body, expected) => {
    expect(scene.request(body).targets[0]?.model).toBe(expected);
  });

  it('gives way to what the request says itself', () => {
    const { parameters, preferences } = scene.request({ preset: 'careful', temperature: 0.9 });
    expect(parameters).toEqual({ temperature: 0.9, seed: 7 });
    expect(preferences).toMatchObject({ denyDataCollection: true, zeroDataRetention: true });
  });

  it('is merged shallowly: an object of the request replaces the one of the preset', () => {
    const { preferences } = scene.request({ preset: 'careful', provider: { sort: 'price' } });
    expect(preferences).toMatchObject({ sort: 'price', denyDataCollection: false, zeroDataRetention: false });
  });

  it('keeps its fields where the request says null', () => {
    expect(scene.request({ preset: 'careful', temperature: null }).parameters).toEqual({ temperature: 0.1, seed: 7 });
  });

  it('adds its tools to those of the request, which win by name', () => {
    const tools: Tool[] = [functionTool('look_up', 'of the request'), functionTool('write'), { type: 'web_search' }];
    const request = scene.request({ preset: 'careful', tools });
    expect(request.tools).toEqual([functionTool('look_up', 'of the request'), functionTool('write')]);
    expect(request.serverTools.map(({ type }) => type)).toEqual(['router:datetime', 'router:web_search']);
  });

  it('tells server tools of one type apart by their names', () => {
    const advisor = (name: string): Tool => ({ type: 'router:advisor', parameters: { name } });
    const team = sceneOf({
      providers: { alpha: { 'acme/one': {} } },
      presets: { team: { model: 'acme/one', tools: [advisor('anna'), advisor('bert')] } },
    });
    const { serverTools } = team.request({ preset: 'team', tools: [{ type: 'openrouter:advisor', name: 'bert' }] });
    expect(serverTools.map(({ parameters }) => parameters?.['name'])).toEqual(['anna', 'bert']);
  });

  it.each([
    [{ preset: 'nobody' }, 'preset'],
    [{ model: '@preset/nobody' }, 'model'],
    [{ model: 'acme/one@preset/nobody' }, 'model'],
    [{ preset: 'constructor' }, 'preset'],
  ])('that does not exist is a mistake of the request: %j', (body, path) => {
    expect(scene.fault(body)).toMatchObject({ status: 400, path });
  });

  it('does not follow itself', () => {
    expect(scene.fault({ preset: 'looping' })).toMatchObject({ status: 400 });
  });
});
