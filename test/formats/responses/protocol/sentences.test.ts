import { describe, expect, it } from 'vitest';
import { responsesBody, sentenceOf } from '../../../support/responses.ts';

const said = (content: unknown, role = 'user'): unknown => responsesBody({ input: [{ role, content }] });
const items = (...input: readonly unknown[]): unknown => responsesBody({ input });
const CALL = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' };
const TOOL = { type: 'function', name: 'f', parameters: {}, strict: true };

const SENTENCES: readonly (readonly [unknown, string])[] = [
  [[], 'The request body must be a JSON object with an "input", not an array.'],
  [{}, 'input is required and must be a string or an array.'],
  [responsesBody({ input: 5 }), 'input must be a string or an array, not 5.'],
  [responsesBody({ input: [] }), 'input must have at least 1 item, not 0.'],
  [items('Hello'), 'input[0] must be an object, not "Hello".'],
  [
    items({ role: 'human', content: 'x' }),
    'input[0].role must be one of "user", "assistant", "system", "developer", not "human".',
  ],
  [
    items({ type: 'message', content: 'x' }),
    'input[0].role is required and must be one of "user", "assistant", "system", "developer".',
  ],
  [items({ type: 7 }), 'input[0].type must be a string, not 7.'],
  [said(5), 'input[0].content must be a string or an array, not 5.'],
  [
    said([{ type: 'text', text: 'x' }]),
    'input[0].content[0].type must be one of "input_text", "input_image", "input_file", "input_audio", "input_video", not "text".',
  ],
  [said([{ type: 'input_image' }]), 'input[0].content[0] needs image_url or file_id.'],
  [
    said([{ type: 'input_image', image_url: 'file:///etc/passwd' }]),
    'input[0].content[0].image_url must be an http(s) URL or a data URL, not "file:///etc/passwd".',
  ],
  [said([{ type: 'input_file' }]), 'input[0].content[0] needs file_data, file_url or file_id.'],
  [
    said([{ type: 'input_image', image_url: 'data:x' }], 'system'),
    'input[0].content[0].type must be "input_text", not "input_image".',
  ],
  [said([{ type: 'output_text' }], 'assistant'), 'input[0].content[0].text is required and must be a string.'],
  [items({ ...CALL, arguments: {} }), 'input[0].arguments must be a string, not an object.'],
  [items({ ...CALL, call_id: '' }), 'input[0].call_id must have at least 1 character, not 0.'],
  [
    items({ type: 'function_call_output', call_id: 'c1', output: 'x' }),
    'input[0].call_id answers a call that no earlier item of input made.',
  ],
  [
    items({ type: 'function_call_output', call_id: 'c1', output: 'x' }, CALL),
    'input[0].call_id answers a call that no earlier item of input made.',
  ],
  [
    items(CALL, { type: 'function_call_output', call_id: 'c1' }),
    'input[1].output is required and must be a string or an array.',
  ],
  [
    items({ type: 'reasoning', summary: [{ text: 'x' }] }),
    'input[0].summary[0].type is required and must be "summary_text".',
  ],
  [items({ type: 'reasoning', encrypted_content: 7 }), 'input[0].encrypted_content must be a string, not 7.'],
  [
    items({ type: 'item_reference', id: 'msg_1' }),
    'input[0] refers to an item of an earlier answer, but no answers are stored: send the item itself.',
  ],
  [
    items({ id: 'msg_1' }),
    'input[0] refers to an item of an earlier answer, but no answers are stored: send the item itself.',
  ],
  [
    responsesBody({ previous_response_id: 'resp_1' }),
    'previous_response_id is not supported, because no answers are stored: send the whole conversation in input.',
  ],
  [
    responsesBody({ conversation: { id: 'conv_1' } }),
    'conversation is not supported, because no conversations are stored: send the whole conversation in input.',
  ],
  [
    responsesBody({ prompt: { id: 'p' } }),
    'prompt is not supported, because no prompts are stored: send instructions and input.',
  ],
  [responsesBody({ store: true }), 'store must be false or left out, because no answers are stored.'],
  [
    responsesBody({ background: true }),
    'background must be false or left out: an answer can only be given to the request that waits for it.',
  ],
  [responsesBody({ instructions: ['x'] }), 'instructions must be a string, not an array.'],
  [responsesBody({ tools: ['f'] }), 'tools[0] must be an object, not "f".'],
  [responsesBody({ tools: [{}] }), 'tools[0].type is required and must be a string.'],
  [
    responsesBody({ tools: [{ type: 'function', function: { name: 'f' } }] }),
    'tools[0].name is required and must be a string.',
  ],
  [
    responsesBody({ tools: [{ ...TOOL, name: 'a b' }] }),
    'tools[0].name may hold only letters, digits, "_" and "-"; it is "a b".',
  ],
  [
    responsesBody({ tools: [{ type: 'custom', name: 'f', format: { type: 'regex' } }] }),
    'tools[0].format.type must be "text" or "grammar", not "regex".',
  ],
  [responsesBody({ tool_choice: 'any' }), 'tool_choice must be "none", "auto", "required" or an object, not "any".'],
  [responsesBody({ tool_choice: 'required' }), 'tool_choice asks for a tool call, but the request has no tools.'],
  [
    responsesBody({ tools: [TOOL], tool_choice: { type: 'function', name: 'g' } }),
    'tool_choice.name must be the name of a function tool in tools, not "g".',
  ],
  [
    responsesBody({
      tools: [TOOL],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'g' }] },
    }),
    'tool_choice.tools[0].name must be the name of a function tool in tools, not "g".',
  ],
  [
    responsesBody({
      tools: [TOOL],
      tool_choice: { type: 'allowed_tools', mode: 'none', tools: [{ type: 'function' }] },
    }),
    'tool_choice.mode must be "auto" or "required", not "none".',
  ],
  [
    responsesBody({ text: { format: { type: 'xml' } } }),
    'text.format.type must be one of "text", "json_object", "json_schema", not "xml".',
  ],
  [responsesBody({ text: { format: { type: 'json_schema' } } }), 'text.format.name is required and must be a string.'],
  [
    responsesBody({ text: { verbosity: 'loud' } }),
    'text.verbosity must be one of "low", "medium", "high", "xhigh", "max", not "loud".',
  ],
  [
    responsesBody({ reasoning: { effort: 'huge' } }),
    'reasoning.effort must be one of "max", "xhigh", "high", "medium", "low", "minimal", "none", not "huge".',
  ],
  [responsesBody({ max_output_tokens: 0 }), 'max_output_tokens must be at least 1, not 0.'],
  [responsesBody({ top_logprobs: 21 }), 'top_logprobs must be at most 20, not 21.'],
  [responsesBody({ truncation: 'middle' }), 'truncation must be "auto" or "disabled", not "middle".'],
  [responsesBody({ modalities: ['audio'] }), 'modalities[0] must be "text" or "image", not "audio".'],
  [responsesBody({ stream: 'yes' }), 'stream must be true or false, not "yes".'],
];

