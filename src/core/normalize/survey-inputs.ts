import type { Modality } from '../../catalog/parameters.ts';
import type { EmbeddingItem } from '../../protocol/embedding-request.ts';
import { surveyPrompt } from './prompt-content.ts';
import { fewestTokens, likelyTokens } from './token-estimate.ts';

/** What inputs to be embedded consist of. */
export interface SurveyedInputs {
  readonly modalities: readonly Modality[];
  /** Tokens that the longest input has at least: each must fit into the context by itself. */
  readonly longest: number;
  /** Likely number of tokens in all of them. */
  readonly likelyTokens: number;
  readonly images: number;
}

/** Looks through the inputs once for everything that selection and accounting need to know about them. */
export function surveyInputs(inputs: readonly EmbeddingItem[]): SurveyedInputs {
  const modalities = new Set<Modality>();
  let longest = 0;
  let likely = 0;
  let images = 0;
  for (const input of inputs) {
    if (typeof input === 'string') {
      longest = Math.max(longest, fewestTokens(input.length));
      likely += likelyTokens(input);
    } else if ('content' in input) {
      const parts = surveyPrompt([{ role: 'user', content: input.content }]);
      for (const modality of parts.modalities) modalities.add(modality);
      longest = Math.max(longest, fewestTokens(parts.characters));
      likely += Math.ceil(parts.characters / 4);
      images += parts.images;
    } else {
      longest = Math.max(longest, input.length);
      likely += input.length;
    }
  }
  return { modalities: [...modalities], longest, likelyTokens: likely, images };
}
