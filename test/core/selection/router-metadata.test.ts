import { describe, expect, it } from 'vitest';
import { describeRouting } from '../../../src/core/selection/router-metadata.ts';
import { failedAt, planOver } from '../../support/attempts.ts';
import { NOW, serving } from '../../support/requests.ts';
import type { Attempt } from '../../../src/core/fallback/attempt.ts';

const plan = planOver('alpha', 'beta');

function answeredBy(position: number): Attempt {
  const step = plan.steps[position];
  if (step === undefined) throw new Error('is in the plan');
  return { step, startedAt: NOW, endedAt: NOW + 5, outcome: { ok: true } };
}

describe('router_metadata', () => {
  it('tells the attempt that answered and those before it', () => {
    const attempts = [failedAt(plan, 'alpha', 'rate_limited', { status: 429 }), answeredBy(1)];
    expect(describeRouting({ plan, attempts, answered: true, generationTime: 412.4, pipeline: [] })).toEqual({
      requested: 'acme/one',
      strategy: 'direct',
      region: null,
      summary: 'available=2, selected=beta',
      attempt: 2,
      is_byok: false,
      endpoints: {
        total: 2,
        available: [
          { provider: 'alpha', model: 'acme/one', selected: false },
          { provider: 'beta', model: 'acme/one', selected: true },
        ],
      },
      attempts: [
        { provider: 'alpha', model: 'acme/one', status: 429 },
        { provider: 'beta', model: 'acme/one', status: 200 },
      ],
      generation_time: 412,
    });
  });

  it('selects nobody when nobody answered, and says how many were tried', () => {
    const attempts = [failedAt(plan, 'alpha', 'timeout'), failedAt(plan, 'beta', 'server', { status: 500 })];
    expect(describeRouting({ plan, attempts, answered: false, pipeline: [] })).toMatchObject({
      summary: 'available=2, selected=none',
      attempt: 2,
      endpoints: { available: [{ selected: false }, { selected: false }] },
      attempts: [{ status: 524 }, { status: 500 }],
    });
  });

  it('says 0 when nothing was tried, and leaves out what there is not', () => {
    const described = describeRouting({ plan, attempts: [], answered: false, pipeline: [] });
    expect(described.attempt).toBe(0);
    expect(Object.keys(described)).not.toContain('attempts');
    expect(Object.keys(described)).not.toContain('generation_time');
    expect(Object.keys(described)).not.toContain('pipeline');
  });

  it('counts the endpoints that were left out, and tells region, own key and strategy of the one that answered', () => {
    const scene = serving({ alpha: { region: 'eu' }, beta: { dataCollection: true } });
    const own = scene.plan(
      { provider: { data_collection: 'deny' }, models: ['acme/one:exacto'] },
      {},
      { account: { id: 'tester', providerKeys: { alpha: { apiKey: 'secret' } } } },
    );
    const [step] = own.steps;
    if (step === undefined) throw new Error('is in the plan');
    const attempts: readonly Attempt[] = [{ step, startedAt: NOW, endedAt: NOW, outcome: { ok: true } }];
    const stage = { type: 'plugin', name: 'web-search' };
    expect(describeRouting({ plan: own, attempts, answered: true, pipeline: [stage] })).toMatchObject({
      region: 'eu',
      is_byok: true,
      strategy: 'direct',
      endpoints: { total: 3 },
      pipeline: [stage],
    });
  });
});
