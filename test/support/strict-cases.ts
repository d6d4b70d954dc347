import type { ChatTemplate, StrictVendor } from 'signalbox/testing';

/** For each rule of the strict upstreams a request that breaks it, as a change to a request that breaks none. */

type Body = Readonly<Record<string, unknown>>;

/** A vendor with a request that it takes, and what breaks each of its rules. */
export interface StrictCases {
  readonly vendor: StrictVendor;
  readonly template?: ChatTemplate;
  readonly path: string;
  readonly model: string;
  readonly valid: Readonly<Record<string, unknown>>;
  /** Members to replace for each rule; `model` chooses another model. */
  readonly broken: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const OBJECT = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false };
const UNION = { type: 'object', properties: {}, anyOf: [{ required: ['a'] }] };
const LONG = 'x'.repeat(70);
const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';
const HUGE = 'word '.repeat(1_000);

function tool(fields: object = {}): Body {
  return { type: 'function', function: { name: 'look', parameters: OBJECT, ...fields } };
}

function user(content: unknown, more: object = {}): Body {
  return { role: 'user', content, ...more };
}

function called(id = 'abcdefghi', more: object = {}): Body {
  const call = { id, type: 'function', function: { name: 'look', arguments: '{}' } };
  return { role: 'assistant', content: null, tool_calls: [call], ...more };
}

function result(id = 'abcdefghi', content: unknown = 'Here.', more: object = {}): Body {
  return { role: 'tool', tool_call_id: id, content, ...more };
}

function messages(...list: readonly object[]): { readonly messages: readonly object[] } {
  return { messages: list };
}

function jsonSchema(schema: object, strict = true, name = 'answer'): Body {
  return { response_format: { type: 'json_schema', json_schema: { name, schema, strict } } };
}

function strictTool(schema: object): Body {
  return { tools: [tool({ strict: true, parameters: schema })] };
}

const HI = user('Hello');
const DONE = [HI, called(), result()];
const MANY = Array.from({ length: 129 }, (_, index) => tool({ name: `look_${index}` }));

