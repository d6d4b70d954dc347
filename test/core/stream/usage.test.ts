import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../../../src/catalog/endpoint.ts';
import { settleUsage } from '../../../src/core/stream/billing.ts';
import { MODEL, serving } from '../../support/requests.ts';

const COUNTS = { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 };
const ESTIMATE = { promptTokens: 10, completionTokens: 20, images: 0, at: 0 };

function endpointWith(declaration: object, own = false): Endpoint {
  const account = own ? { id: 'tester', providerKeys: { alpha: { apiKey: 'secret' } } } : { id: 'tester' };
  const plan = serving({ alpha: declaration }).plan({ model: MODEL }, {}, { account });
  const [step] = plan.steps;
  if (step === undefined) throw new Error('was declared');
  return step.endpoint;
}

const priced = { price: { prompt: 2, completion: 10 } };

describe('a search that the provider ran itself', () => {
  it('counts in both members that tell of searches (gaps 5.4)', () => {
    const [endpoint] = serving({ up: {} }).catalog.endpoints(MODEL);
    if (endpoint === undefined) throw new Error('was declared');
    const counted = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const estimate = { promptTokens: 1, completionTokens: 1, images: 0, at: 0 };
    const searched = { ...counted, server_tool_use: { web_search_requests: 2 } };
    expect(settleUsage(endpoint, searched, estimate).usage).toMatchObject({
      server_tool_use: { web_search_requests: 2 },
      server_tool_use_details: { web_search_requests: 2 },
    });
    expect(settleUsage(endpoint, counted, estimate).usage).not.toHaveProperty('server_tool_use_details');
  });
});

