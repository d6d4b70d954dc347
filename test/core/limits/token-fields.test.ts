import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limitedFields, notSent } from '../../../src/core/limits/token-fields.ts';
import type { JsonObject } from '../../../src/protocol/json.ts';
import { runs } from '../../support/properties.ts';

/** Names of known servers: Ollama, llama.cpp, TGI, SGLang, vLLM, TensorRT-LLM, Gemini, LM Studio, Hugging Face. */
const MORE = [
  'num_predict',
  'n_predict',
  'max_new_tokens',
  'max_output_tokens',
  'max_length',
  'min_length',
  'min_tokens',
  'best_of',
  'use_beam_search',
  'num_beams',
  'beam_width',
  'ignore_eos',
  'min_new_tokens',
  'maxOutputTokens',
  'candidateCount',
  'num_return_sequences',
  'max_tokens_to_sample',
  'thinking_budget',
  'thinkingBudget',
  'thinking_token_budget',
  'max_gen_len',
  'maxPredictedTokens',
  'tokens_to_generate',
  'max_thinking_tokens',
];
/** Names that cost nothing more. */
const KEPT = ['top_k', 'min_p', 'typical_p', 'repetition_penalty', 'length_penalty', 'truncate_prompt_tokens', 'seed'];

describe('fields by which an answer could cost more', () => {
  it('are left out wherever they are and however they are written, and nothing else is', () => {
    const spelt = fc
      .tuple(fc.constantFrom(...MORE), fc.constantFrom('as it is', 'capitals', 'dashes'))
      .map(([name, how]) =>
        how === 'capitals' ? name.toUpperCase() : how === 'dashes' ? name.replaceAll('_', '-') : name,
      );
    const nests = fc.array(fc.constantFrom('extra_body', 'options', 'generationConfig', 'parameters', 'list'), {
      maxLength: 3,
    });
    fc.assert(
      fc.property(spelt, nests, fc.constantFrom(...KEPT), (name, path, kept) => {
        const nested = (fields: JsonObject): JsonObject =>
          path.reduceRight<JsonObject>((within, one) => ({ [one]: one === 'list' ? [within] : within }), fields);
        const { extra, dropped } = limitedFields(nested({ [name]: 8_000, [kept]: 1 }));
        expect(JSON.parse(JSON.stringify(extra))).toEqual(nested({ [kept]: 1 }));
        expect(dropped).toEqual([[...path, name].join('.')]);
      }),
      runs(400),
    );
  });

  it('are not looked for in schemas and data', () => {
    const extra = { guided_json: { properties: { max_tokens: { minLength: 2 } } }, metadata: { best_of: '1' } };
    expect(limitedFields(extra)).toEqual({ extra, dropped: [] });
  });

  it('do not include n, which is counted, unless it is no number or inside something', () => {
    expect(limitedFields({ n: 3 }).dropped).toEqual([]);
    expect(limitedFields({ n: '3' }).dropped).toEqual(['n']);
    expect(limitedFields({ extra_body: { n: 3 } }).dropped).toEqual(['extra_body.n']);
    expect(notSent('extra_body.n')).toContain('extra_body.n was left out');
  });
});
