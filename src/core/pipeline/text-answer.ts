import type { PluginAnswer } from '../../contracts/plugin.ts';

/** An answer of plain text, for plugins that answer by themselves. */
export function textAnswer(text: string, facts: Omit<PluginAnswer, 'choices'> = {}): PluginAnswer {
  return {
    ...facts,
    choices: [
      {
        index: 0,
        finish_reason: 'stop',
        native_finish_reason: null,
        logprobs: null,
        message: { role: 'assistant', content: text, refusal: null, reasoning: null },
      },
    ],
  };
}