describe('settled usage', () => {
  it('is priced by the endpoint', () => {
    expect(settleUsage(endpointWith(priced), COUNTS, ESTIMATE)).toEqual({
      usage: {
        ...COUNTS,
        is_byok: false,
        cost: 0.007,
        cost_details: {
          upstream_inference_cost: 0.007,
          upstream_inference_prompt_cost: 0.002,
          upstream_inference_completions_cost: 0.005,
        },
      },
      costNanoUsd: 7_000_000,
      costParts: [
        { item: 'prompt', units: 1_000, nanoUsd: 2_000_000 },
        { item: 'completion', units: 500, nanoUsd: 5_000_000 },
      ],
    });
  });

  it('believes a cost that the provider reports', () => {
    const reported = { ...COUNTS, reportedCost: 0.001, reportedCostDetails: { discount: 0.5 } };
    expect(settleUsage(endpointWith(priced), reported, ESTIMATE)).toEqual({
      usage: {
        ...COUNTS,
        is_byok: false,
        cost: 0.001,
        cost_details: { discount: 0.5, upstream_inference_cost: 0.001 },
      },
      costNanoUsd: 1_000_000,
    });
  });

  it("charges nothing where the account's own key paid, and says what it paid", () => {
    const { usage, costNanoUsd } = settleUsage(endpointWith(priced, true), COUNTS, ESTIMATE);
    expect(usage).toMatchObject({ is_byok: true, cost: 0, cost_details: { upstream_inference_cost: 0.007 } });
    expect(costNanoUsd).toBe(0);
  });

  it('never makes zero of a price that nobody knows', () => {
    const { usage, costNanoUsd } = settleUsage(endpointWith({}), COUNTS, ESTIMATE);
    expect(usage).toEqual({ ...COUNTS, is_byok: false });
    expect(costNanoUsd).toBeUndefined();
    expect(settleUsage(endpointWith({}, true), COUNTS, ESTIMATE).usage).not.toHaveProperty('cost');
  });

  it('is zero for what is known to cost nothing', () => {
    expect(settleUsage(endpointWith({ price: { prompt: 0, completion: 0 } }), COUNTS, ESTIMATE)).toMatchObject({
      usage: { cost: 0 },
      costNanoUsd: 0,
    });
  });

  it('is estimated, and says so, where the provider counted nothing', () => {
    expect(settleUsage(endpointWith(priced), undefined, ESTIMATE).usage).toMatchObject({
      prompt_tokens: 10,
      completion_tokens: 20,
      total_tokens: 30,
      estimated: true,
      cost: 0.00022,
    });
  });

  it('counts the images of the request', () => {
    const withImages = endpointWith({ price: { prompt: 0, completion: 0, image: 0.01 } });
    expect(settleUsage(withImages, COUNTS, { ...ESTIMATE, images: 2 }).usage.cost).toBe(0.02);
  });

  it('is priced by the tier that served', () => {
    const tiered = endpointWith({ price: { prompt: 2, completion: 10, serviceTiers: { flex: 0.5 } } });
    const costIn = (serviceTier: string | undefined): number | undefined =>
      settleUsage(tiered, COUNTS, { ...ESTIMATE, serviceTier }).usage.cost;
    expect([costIn(undefined), costIn('default'), costIn('flex'), costIn('priority')]).toEqual([
      0.007,
      0.007,
      0.0035,
      undefined,
    ]);
  });

  it('is priced by the default tier where a tier endpoint fell back to it', () => {
    const offers = [
      { price: { prompt: 2, completion: 10 } },
      { tier: 'priority', price: { prompt: 4, completion: 20 } },
    ] as const;
    const { steps } = serving({ alpha: offers }).plan({ service_tier: 'priority' });
    const [first] = steps;
    if (first?.endpoint.tier !== 'priority') throw new Error('comes first');
    const costIn = (serviceTier: string): number | undefined =>
      settleUsage(first.endpoint, COUNTS, { ...ESTIMATE, serviceTier }).usage.cost;
    expect([costIn('priority'), costIn('default')]).toEqual([0.014, 0.007]);
  });

  it('tells what the searches of the provider cost apart', () => {
    const searching = endpointWith({ price: { prompt: 2, completion: 10, webSearch: 0.01 } });
    const searched = { ...COUNTS, server_tool_use: { web_search_requests: 2 } };
    expect(settleUsage(searching, searched, ESTIMATE).usage).toMatchObject({
      cost: 0.027,
      cost_details: { upstream_inference_cost: 0.027, server_tool_cost: 0.02 },
    });
    expect(settleUsage(endpointWith(priced), searched, ESTIMATE).usage).not.toHaveProperty('cost');
  });

  it('counts the images of the answer', () => {
    const drawing = endpointWith({ price: { prompt: 0, completion: 0, outputImage: 0.04 } });
    expect(settleUsage(drawing, COUNTS, { ...ESTIMATE, outputImages: 3 }).usage.cost).toBe(0.12);
  });

  it('adds up to the nano-dollar over many requests', () => {
    const endpoint = endpointWith({ price: { prompt: 0.1, completion: 0.2 } });
    let sum = 0;
    for (let index = 0; index < 1_000; index += 1) {
      sum +=
        settleUsage(endpoint, { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }, ESTIMATE).costNanoUsd ?? 0;
    }
    expect(sum).toBe(300_000);
  });
});

describe('usage of an answer that was cut', () => {
  const cut = { promptTokens: 0, completionTokens: 400, images: 0, at: 0, isCut: true };
  const placeholder = { prompt_tokens: 1_000, completion_tokens: 1, total_tokens: 1_001 };

  it('is the greater of what was reported and what was likely generated', () => {
    const { usage, costNanoUsd } = settleUsage(endpointWith(priced), placeholder, cut);
    expect(usage).toMatchObject({ prompt_tokens: 1_000, completion_tokens: 400, total_tokens: 1_400, estimated: true });
    expect(costNanoUsd).toBe(6_000_000);
    expect(settleUsage(endpointWith(priced), COUNTS, cut)).toMatchObject({ costNanoUsd: 7_000_000 });
    expect(settleUsage(endpointWith(priced), COUNTS, cut).usage).not.toHaveProperty('estimated');
    expect(settleUsage(endpointWith(priced), placeholder, { ...cut, isCut: false })).toMatchObject({
      costNanoUsd: 2_010_000,
    });
  });

  it('costs the greater of both, and what was reported where no price is known', () => {
    const costOf = (reportedCost: number, declaration: object = priced): number | undefined =>
      settleUsage(endpointWith(declaration), { ...placeholder, reportedCost }, cut).costNanoUsd;
    expect(costOf(0.002)).toBe(6_000_000);
    expect(costOf(0.01)).toBe(10_000_000);
    expect(costOf(0.002, {})).toBe(2_000_000);
  });
});