describe('what is wrong with a body of /responses', () => {
  it.each(SENTENCES)('%j', (body, sentence) => {
    expect(sentenceOf(body)).toBe(sentence);
  });

  it('is told before anything behind it is looked at', () => {
    const input = Array.from({ length: 5_000 }, () => ({ role: 'user', content: 7 }));
    expect(sentenceOf(responsesBody({ input }))).toBe('input[0].content must be a string or an array, not 7.');
  });

  it('is also that it is larger or deeper than any request', () => {
    const many = Array.from({ length: 10_001 }, () => ({ role: 'user', content: 'x' }));
    expect(sentenceOf(responsesBody({ input: many }))).toBe('input must have at most 10000 items, not 10001.');
    let deep: unknown = 'x';
    for (let level = 0; level < 70; level += 1) deep = [deep];
    expect(sentenceOf(responsesBody({ metadata: deep }))).toContain('must not be nested more than 64 levels deep');
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('is nothing for types named like %s', (type) => {
    const entry = JSON.parse(`{"type":"${type}"}`) as object;
    expect(sentenceOf(items(entry))).toBe('accepted');
    expect(sentenceOf(responsesBody({ tools: [entry], tool_choice: entry }))).toBe('accepted');
    expect(sentenceOf(items({ role: type, content: 'x' }))).toContain('input[0].role must be one of');
  });
});
