import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/protocol/chat-request.ts';
import { type Asked, type Encoding, encodedForGoogle } from '../../support/google-wire.ts';

/** What goes out besides the turns. */
function encoded(body: Asked, encoding: Encoding = {}): object {
  const { contents: _, ...rest } = encodedForGoogle(body, encoding);
  return rest;
}

function generation(body: Asked, encoding: Encoding = {}): unknown {
  return encodedForGoogle(body, encoding).generationConfig;
}

function tool(name: string, rest: object = {}): NonNullable<ChatRequest['tools']>[number] {
  return { type: 'function', function: { name, ...rest } };
}

const SCHEMA = { type: 'object', properties: { at: { type: 'string' } } };
const LOOK = tool('look', { parameters: SCHEMA });
const OLD: Encoding = { model: 'gemini-2.5-flash' };
const VERTEX: Encoding = { vertex: true };

describe('the plainest request', () => {
  it('says what the user says, and nothing else', () => {
    expect(encodedForGoogle({})).toEqual({ contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] });
  });

  it('says nothing of what is the business of the router, or of parameters that Google does not know', () => {
    const body: Asked = {
      user: 'ada',
      metadata: { a: 'b' },
      session_id: 's',
      trace: { trace_id: 't' },
      logit_bias: { '1': 1 },
      min_p: 0.1,
      top_a: 0.1,
      top_k: 0,
      repetition_penalty: 1.1,
      parallel_tool_calls: false,
      prediction: { type: 'content', content: 'x' },
      verbosity: 'low',
      prompt_cache_key: 'k',
      vendor_setting: true,
      logprobs: true,
    };
    expect(encoded(body)).toEqual({});
  });

  it('passes on what only Google knows', () => {
    const safety = [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'OFF' }];
    expect(encoded({ safety_settings: safety, generation_config: { mediaResolution: 'LOW' }, temperature: 1 })).toEqual(
      {
        safetySettings: safety,
        generationConfig: { mediaResolution: 'LOW', temperature: 1 },
      },
    );
    expect(encoded({}, { safetySettings: safety })).toEqual({ safetySettings: safety });
  });

  it('says nothing that a cache says already', () => {
    const messages: ChatRequest['messages'] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hello' },
    ];
    expect(encoded({ messages, tools: [LOOK], cached_content: 'cachedContents/1' })).toEqual({
      cachedContent: 'cachedContents/1',
    });
  });
});

describe('generationConfig', () => {
  it('has names of its own', () => {
    expect(
      generation({
        temperature: 0.5,
        top_p: 0.9,
        top_k: 40,
        max_tokens: 100,
        stop: ['END'],
        seed: 7,
        frequency_penalty: 1,
        presence_penalty: -1,
      }),
    ).toEqual({
      temperature: 0.5,
      topP: 0.9,
      topK: 40,
      maxOutputTokens: 100,
      stopSequences: ['END'],
      seed: 7,
      frequencyPenalty: 1,
      presencePenalty: -1,
    });
  });

  it('leaves out what an endpoint does not take', () => {
    const declared = { parameters: ['temperature'] } as const;
    expect(
      generation({ temperature: 1, top_p: 1, max_tokens: 9, seed: 1, reasoning_effort: 'low' }, { declared }),
    ).toEqual({
      temperature: 1,
    });
  });

  it('folds seeds into 32 bits', () => {
    expect(generation({ seed: 2 ** 31 + 5 })).toEqual({ seed: 5 });
  });

  it('has penalties only where the model takes them', () => {
    expect(generation({ frequency_penalty: 1 }, OLD)).toBeUndefined();
    expect(generation({ frequency_penalty: 1 }, { ...OLD, ...VERTEX })).toEqual({ frequencyPenalty: 1 });
  });

  it('asks for likelihoods where somebody said that the model gives them', () => {
    const asked: Asked = { logprobs: true, top_logprobs: 3 };
    const expected = { responseLogprobs: true, logprobs: 3 };
    expect(generation(asked, VERTEX)).toEqual(expected);
    expect(generation(asked, { declared: { parameters: ['logprobs'] } })).toEqual(expected);
    expect(generation(asked)).toBeUndefined();
  });

  it('asks for JSON', () => {
    const json_schema = { name: 'answer', schema: { $schema: 'x', type: 'object', properties: { a: { const: 1 } } } };
    expect(generation({ response_format: { type: 'json_object' } })).toEqual({ responseMimeType: 'application/json' });
    expect(generation({ response_format: { type: 'json_schema', json_schema } })).toEqual({
      responseMimeType: 'application/json',
      responseJsonSchema: { type: 'object', properties: { a: { enum: [1] } } },
    });
    expect(generation({ response_format: { type: 'json_schema', json_schema: { name: 'answer' } } })).toEqual({
      responseMimeType: 'application/json',
    });
    const declared = { parameters: ['response_format'] } as const;
    expect(generation({ response_format: { type: 'json_schema', json_schema } }, { declared })).toEqual({
      responseMimeType: 'application/json',
    });
    expect(generation({ response_format: { type: 'text' } })).toBeUndefined();
  });

  it('asks for images and their form', () => {
    expect(
      generation({ modalities: ['text', 'image'], image_config: { aspect_ratio: '16:9', image_size: '2K', n: 1 } }),
    ).toEqual({
      responseModalities: ['TEXT', 'IMAGE'],
      imageConfig: { aspectRatio: '16:9', imageSize: '2K' },
    });
    expect(generation({ modalities: ['text'] })).toBeUndefined();
  });

  it('asks for a voice, and refuses forms of sound that Google does not give', () => {
    const asked = (format: string): Asked => ({
      modalities: ['text', 'audio'],
      audio: { voice: 'Kore', format },
      stream: true,
    });
    expect(generation(asked('pcm16'))).toEqual({
      responseModalities: ['AUDIO'],
      speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
    });
    expect(() => generation(asked('mp3'))).toThrow("audio.format must be 'pcm16'");
  });
});

