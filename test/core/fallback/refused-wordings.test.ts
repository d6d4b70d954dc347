import { describe, expect, it } from 'vitest';
import {
  REFUSED_SCHEMA_WORDS,
  REFUSED_WORDS,
  type RefusedWording,
} from '../../../src/core/fallback/refused-wordings.ts';

/** What the first wording that fits names. */
function wordIn(wordings: readonly RefusedWording[], message: string): string | undefined {
  for (const wording of wordings) {
    const word = wording.message.exec(message)?.groups?.['word'];
    if (word !== undefined) return word;
  }
  return undefined;
}

describe('a refused word of a request', () => {
  it.each([
    ['`temperature` and `top_p` cannot both be specified for this model.', 'top_p'],
    ["Unsupported parameter: 'max_tokens' is not supported with this model.", 'max_tokens'],
    ['Unrecognized request argument supplied: reasoning_effort', 'reasoning_effort'],
    ['This model does not support parameter presencePenalty', 'presencePenalty'],
    ['thinking.budget_tokens: Extra inputs are not permitted', 'thinking.budget_tokens'],
    ["Unsupported value: 'temperature' does not support 0.2 with this model.", 'temperature'],
    ['tool_choice must be one of auto, none', 'tool_choice'],
    ['The model does not support logprobs.', 'logprobs'],
  ])('is found in %j', (message, word) => {
    expect(wordIn(REFUSED_WORDS, message)).toBe(word);
  });

  it.each(['The prompt is too long', 'Rate limit reached for requests', 'Internal server error', ''])(
    'is not found in %j',
    (message) => {
      expect(wordIn(REFUSED_WORDS, message)).toBeUndefined();
    },
  );
});

describe('a refused word of a schema', () => {
  it.each([
    [
      "output_config.format.schema: For 'integer' type, properties maximum, minimum are not supported",
      'maximum, minimum',
    ],
    ["Invalid schema for response_format 'x': In context=(), 'format' is not permitted.", 'format'],
    [`Invalid JSON payload. Unknown name "$schema" at 'tools[0].function_declarations[0].parameters'`, '$schema'],
    ['Invalid parameters: unsupported keyword: oneOf', 'oneOf'],
    ['Unsupported schema keyword: patternProperties', 'patternProperties'],
  ])('is found in %j', (message, word) => {
    expect(wordIn(REFUSED_SCHEMA_WORDS, message)).toBe(word);
  });
});

describe('each wording', () => {
  it.each([...REFUSED_WORDS, ...REFUSED_SCHEMA_WORDS])(
    'of $vendor says where it was seen, and fails fast',
    (wording) => {
      expect(wording.source).toMatch(/\d{4}-\d{2}$/);
      // A message that nearly fits, as long as errors are kept: no backtracking that grows with its square.
      const long = `schema ${'parameter '.repeat(2_000)}`;
      const { user } = process.cpuUsage();
      wording.message.test(long);
      expect(process.cpuUsage().user - user).toBeLessThan(1_000_000);
    },
  );
});
