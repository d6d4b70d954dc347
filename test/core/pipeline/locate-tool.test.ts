import { describe, expect, it } from 'vitest';
import { faultInBody, pathOfServerTool } from '../../../src/core/pipeline/locate-tool.ts';
import { faultAt } from '../../../src/protocol/fault.ts';

const body = {
  tools: [
    { type: 'function' },
    { type: 'openrouter:advisor' },
    null,
    { type: 'router:advisor' },
    { type: 'web_search_20250305' },
    { type: 'image_generation' },
    { type: 'web_search_preview' },
  ],
};

describe('the place of a server tool in a body', () => {
  it.each([
    ['router:advisor', 0, 'tools[1]'],
    ['router:advisor', 1, 'tools[3]'],
    ['router:advisor', 2, 'tools'],
    ['router:web_search', 0, 'tools[4]'],
    ['router:web_search', 1, 'tools[6]'],
    ['router:image_generation', 0, 'tools[5]'],
    ['router:files', 0, 'tools'],
  ])('is found for %s number %i', (type, occurrence, path) => {
    expect(pathOfServerTool(body, type, occurrence)).toBe(path);
  });

  it.each([undefined, null, 7, {}, { tools: 'x' }])('is the list for a body like %j', (odd) => {
    expect(pathOfServerTool(odd, 'router:files', 0)).toBe('tools');
  });
});

describe('the place of an option', () => {
  it.each([
    [{ parameters: { a: 1 } }, 'a', 'tools[0].parameters.a[2].b'],
    [{ a: 1 }, 'a', 'tools[0].a[2].b'],
    [{ a: 1, parameters: { a: 2 } }, 'a', 'tools[0].parameters.a[2].b'],
    [{}, 'a', 'tools[0].parameters.a[2].b'],
    [{ blocked_domains: [] }, 'excluded_domains', 'tools[0].blocked_domains[2].b'],
    [{ filters: { blocked_domains: [] } }, 'excluded_domains', 'tools[0].filters.blocked_domains[2].b'],
    [{ filters: { allowed_domains: [] } }, 'allowed_domains', 'tools[0].filters.allowed_domains[2].b'],
  ])('of %j named %s is %s', (tool, option, path) => {
    const fault = faultInBody(faultAt(`tools[0].parameters.${option}[2].b`, 'must be right'), { tools: [tool] });
    expect(fault).toMatchObject({ path, message: `${path} must be right.` });
  });

  it('leaves other faults alone', () => {
    for (const path of ['', 'model', 'tools', 'tools[0].type', 'tools[9].parameters.a', 'plugins[0].parameters.a']) {
      const fault = faultAt(path, 'must be right');
      expect(faultInBody(fault, { tools: [{ a: 1 }] })).toEqual(fault);
    }
  });
});