const OPENAI: StrictCases = {
  vendor: 'openai',
  path: '/chat/completions',
  model: 'gpt-4.1',
  valid: {
    messages: [{ role: 'developer', content: 'Be brief.' }, ...DONE, HI],
    tools: [tool({ strict: true })],
    temperature: 0.5,
    stop: ['END'],
  },
  broken: {
    'openai/parameter-unknown': { top_k: 4 },
    'openai/max-tokens': { model: 'gpt-5', max_tokens: 100, temperature: 1, stop: null },
    'openai/output-limit-least': { max_completion_tokens: 0 },
    'openai/temperature-fixed': { model: 'gpt-5', stop: null },
    'openai/sampling-fixed': { model: 'o3', temperature: 1, stop: null, top_p: 0.5 },
    'openai/stop-refused': { model: 'o3', temperature: 1 },
    'openai/effort-unknown-parameter': { reasoning_effort: 'low' },
    'openai/effort-value': { model: 'gpt-5', temperature: 1, stop: null, reasoning_effort: 'none' },
    'openai/tools-need-responses': { model: 'gpt-5.6', temperature: 1, stop: null },
    'openai/tools-empty': { tools: [] },
    'openai/tools-most': { tools: MANY },
    'openai/choice-without-tools': { tools: undefined, tool_choice: 'auto' },
    'openai/choice-unknown': { tool_choice: { type: 'function', function: { name: 'other' } } },
    'openai/stop-most': { stop: ['a', 'b', 'c', 'd', 'e'] },
    'openai/stream-options': { stream_options: { include_usage: true } },
    'openai/top-logprobs-alone': { top_logprobs: 2 },
    'openai/range': { temperature: 2.5 },
    'openai/service-tier': { service_tier: 'standard' },
    'openai/metadata-most': { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, one) => [`k${one}`, 'v'])) },
    'openai/tool-name-pattern': { tools: [tool({ name: 'look at' })] },
    'openai/tool-name-length': { tools: [tool({ name: LONG })] },
    'openai/schema-root-type': { tools: [tool({ parameters: { properties: {} } })] },
    'openai/schema-root-union': { tools: [tool({ parameters: UNION })] },
    'openai/schema-properties-missing': { tools: [tool({ parameters: { type: 'object' } })] },
    'openai/schema-items-missing': {
      tools: [tool({ parameters: { type: 'object', properties: { list: { type: 'array' } } } })],
    },
    'openai/format-name': jsonSchema(OBJECT, true, 'an answer'),
    'openai/format-root-type': jsonSchema({ type: 'array', items: OBJECT }),
    'openai/strict-closed': strictTool({ type: 'object', properties: {} }),
    'openai/strict-all-required': jsonSchema({ ...OBJECT, required: [] }),
    'openai/strict-words': strictTool({ ...OBJECT, properties: { a: { type: 'string', not: {} } } }),
    'openai/strict-format': strictTool({ ...OBJECT, properties: { a: { type: 'string', format: 'uri' } } }),
    'openai/strict-type-missing': strictTool({ ...OBJECT, properties: { a: { description: 'Any.' } } }),
    'openai/strict-reference-alone': jsonSchema({
      ...OBJECT,
      properties: { a: { $ref: '#/$defs/b', description: 'A b.' } },
      $defs: { b: { type: 'string' } },
    }),
    'openai/messages-empty': messages(),
    'openai/role-unknown': messages({ role: 'model', content: 'Hi' }),
    'openai/message-member': messages(HI, { role: 'assistant', content: 'Hi', reasoning_content: 'Hm.' }),
    'openai/part-member': messages(user([{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }])),
    'openai/image-outside-user': messages(
      HI,
      called(),
      result('abcdefghi', [{ type: 'image_url', image_url: { url: PIXEL } }]),
    ),
    'openai/part-type': messages(HI, {
      role: 'assistant',
      content: [{ type: 'input_audio', input_audio: { data: '', format: 'wav' } }],
    }),
    'openai/content-null': messages(user(null)),
    'openai/content-empty': messages(user([])),
    'openai/calls-empty': messages(HI, { role: 'assistant', content: 'Hi', tool_calls: [] }),
    'openai/result-without-call': messages(HI, result()),
    'openai/call-without-result': messages(HI, called(), HI),
    'openai/result-twice': messages(...DONE, result()),
    'openai/call-id-length': messages(HI, called(LONG), result(LONG)),
    'openai/file-name-missing': messages(
      user([{ type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=' } }]),
    ),
    'openai/file-data': messages(user([{ type: 'file', file: { file_data: 'JVBERi0=', filename: 'a.pdf' } }])),
    'openai/image-type': messages(user([{ type: 'image_url', image_url: { url: 'data:image/tiff;base64,AAAA' } }])),
    'openai/audio-format': messages(user([{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'flac' } }])),
    'openai/message-name': messages(user('Hi', { name: 'Ada L' })),
    'openai/json-word': { response_format: { type: 'json_object' } },
    'openai/too-long': messages(user(HUGE)),
  },
};

function input(...items: readonly object[]): Body {
  return { input: items };
}

const ITEM = { role: 'user', content: [{ type: 'input_text', text: 'Hello' }] };
const CALL_ITEM = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' };
const OUTPUT_ITEM = { type: 'function_call_output', call_id: 'call_1', output: 'Here.' };

