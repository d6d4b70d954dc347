import { describe, expect, it } from 'vitest';
import { checkPluginOptions, pathBelow } from '../../../src/core/pipeline/plugin-options.ts';

describe('options of a plugin', () => {
  it('are judged by its parser', () => {
    const parser = (value: unknown) => ({ ok: true as const, options: { seen: value } });
    expect(checkPluginOptions({ parseOptions: parser }, { depth: 2 })).toEqual({
      ok: true,
      options: { seen: { depth: 2 } },
    });
  });

  it('are refused by name where it has no parser; null and undefined say nothing', () => {
    expect(checkPluginOptions({}, {})).toEqual({ ok: true, options: {} });
    expect(checkPluginOptions({}, { depth: null, other: undefined })).toEqual({ ok: true, options: {} });
    expect(checkPluginOptions({}, { depth: 0 })).toEqual({
      ok: false,
      path: '',
      problem: 'takes no options, but has "depth"',
    });
  });
});

describe('the path of an option', () => {
  it.each([
    ['plugins[0]', '', 'plugins[0]'],
    ['plugins[0]', 'depth', 'plugins[0].depth'],
    ['plugins[0]', '[1]', 'plugins[0][1]'],
  ])('below %s is %j, as %s', (place, path, whole) => {
    expect(pathBelow(place, path)).toBe(whole);
  });
});