describe('tools', () => {
  it('are declared with their schema, unless they take nothing', () => {
    const tools = [
      tool('look', { description: 'Looks.', parameters: SCHEMA }),
      tool('ring', { parameters: { type: 'object', properties: {}, additionalProperties: false, required: [] } }),
      tool('2nd'),
    ];
    expect(encoded({ tools })).toEqual({
      tools: [
        {
          functionDeclarations: [
            { name: 'look', description: 'Looks.', parametersJsonSchema: SCHEMA },
            { name: 'ring' },
            { name: '_2nd' },
          ],
        },
      ],
    });
  });

  const strict = tool('strictly', { parameters: SCHEMA, strict: true });
  it.each([
    ['auto', [LOOK], { mode: 'AUTO' }],
    ['none', [LOOK], { mode: 'NONE' }],
    ['required', [LOOK], { mode: 'ANY' }],
    ['required', [strict], { mode: 'ANY' }],
    ['auto', [strict], { mode: 'VALIDATED' }],
    [undefined, [strict], { mode: 'VALIDATED' }],
    [{ type: 'function', function: { name: '2nd' } }, [tool('2nd')], { mode: 'ANY', allowedFunctionNames: ['_2nd'] }],
  ] as const)('may be chosen: %j', (choice, tools, functionCallingConfig) => {
    const body = encodedForGoogle({ tools: [...tools], ...(choice && { tool_choice: choice }) });
    expect(body.toolConfig).toEqual({ functionCallingConfig });
  });

  it('say nothing about a choice that nobody made', () => {
    expect(encodedForGoogle({ tools: [LOOK] }).toolConfig).toBeUndefined();
  });

  it('go together with a form of the answer on new models only', () => {
    const asked: Asked = { tools: [LOOK], response_format: { type: 'json_object' } };
    expect(encoded(asked)).toMatchObject({ tools: [{}], generationConfig: { responseMimeType: 'application/json' } });
    expect(encoded(asked, OLD)).not.toHaveProperty('generationConfig');
    expect(encoded(asked, OLD)).toHaveProperty('tools');
    expect(encoded({ ...asked, tool_choice: 'none' }, OLD)).toEqual({
      generationConfig: { responseMimeType: 'application/json' },
    });
  });

  it("are Google's own search when a search is asked for, but not beside functions", () => {
    expect(encoded({ web_search_options: {} })).toEqual({ tools: [{ googleSearch: {} }] });
    expect(encoded({ web_search_options: {}, tools: [LOOK] })).toEqual({
      tools: [{ functionDeclarations: [{ name: 'look', parametersJsonSchema: SCHEMA }] }],
    });
    expect(encoded({ web_search_options: {} }, { declared: { parameters: [] } })).toEqual({});
  });
});