const RESPONSES: StrictCases = {
  vendor: 'openai',
  path: '/responses',
  model: 'gpt-5',
  valid: {
    ...input(ITEM, CALL_ITEM, OUTPUT_ITEM),
    tools: [{ type: 'function', name: 'look', parameters: OBJECT, strict: true }],
    reasoning: { effort: 'low' },
    include: ['reasoning.encrypted_content'],
    max_output_tokens: 16,
  },
  broken: {
    'openai/parameter-unknown': { stop: ['END'] },
    'openai/output-limit-least': { max_output_tokens: 15 },
    'openai/effort-value': { reasoning: { effort: 'max' } },
    'openai-responses/input-missing': { input: undefined },
    'openai-responses/call-without-output': input(ITEM, CALL_ITEM),
    'openai-responses/output-without-call': input(ITEM, OUTPUT_ITEM),
    'openai-responses/output-twice': input(ITEM, CALL_ITEM, OUTPUT_ITEM, OUTPUT_ITEM),
    'openai-responses/call-id-length': input(ITEM, { ...CALL_ITEM, call_id: LONG }, { ...OUTPUT_ITEM, call_id: LONG }),
    'openai-responses/item-id': input(ITEM, { ...CALL_ITEM, id: 'call_1' }, OUTPUT_ITEM),
    'openai-responses/part-type': input({ role: 'assistant', content: [{ type: 'input_text', text: 'Hi' }] }),
    'openai-responses/reasoning-not-stored': {
      ...input({ type: 'reasoning', id: 'rs_1', summary: [] }, ITEM),
      store: false,
    },
    'openai-responses/encrypted-include': { model: 'gpt-4.1', reasoning: undefined },
    'openai-responses/tool-nested': { tools: [tool()] },
    'openai-responses/file-name-missing': input({
      role: 'user',
      content: [{ type: 'input_file', file_data: 'data:application/pdf;base64,JVBERi0=' }],
    }),
    'openai-responses/json-word': { text: { format: { type: 'json_object' } } },
    'openai-responses/too-long': input({ role: 'user', content: [{ type: 'input_text', text: HUGE }] }),
  },
};

function blocks(role: string, ...content: readonly object[]): Body {
  return { role, content };
}

const TEXT = { type: 'text', text: 'Hello' };
const MARKED = { ...TEXT, cache_control: { type: 'ephemeral' } };
const USE = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} };
const ANSWER = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'Here.' };
const SAID = blocks('user', TEXT);
const OWN_TOOL = { name: 'look', input_schema: OBJECT };

function ownTool(fields: object): Body {
  return { tools: [{ ...OWN_TOOL, ...fields }] };
}

function structured(schema: object): Body {
  return { output_config: { format: { type: 'json_schema', schema } } };
}

