import { describe, expect, it } from 'vitest';
import { acceptsOf } from '../../../src/core/accepts.ts';
import { LM_STUDIO, OLLAMA, VLLM } from '../../../src/providers/accepts/local-servers.ts';

describe.each([
  ['Ollama', OLLAMA],
  ['vLLM', VLLM],
  ['LM Studio', LM_STUDIO],
])('a model on %s', (_name, vendor) => {
  it.each([
    ['Qwen/Qwen3.5-27B', { systemTurns: 'first', turns: 'with-user', calls: 'many' }],
    ['mistralai/Mistral-Small-3.2', { turns: 'alternating', afterResults: 'assistant', toolIds: 'nine-alphanumeric' }],
    ['google/gemma-3-27b-it', { systemTurns: 'none', turns: 'alternating' }],
    ['meta-llama/Llama-3.1-8B-Instruct', { calls: 'one', turns: 'with-user' }],
    ['some-other-model', { systemTurns: 'first', turns: 'with-user', toolIds: 'any' }],
  ])('has the template of its family: %s', (model, expected) => {
    expect(acceptsOf(vendor, model).conversation).toMatchObject(expected);
  });

  it('gets texts as strings, an empty one in place of null, and no parameters that it has no words for', () => {
    const { conversation, parameters } = acceptsOf(vendor, 'any');
    expect(conversation.lists).toEqual({ system: false, user: false, assistant: false, tool: false });
    expect(conversation.nullContent).toBe(false);
    expect(parameters.refused).toEqual(expect.arrayContaining(['verbosity', 'prediction', 'web_search_options']));
  });
});

it('reads pictures on Ollama and LM Studio, and whatever the model reads on vLLM', () => {
  expect([OLLAMA, LM_STUDIO, VLLM].map(({ all }) => all.conversation.media.user.length)).toEqual([1, 1, 4]);
});
