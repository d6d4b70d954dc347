import { describe, expect, it } from 'vitest';
import { buildCatalog } from '../../../src/catalog/catalog.ts';
import { hintForModel, keyVariableOf } from '../../../src/core/normalize/unknown-model.ts';
import { VENDOR_PRESETS, type VendorPreset } from '../../../src/providers/openai-compatible/presets.ts';

function catalogOf(slug: string, ...ids: readonly string[]) {
  return buildCatalog([{ slug, name: slug, models: Object.fromEntries(ids.map((id) => [id, {}])) }]);
}

describe('what is said of an unknown model', () => {
  const catalog = catalogOf('openai', 'openai/gpt-5-mini', 'openai/gpt-5-nano', 'openai/o4', 'acme/gpt-5-mini');

  it.each([
    ['openai/gpt-5-mni', '; did you mean "openai/gpt-5-mini" or "openai/gpt-5-nano"?'],
    ['gpt-5-mini', '; did you mean "openai/gpt-5-mini" or "acme/gpt-5-mini"'],
    ['OPENAI/O5', '; did you mean "openai/o4"?'],
    ['anthropic/claude-opus-4.7', ': no provider of this router serves models of anthropic; set ANTHROPIC_API_KEY'],
    ['router/fusion', ': it needs a plugin that this router does not have'],
  ])('%s%s', (slug, hint) => {
    expect(hintForModel(slug, catalog).startsWith(hint)).toBe(true);
  });

  it.each(['openai/something-else-entirely', 'nobody/of-this-name', '__proto__', 'constructor/x', ''])(
    'is nothing more about %j',
    (slug) => {
      expect(hintForModel(slug, catalog)).toBe('');
    },
  );

  it('compares some models only, and those of the same author first', () => {
    const many = Array.from({ length: 5_000 }, (_, index) => `other/model-${index}`);
    const large = catalogOf('up', ...many, 'acme/target-model');
    expect(hintForModel('acme/target-modle', large)).toBe('; did you mean "acme/target-model"?');
    const begun = performance.now();
    for (let round = 0; round < 10; round += 1) hintForModel('other/model-x', large);
    expect(performance.now() - begun).toBeLessThan(2_000);
  });

  it('names the variables in which the providers look', () => {
    for (const preset of Object.values<VendorPreset>(VENDOR_PRESETS)) {
      const { slug, apiKeyVariables, sharesKey } = preset;
      // A key that other programs use, too, does not put its vendor into a router by itself.
      expect(keyVariableOf(slug), slug).toBe(sharesKey === true ? undefined : apiKeyVariables[0]);
    }
  });
});