const ANTHROPIC: StrictCases = {
  vendor: 'anthropic',
  path: '/messages',
  model: 'claude-sonnet-4-5',
  valid: {
    max_tokens: 2_000,
    system: [MARKED],
    messages: [SAID, blocks('assistant', TEXT, USE), blocks('user', ANSWER, TEXT)],
    tools: [OWN_TOOL],
    temperature: 0.5,
    stop_sequences: ['END'],
    output_config: { format: { type: 'json_schema', schema: OBJECT } },
  },
  broken: {
    'anthropic/parameter-unknown': { seed: 1 },
    'anthropic/max-tokens-missing': { max_tokens: undefined },
    'anthropic/max-tokens-most': { max_tokens: 100_000 },
    'anthropic/temperature-range': { temperature: 1.5 },
    'anthropic/sampling-refused': { model: 'claude-opus-4-8' },
    'anthropic/sampling-both': { top_p: 0.5 },
    'anthropic/sampling-while-thinking': { thinking: { type: 'enabled', budget_tokens: 1_024 } },
    'anthropic/thinking-type': { thinking: { type: 'adaptive' }, temperature: undefined },
    'anthropic/budget-least': {
      thinking: { type: 'enabled', budget_tokens: 100 },
      temperature: undefined,
      messages: [SAID],
    },
    'anthropic/budget-most': {
      thinking: { type: 'enabled', budget_tokens: 2_000 },
      temperature: undefined,
      messages: [SAID],
    },
    'anthropic/effort': { output_config: { effort: 'low' } },
    'anthropic/forced-while-thinking': {
      thinking: { type: 'enabled', budget_tokens: 1_024 },
      temperature: undefined,
      messages: [SAID],
      tool_choice: { type: 'any' },
    },
    'anthropic/forced-refused': { model: 'claude-sonnet-5-5', temperature: undefined, tool_choice: { type: 'any' } },
    'anthropic/choice-without-tools': { messages: [SAID], tools: undefined, tool_choice: { type: 'auto' } },
    'anthropic/choice-unknown': { tool_choice: { type: 'tool', name: 'other' } },
    'anthropic/tool-name': ownTool({ name: 'look at' }),
    'anthropic/tool-names-unique': { tools: [OWN_TOOL, OWN_TOOL] },
    'anthropic/tool-member': ownTool({ parameters: {} }),
    'anthropic/schema-type': ownTool({ input_schema: { properties: {} } }),
    'anthropic/schema-root-union': ownTool({ input_schema: UNION }),
    'anthropic/structured-refused': { model: 'claude-3-haiku-20240307' },
    'anthropic/structured-closed': structured({ type: 'object', properties: {} }),
    'anthropic/structured-words': structured({ ...OBJECT, properties: { a: { type: 'integer', minimum: 1 } } }),
    'anthropic/structured-min-items': structured({
      ...OBJECT,
      properties: { a: { type: 'array', items: { type: 'string' }, minItems: 2 } },
    }),
    'anthropic/structured-format': structured({ ...OBJECT, properties: { a: { type: 'string', format: 'color' } } }),
    'anthropic/structured-recursive': ownTool({
      strict: true,
      input_schema: { ...OBJECT, properties: { a: { $ref: '#' } } },
    }),
    'anthropic/stop-blank': { stop_sequences: ['\n'] },
    'anthropic/service-tier': { service_tier: 'flex' },
    'anthropic/system-empty': { system: [{ type: 'text', text: ' ' }] },
    'anthropic/too-long': messages(blocks('user', { type: 'text', text: HUGE })),
    'anthropic/messages-empty': messages(),
    'anthropic/role': messages(SAID, blocks('system', TEXT)),
    'anthropic/first-role': messages(blocks('assistant', TEXT), SAID),
    'anthropic/content-empty': messages(blocks('user'), SAID),
    'anthropic/text-empty': messages(blocks('user', { type: 'text', text: '' }, TEXT)),
    'anthropic/text-blank': messages(blocks('user', { type: 'text', text: ' ' })),
    'anthropic/trailing-space': {
      ...messages(SAID, blocks('assistant', { type: 'text', text: 'So ' })),
      output_config: {},
    },
    'anthropic/prefill': {
      ...messages(SAID, blocks('assistant', TEXT)),
      model: 'claude-opus-4-6',
      output_config: {},
    },
    'anthropic/prefill-thinking': messages(SAID, blocks('assistant', TEXT)),
    'anthropic/call-without-result': messages(SAID, blocks('assistant', USE), SAID),
    'anthropic/result-without-call': messages(SAID, blocks('assistant', TEXT), blocks('user', ANSWER)),
    'anthropic/result-twice': messages(SAID, blocks('assistant', USE), blocks('user', ANSWER, ANSWER)),
    'anthropic/result-first': messages(SAID, blocks('assistant', USE), blocks('user', TEXT, ANSWER)),
    'anthropic/call-ids-unique': messages(
      SAID,
      blocks('assistant', USE),
      blocks('user', ANSWER),
      blocks('assistant', USE),
      blocks('user', ANSWER),
    ),
    'anthropic/call-id-pattern': messages(
      SAID,
      blocks('assistant', { ...USE, id: 'a b' }),
      blocks('user', { ...ANSWER, tool_use_id: 'a b' }),
    ),
    'anthropic/call-input': messages(SAID, blocks('assistant', { ...USE, input: '{}' }), blocks('user', ANSWER)),
    'anthropic/tools-missing': { tools: undefined },
    'anthropic/block-type': messages(blocks('user', { type: 'image_url', image_url: { url: PIXEL } })),
    'anthropic/block-member': messages(blocks('user', { ...TEXT, name: 'ada' })),
    'anthropic/thinking-unsigned': messages(
      SAID,
      blocks('assistant', { type: 'thinking', thinking: 'Hm.' }, TEXT),
      SAID,
    ),
    'anthropic/thinking-first': { thinking: { type: 'enabled', budget_tokens: 1_024 }, temperature: undefined },
    'anthropic/image-type': messages(
      blocks('user', { type: 'image', source: { type: 'base64', media_type: 'image/tiff', data: 'AAAA' } }),
    ),
    'anthropic/document-type': messages(
      blocks('user', { type: 'document', source: { type: 'base64', media_type: 'text/csv', data: 'AAAA' } }),
    ),
    'anthropic/marks-most': messages(blocks('user', MARKED, MARKED, MARKED, MARKED)),
    'anthropic/marks-order': messages(blocks('user', { ...TEXT, cache_control: { type: 'ephemeral', ttl: '1h' } })),
    'anthropic/mark-on-thinking': messages(
      SAID,
      blocks('assistant', { type: 'redacted_thinking', data: 'AAAA', cache_control: { type: 'ephemeral' } }, TEXT),
      SAID,
    ),
  },
};

