import { describe, expect, it } from 'vitest';
import { serverToolType, sortTools } from '../../../src/core/normalize/server-tools.ts';

const LOOK = { type: 'function', function: { name: 'look' } } as const;

describe('tools', () => {
  it('are told apart by who runs them', () => {
    expect(sortTools([LOOK, { type: 'router:datetime' }])).toEqual({
      functions: [LOOK],
      server: [{ type: 'router:datetime', parameters: {} }],
    });
    expect(sortTools([])).toEqual({ functions: [], server: [] });
  });

  it('of the router have one spelling, whatever the brand or the short form', () => {
    for (const type of ['web_search', 'web_search_preview', 'web_search_2025_08_26', 'openrouter:web_search']) {
      expect(serverToolType(type)).toBe('router:web_search');
    }
    expect(serverToolType('router:web_fetch')).toBe('router:web_fetch');
  });

  it('of the router may have their options beside the type, and those under parameters win', () => {
    expect(
      sortTools([{ type: 'web_search', max_results: 3, engine: 'exa', parameters: { engine: 'native' } }]),
    ).toEqual({
      functions: [],
      server: [{ type: 'router:web_search', parameters: { max_results: 3, engine: 'native' } }],
    });
  });
});
