import { describe, expect, it } from 'vitest';
import { type Accepts, acceptsOf, type VendorAccepts } from '../../../src/core/accepts.ts';
import { parametersLackedBy } from '../../../src/catalog/lacked-parameters.ts';
import { SUPPORTED_PARAMETERS } from '../../../src/catalog/model.ts';
import { ANTHROPIC } from '../../../src/providers/accepts/anthropic.ts';
import { GOOGLE, VERTEX } from '../../../src/providers/accepts/google.ts';
import { acceptsOfVendor } from '../../support/encoded.ts';
import { VENDOR_PRESETS } from '../../../src/providers/openai-compatible/presets.ts';

const RECORDS: readonly (readonly [string, VendorAccepts])[] = [
  ['anthropic', ANTHROPIC],
  ['google', GOOGLE],
  ['vertex', VERTEX],
  ['azure', await acceptsOfVendor('azure')],
  ...(await Promise.all(Object.keys(VENDOR_PRESETS).map(async (slug) => [slug, await acceptsOfVendor(slug)] as const))),
];

describe.each(RECORDS)('the record of %s', (_vendor, { all, families }) => {
  it('says where each group of facts is from, and when it was read', () => {
    for (const group of Object.values(all) as readonly Accepts['usage'][]) expect(group.source).toMatch(/20\d\d-\d\d/);
    for (const family of families) expect(family.source).toMatch(/20\d\d-\d\d/);
  });

  it('has no family that another one before it hides by the same pattern', () => {
    const patterns = families.map(({ models }) => models.source);
    expect(new Set(patterns).size).toBe(patterns.length);
  });

  it('asks for efforts or for budgets where it steers reasoning by them', () => {
    for (const { models } of families) {
      const { reasoning } = acceptsOf({ all, families: families.filter((one) => one.models === models) }, '');
      expect(reasoning.control === 'budget' ? reasoning.budget : reasoning.efforts).toBeDefined();
    }
  });
});

describe('the table of parameters', () => {
  it('is what records of vendors refuse', () => {
    for (const [vendor, { all }] of RECORDS) {
      if (vendor === 'openrouter' || vendor === 'vertex') continue;
      const name = ['ollama', 'vllm', 'lmstudio'].includes(vendor) ? 'local' : vendor;
      expect(all.parameters.refused).toEqual(
        expect.arrayContaining([...parametersLackedBy(name as Parameters<typeof parametersLackedBy>[0])]),
      );
    }
  });

  it('names every parameter once', () => {
    expect(new Set(SUPPORTED_PARAMETERS).size).toBe(SUPPORTED_PARAMETERS.length);
    expect(parametersLackedBy('mistral')).toContain('top_k');
    expect(parametersLackedBy('mistral')).not.toContain('temperature');
  });
});