function contents(...turns: readonly object[]): Body {
  return { contents: turns };
}

function turn(role: string, ...parts: readonly object[]): Body {
  return { role, parts };
}

const ASKED = turn('user', { text: 'Hello' });
const MODEL_CALL = { functionCall: { name: 'look', args: {} }, thoughtSignature: 'c2ln' };
const RESPONSE = { functionResponse: { name: 'look', response: { output: 'Here.' } } };

function functions(...list: readonly object[]): Body {
  return { tools: [{ functionDeclarations: list }] };
}

const LOOK = { name: 'look', parametersJsonSchema: OBJECT };

const GOOGLE: StrictCases = {
  vendor: 'google',
  path: '/models/gemini-2.5-flash:generateContent',
  model: 'gemini-2.5-flash',
  valid: {
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    ...contents(ASKED, turn('model', MODEL_CALL), turn('user', RESPONSE)),
    ...functions(LOOK),
    generationConfig: { temperature: 1, thinkingConfig: { thinkingBudget: 0 } },
  },
  broken: {
    'google/parameter-unknown': { user: 'ada' },
    'google/config-unknown': { generationConfig: { maxTokens: 1 } },
    'google/penalties': { generationConfig: { presencePenalty: 1 } },
    'google/logprobs': { generationConfig: { responseLogprobs: true } },
    'google/candidates': { generationConfig: { candidateCount: 2 } },
    'google/stops-most': { generationConfig: { stopSequences: ['a', 'b', 'c', 'd', 'e', 'f'] } },
    'google/ranges': { generationConfig: { topP: 2 } },
    'google/thinking-both': {
      model: 'gemini-3-flash',
      generationConfig: { thinkingConfig: { thinkingLevel: 'low', thinkingBudget: 1 } },
    },
    'google/thinking-level': { generationConfig: { thinkingConfig: { thinkingLevel: 'low' } } },
    'google/thinking-refused': { model: 'gemini-2.0-flash' },
    'google/thinking-budget': { model: 'gemini-2.5-pro' },
    'google/cache-with-tools': { cachedContent: 'cachedContents/1' },
    'google/function-name': functions({ name: '1st' }),
    'google/function-names-unique': functions(LOOK, LOOK),
    'google/schema-unknown-word': functions({ name: 'look', parameters: { ...OBJECT, $schema: 'x' } }),
    'google/schema-enum': functions({
      name: 'look',
      parameters: { type: 'OBJECT', properties: { a: { type: 'INTEGER', enum: ['1'] } } },
    }),
    'google/schema-empty-object': functions({ name: 'look', parameters: { type: 'OBJECT', properties: {} } }),
    'google/schemas-both': functions({
      ...LOOK,
      parameters: { type: 'OBJECT', properties: { a: { type: 'STRING' } } },
    }),
    'google/function-schema-root': functions({ name: 'look', parametersJsonSchema: { anyOf: [OBJECT] } }),
    'google/format-words': {
      model: 'gemini-3-flash',
      generationConfig: { responseMimeType: 'application/json', responseJsonSchema: { ...OBJECT, not: {} } },
    },
    'google/format-reference': {
      model: 'gemini-3-flash',
      generationConfig: {
        responseMimeType: 'application/json',
        responseJsonSchema: { ...OBJECT, properties: { a: { $ref: '#', description: 'A.' } } },
      },
    },
    'google/format-without-type': { generationConfig: { responseJsonSchema: OBJECT } },
    'google/format-with-functions': { generationConfig: { responseMimeType: 'application/json' } },
    'google/search-with-functions': { tools: [{ functionDeclarations: [LOOK] }, { googleSearch: {} }] },
    'google/choice-names': { toolConfig: { functionCallingConfig: { mode: 'AUTO', allowedFunctionNames: ['look'] } } },
    'google/choice-without-functions': {
      ...contents(ASKED),
      tools: undefined,
      toolConfig: { functionCallingConfig: { mode: 'AUTO' } },
    },
    'google/contents-empty': contents(),
    'google/role': contents(turn('assistant', { text: 'Hi' })),
    'google/parts-empty': contents(turn('user')),
    'google/part-data': contents(turn('user', { text: '' })),
    'google/part-member': contents(turn('user', { text: 'Hi', cache_control: {} })),
    'google/call-turn': contents(turn('model', MODEL_CALL), turn('user', RESPONSE)),
    'google/response-turn': contents(turn('user', RESPONSE)),
    'google/response-count': contents(ASKED, turn('model', MODEL_CALL, MODEL_CALL), turn('user', RESPONSE)),
    'google/call-by-user': contents(turn('user', MODEL_CALL)),
    'google/signature-missing': {
      ...contents(ASKED, turn('model', { functionCall: { name: 'look', args: {} } }), turn('user', RESPONSE)),
      model: 'gemini-3-flash',
      generationConfig: {},
    },
    'google/call-name': contents(
      ASKED,
      turn('model', { functionCall: { name: '', args: {} } }),
      turn('user', RESPONSE),
    ),
    'google/call-arguments': contents(
      ASKED,
      turn('model', { functionCall: { name: 'look', args: [] } }),
      turn('user', RESPONSE),
    ),
    'google/media-type': contents(turn('user', { inlineData: { mimeType: 'image/tiff', data: 'AAAA' } })),
    'google/media-data': contents(turn('user', { inlineData: { mimeType: 'image/png', data: '?' } })),
    'google/file-address': contents(turn('user', { fileData: { fileUri: 'ftp://a.example/b' } })),
    'google/too-long': contents(turn('user', { text: HUGE })),
  },
};