describe('thinking', () => {
  it.each([
    // Models of a budget, without and with a limit of the caller's.
    ['gemini-2.5-flash', { effort: 'none' }, undefined, { thinkingBudget: 0 }],
    ['gemini-2.5-flash', { effort: 'minimal' }, undefined, { includeThoughts: true, thinkingBudget: 1_311 }],
    ['gemini-2.5-flash', { effort: 'low' }, undefined, { includeThoughts: true, thinkingBudget: 6_554 }],
    ['gemini-2.5-flash', { effort: 'medium' }, undefined, { includeThoughts: true, thinkingBudget: 19_661 }],
    ['gemini-2.5-flash', { effort: 'high' }, undefined, { includeThoughts: true, thinkingBudget: 24_576 }],
    ['gemini-2.5-flash', { effort: 'max' }, undefined, { includeThoughts: true, thinkingBudget: 24_576 }],
    ['gemini-2.5-flash', { effort: 'medium' }, 4_000, { includeThoughts: true, thinkingBudget: 2_000 }],
    ['gemini-2.5-flash', { max_tokens: 3_000 }, 2_000, { includeThoughts: true, thinkingBudget: 1_999 }],
    ['gemini-2.5-flash-lite', { effort: 'minimal' }, 1_000, { includeThoughts: true, thinkingBudget: 512 }],
    ['gemini-2.5-pro', { effort: 'none' }, undefined, { thinkingBudget: 128 }],
    ['gemini-2.5-pro', { effort: 'high' }, undefined, { includeThoughts: true, thinkingBudget: 32_768 }],
    ['gemini-2.5-pro', { max_tokens: 2_000, exclude: true }, undefined, { thinkingBudget: 2_000 }],
    ['gemini-3-pro-image-preview', { effort: 'low' }, undefined, { includeThoughts: true, thinkingBudget: 6_554 }],
    // Models of a level.
    ['gemini-3-flash-preview', { effort: 'none' }, undefined, { thinkingLevel: 'minimal' }],
    ['gemini-3-flash-preview', { effort: 'minimal' }, undefined, { includeThoughts: true, thinkingLevel: 'minimal' }],
    ['gemini-3-pro-preview', { effort: 'minimal' }, undefined, { includeThoughts: true, thinkingLevel: 'low' }],
    ['gemini-3.1-pro-preview', { effort: 'none' }, undefined, { thinkingLevel: 'low' }],
    ['gemini-3.8-flash', { effort: 'minimal' }, undefined, { includeThoughts: true, thinkingLevel: 'low' }],
    ['gemini-3.8-flash-lite', { effort: 'minimal' }, undefined, { includeThoughts: true, thinkingLevel: 'minimal' }],
    ['gemini-flash-latest', { effort: 'minimal' }, undefined, { includeThoughts: true, thinkingLevel: 'low' }],
    ['gemini-4-argon', { effort: 'medium' }, undefined, { includeThoughts: true, thinkingLevel: 'medium' }],
    ['gemini-4-argon', { effort: 'xhigh' }, undefined, { includeThoughts: true, thinkingLevel: 'high' }],
    ['gemini-4-hydrogen', { effort: 'xhigh' }, undefined, { includeThoughts: true, thinkingLevel: 'xhigh' }],
    ['gemini-4-hydrogen', { effort: 'max' }, undefined, { includeThoughts: true, thinkingLevel: 'xhigh' }],
    ['gemini-4-hydrogen', { effort: 'none' }, undefined, { thinkingLevel: 'low' }],
    ['gemini-3-flash', { max_tokens: 7_000 }, undefined, { includeThoughts: true, thinkingLevel: 'low' }],
    ['gemini-3-flash', { effort: 'high', exclude: true }, undefined, { thinkingLevel: 'high' }],
    ['tunedModels/gemini-2.5-flash-mine', { effort: 'none' }, undefined, { thinkingBudget: 0 }],
    // Asked for without an amount, and models that do not think.
    ['gemini-3-flash', {}, undefined, { includeThoughts: true }],
    ['gemini-2.0-flash', { effort: 'high' }, undefined, undefined],
    ['gemini-2.5-flash-image', { effort: 'high' }, undefined, undefined],
    ['gemma-3-27b-it', { effort: 'high' }, undefined, undefined],
  ] as const)('of %s: %j with a limit of %j is %j', (model, reasoning, limit, expected) => {
    const asked: Asked = { reasoning: { ...reasoning }, ...(limit && { max_completion_tokens: limit }) };
    expect(encodedForGoogle(asked, { model }).generationConfig?.thinkingConfig).toEqual(expected);
  });

  it('follows the efforts that a program declared', () => {
    const declared = { reasoning: { efforts: ['low', 'high'] } } as const;
    expect(generation({ reasoning_effort: 'medium' }, { declared })).toEqual({
      thinkingConfig: { includeThoughts: true, thinkingLevel: 'high' },
    });
  });
});

describe('the tier', () => {
  it.each([
    ['priority', {}, 'priority'],
    ['flex', {}, 'flex'],
    ['default', {}, 'standard'],
    ['scale', {}, undefined],
    ['flex', VERTEX, undefined],
    [undefined, { declared: { tier: 'flex' } }, 'flex'],
  ] as const)('%s with %j is %s', (tier, encoding, expected) => {
    const asked: Asked = tier === undefined ? {} : { service_tier: tier };
    expect(encodedForGoogle(asked, encoding).serviceTier).toBe(expected);
  });
});
