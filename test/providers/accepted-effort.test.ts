import { describe, expect, it } from 'vitest';
import { withAcceptedEffort } from '../../src/providers/accepted-effort.ts';

describe('the effort of a body', () => {
  const body = { model: 'one', reasoning: { effort: 'xhigh', summary: 'auto' } };

  it('becomes the nearest that the provider takes, and nothing else changes', () => {
    const changed = withAcceptedEffort(body, 'reasoning', ['low', 'medium', 'high']);
    expect(changed).toEqual({ model: 'one', reasoning: { effort: 'high', summary: 'auto' } });
    expect(body.reasoning.effort).toBe('xhigh');
  });

  it('stays where the provider has refused none, takes it, or the body holds none that is known', () => {
    expect(withAcceptedEffort(body, 'reasoning', undefined)).toBe(body);
    expect(withAcceptedEffort(body, 'reasoning', ['xhigh'])).toBe(body);
    expect(withAcceptedEffort(body, 'output_config', ['low'])).toBe(body);
    const unknown = { reasoning: { effort: 'extreme' } };
    expect(withAcceptedEffort(unknown, 'reasoning', ['low'])).toBe(unknown);
  });
});