const MISTRAL: StrictCases = {
  vendor: 'mistral',
  path: '/chat/completions',
  model: 'mistral-large-latest',
  valid: {
    messages: [{ role: 'system', content: 'Be brief.' }, ...DONE, { role: 'assistant', content: 'So', prefix: true }],
    tools: [tool()],
    reasoning_effort: 'high',
    temperature: 1,
  },
  broken: {
    'mistral/parameter-unknown': { stream_options: { include_usage: true } },
    'mistral/message-member': messages(user('Hi', { name: 'ada' })),
    'mistral/part-type': messages({ role: 'system', content: [{ type: 'image_url', image_url: PIXEL }] }, HI),
    'mistral/part-member': messages(user([{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }])),
    'mistral/role': messages({ role: 'developer', content: 'Be brief.' }, HI),
    'mistral/role-order': messages(...DONE, HI),
    'mistral/last-role': messages(HI, { role: 'assistant', content: 'So' }),
    'mistral/result-count': messages(HI, called(), HI),
    'mistral/call-id': messages(HI, called('call_1'), result('call_1')),
    'mistral/assistant-empty': messages(HI, { role: 'assistant', content: '' }, HI),
    'mistral/function-name': { tools: [tool({ name: 'look at' })] },
    'mistral/tools-empty': { tools: [] },
    'mistral/temperature': { temperature: 1.8 },
    'mistral/effort': { reasoning_effort: 'minimal' },
    'mistral/too-long': messages(user(HUGE)),
  },
};

const DEEPSEEK: StrictCases = {
  vendor: 'deepseek',
  path: '/chat/completions',
  model: 'deepseek-v4-pro',
  valid: {
    messages: [
      { role: 'system', content: 'Be brief.' },
      HI,
      called('call_1', { reasoning_content: 'Hm.' }),
      result('call_1'),
    ],
    tools: [tool()],
    tool_choice: 'auto',
    reasoning_effort: 'max',
  },
  broken: {
    'deepseek/role': messages({ role: 'developer', content: 'Be brief.' }, HI),
    'deepseek/content-sequence': messages({ role: 'system', content: [{ type: 'text', text: 'Be brief.' }] }, HI),
    'deepseek/part-type': messages(user([{ type: 'image_url', image_url: { url: PIXEL } }])),
    'deepseek/result-without-call': messages(HI, result()),
    'deepseek/call-without-result': messages(HI, called('call_1', { reasoning_content: 'Hm.' }), HI),
    'deepseek/result-twice': messages(
      HI,
      called('call_1', { reasoning_content: 'Hm.' }),
      result('call_1'),
      result('call_1'),
    ),
    'deepseek/reasoning-missing': messages(...DONE),
    'deepseek/forced-while-thinking': { tool_choice: 'required' },
    'deepseek/format-type': jsonSchema(OBJECT),
    'deepseek/json-word': { response_format: { type: 'json_object' } },
    'deepseek/effort': { reasoning_effort: 'minimal' },
    'deepseek/content-missing': messages(HI, { role: 'assistant', content: null }),
    'deepseek/tool-name-pattern': { tools: [tool({ name: 'look at' })] },
    'deepseek/tool-name-length': { tools: [tool({ name: LONG })] },
    'deepseek/tools-most': { tools: MANY },
    'deepseek/stops-most': { stop: Array.from({ length: 17 }, (_, index) => `s${index}`) },
    'deepseek/range': { top_p: 2 },
    'deepseek/too-long': messages(user(HUGE)),
  },
};

const XAI: StrictCases = {
  vendor: 'xai',
  path: '/chat/completions',
  model: 'grok-4',
  valid: { messages: [...DONE, HI], tools: [tool()], temperature: 0.5 },
  broken: {
    'xai/content-empty': messages(user([])),
    'xai/effort-refused': { reasoning_effort: 'low' },
    'xai/effort-value': { model: 'grok-3-mini', reasoning_effort: 'medium' },
    'xai/penalties-and-stop': { stop: ['END'] },
    'xai/part-type': messages({ role: 'system', content: [{ type: 'image_url', image_url: { url: PIXEL } }] }, HI),
    'xai/role': messages({ role: 'model', content: 'Hi' }),
    'xai/tools-most': { tools: MANY },
    'xai/stops-most': { model: 'grok-3', stop: ['a', 'b', 'c', 'd', 'e'] },
    'xai/choice-without-tools': { tools: undefined, tool_choice: 'required' },
    'xai/too-long': messages(user(HUGE)),
  },
};

const GROQ: StrictCases = {
  vendor: 'groq',
  path: '/chat/completions',
  model: 'openai/gpt-oss-120b',
  valid: {
    messages: [...DONE, { role: 'assistant', content: 'So', reasoning: 'Hm.' }, HI],
    tools: [tool()],
    reasoning_effort: 'low',
  },
  broken: {
    'groq/parameter-unknown': { logprobs: true },
    'groq/message-member': messages(HI, { role: 'assistant', content: 'So', reasoning_content: 'Hm.' }),
    'groq/part-member': messages(user([{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }])),
    'groq/candidates': { n: 2 },
    'groq/effort-refused': { model: 'llama-3.3-70b-versatile', messages: [HI] },
    'groq/effort-value': { reasoning_effort: 'none' },
    'groq/json-with-tools': { response_format: { type: 'json_object' } },
    'groq/schema-refused': {
      ...jsonSchema(OBJECT),
      model: 'llama-3.3-70b-versatile',
      messages: [HI],
      reasoning_effort: undefined,
    },
    'groq/schema-strict': jsonSchema({ type: 'object', properties: {} }),
    'groq/service-tier': { service_tier: 'priority' },
    'groq/tools-most': { tools: MANY },
    'groq/stops-most': { stop: ['a', 'b', 'c', 'd', 'e'] },
    'groq/choice-without-tools': { tools: undefined, tool_choice: 'required' },
    'groq/too-long': messages(user(HUGE)),
  },
};

function onServer(
  vendor: StrictVendor,
  template: ChatTemplate,
  valid: StrictCases['valid'],
  broken: StrictCases['broken'],
): StrictCases {
  return { vendor, template, path: '/chat/completions', model: 'one', valid, broken };
}

const ON_SERVER = { messages: [{ role: 'system', content: 'Be brief.' }, ...DONE], tools: [tool()] };

const SERVERS: readonly StrictCases[] = [
  onServer('vllm', 'qwen', ON_SERVER, {
    'vllm/choice-without-tools': { tools: undefined, tool_choice: 'auto' },
    'vllm/tools-empty': { tools: [] },
    'vllm/arguments': messages(
      HI,
      { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '' } }] },
      result('a'),
    ),
    'vllm/too-long': messages(user(HUGE)),
    'template-qwen/system-first': messages(HI, { role: 'system', content: 'Be brief.' }, HI),
    'template-qwen/role': messages({ role: 'developer', content: 'Be brief.' }, HI),
    'template-qwen/user-missing': messages({ role: 'system', content: 'Be brief.' }),
    'template-qwen/system-image': messages(
      { role: 'system', content: [{ type: 'image_url', image_url: { url: PIXEL } }] },
      HI,
    ),
  }),
  onServer(
    'sglang',
    'mistral',
    { messages: [...DONE, { role: 'assistant', content: 'Fine.' }, HI], tools: [tool()] },
    {},
  ),
  onServer('sglang', 'mistral', ON_SERVER, {
    'sglang/choice-without-tools': { tools: undefined, tool_choice: 'required' },
    'sglang/last-assistant-alone': messages({ role: 'assistant', content: 'Hi' }),
    'sglang/too-long': messages(user(HUGE)),
    'template-mistral/alternation': messages(HI, HI),
    'template-mistral/call-id': messages(HI, called('call_1'), result('call_1')),
    'template-mistral/content-list': messages(HI, called(), result('abcdefghi', [{ type: 'text', text: 'Here.' }])),
  }),
  onServer('llama.cpp', 'deepseek', ON_SERVER, {
    'llama.cpp/prefill-thinking': messages(HI, { role: 'assistant', content: 'So' }),
    'llama.cpp/prefill-twice': messages(HI, { role: 'assistant', content: 'So' }, { role: 'assistant', content: 'so' }),
    'llama.cpp/content-missing': messages({ role: 'user' }),
    'llama.cpp/part-type': messages(user([{ type: 'file', file: {} }])),
    'llama.cpp/assistant-empty': messages(HI, { role: 'assistant', content: null }, HI),
    'llama.cpp/image': messages(user([{ type: 'image_url', image_url: { url: PIXEL } }])),
    'llama.cpp/arguments': messages(
      HI,
      { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{br' } }] },
      result('a'),
    ),
    'llama.cpp/logprobs-with-tools': { logprobs: true, stream: true },
    'llama.cpp/top-logprobs-alone': { top_logprobs: 2 },
    'llama.cpp/schema': jsonSchema({ minLength: 2 }),
    'llama.cpp/tools-with-grammar': { grammar: 'root ::= "a"' },
    'llama.cpp/too-long': messages(user(HUGE)),
    'template-deepseek/content-null': messages(HI, { role: 'assistant', content: null }, HI),
    'template-deepseek/content-list': messages(HI, { role: 'assistant', content: [{ type: 'text', text: 'So' }] }, HI),
  }),
  onServer('ollama', 'llama', ON_SERVER, {
    'ollama/content-null': messages(user(null)),
    'ollama/part-type': messages(user([{ type: 'input_audio', input_audio: {} }])),
    'ollama/image-address': messages(user([{ type: 'image_url', image_url: { url: 'https://a.example/b.png' } }])),
    'ollama/arguments': messages(
      HI,
      { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '' } }] },
      result('a'),
    ),
    'ollama/effort': { reasoning_effort: 'minimal' },
    'template-llama/single-calls': messages(
      HI,
      {
        role: 'assistant',
        content: null,
        tool_calls: ['a', 'b'].map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })),
      },
      result('a'),
      result('b'),
    ),
    'template-llama/first-user': messages({ role: 'system', content: 'Be brief.' }),
    'template-llama/content-list': messages(HI, { role: 'assistant', content: [{ type: 'text', text: 'So' }] }, HI),
  }),
  onServer('lmstudio', 'qwen', ON_SERVER, {
    'lmstudio/content-missing': messages(user('')),
    'lmstudio/part-type': messages(user([{ type: 'input_audio', input_audio: {} }])),
    'lmstudio/image-address': messages(user([{ type: 'image_url', image_url: { url: 'https://a.example/b.png' } }])),
    'lmstudio/choice-object': { tool_choice: { type: 'function', function: { name: 'look' } } },
    'lmstudio/format-type': { response_format: { type: 'json_object' } },
    'lmstudio/too-long': messages(user(HUGE)),
  }),
];

/** Cases of every vendor and server. */
export const STRICT_CASES: readonly StrictCases[] = [
  OPENAI,
  RESPONSES,
  ANTHROPIC,
  GOOGLE,
  MISTRAL,
  DEEPSEEK,
  XAI,
  GROQ,
  ...SERVERS,
];
