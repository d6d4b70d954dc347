import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/protocol/chat-request.ts';
import { EncodeError } from '../../../src/providers/codec.ts';
import { encodedForGoogle, turnsOf } from '../../support/google-wire.ts';

type Messages = ChatRequest['messages'];
type Content = Messages[number]['content'];

const HELLO = { role: 'user', content: 'Hello' } as const;

/** The parts of the only turn, for a user message with this content. */
function partsOf(content: Exclude<Content, null | undefined>, model?: string, vertex = false): unknown {
  return turnsOf([{ role: 'user', content }] as Messages, { ...(model && { model }), vertex })[0]?.parts;
}

function calling(...calls: readonly (readonly [id: string, name: string])[]): Messages[number] {
  const tool_calls = calls.map(([id, name]) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: `{"of":"${id}"}` },
  }));
  return { role: 'assistant', content: null, tool_calls };
}

describe('instructions', () => {
  it('at the beginning have a place of their own', () => {
    const body = encodedForGoogle({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
        HELLO,
      ],
    });
    expect(body.systemInstruction).toEqual({ parts: [{ text: 'Be brief.' }, { text: 'Be kind.' }] });
    expect(body.contents).toEqual([{ role: 'user', parts: [{ text: 'Hello' }] }]);
  });

  it('that come later stay where they are, as the words of a user', () => {
    const body = encodedForGoogle({
      messages: [HELLO, { role: 'assistant', content: 'Hi.' }, { role: 'system', content: 'Now in French.' }, HELLO],
    });
    expect(body.systemInstruction).toBeUndefined();
    expect(body.contents.at(-1)).toEqual({ role: 'user', parts: [{ text: 'Now in French.' }, { text: 'Hello' }] });
  });

  it('stand in front of the first user turn where a model has no place for them', () => {
    const messages: Messages = [{ role: 'system', content: 'Be brief.' }, HELLO];
    const body = encodedForGoogle({ messages }, { model: 'gemma-3-27b-it' });
    expect(body.systemInstruction).toBeUndefined();
    expect(body.contents).toEqual([{ role: 'user', parts: [{ text: 'Be brief.' }, { text: 'Hello' }] }]);
  });

  it('are what the user says when there is nothing else', () => {
    const body = encodedForGoogle({ messages: [{ role: 'system', content: 'Tell a story.' }] });
    expect(body).toEqual({ contents: [{ role: 'user', parts: [{ text: 'Tell a story.' }] }] });
  });
});

describe('turns', () => {
  it('in which nobody says a word are refused before Google does it', () => {
    expect(() => turnsOf([{ role: 'user', content: '' }])).toThrow(EncodeError);
    expect(() => turnsOf([{ role: 'user', content: '' }])).toThrow(/^messages must have content/);
  });

  it('of the same role in a row become one, and empty ones none', () => {
    expect(
      turnsOf([
        HELLO,
        { role: 'user', content: '' },
        { role: 'user', content: 'Are you there?' },
        { role: 'assistant', content: 'Yes.' },
        { role: 'assistant', content: null },
        { role: 'assistant', content: [{ type: 'text', text: 'I am.' }] },
        HELLO,
      ]),
    ).toEqual([
      { role: 'user', parts: [{ text: 'Hello' }, { text: 'Are you there?' }] },
      { role: 'model', parts: [{ text: 'Yes.' }, { text: 'I am.' }] },
      { role: 'user', parts: [{ text: 'Hello' }] },
    ]);
  });

  it('of a user with a name say who speaks', () => {
    expect(
      turnsOf([
        { role: 'user', name: 'ada', content: 'Hello' },
        { role: 'user', name: 'bob', content: [{ type: 'text', text: 'Hi' }] },
      ]),
    ).toEqual([{ role: 'user', parts: [{ text: 'ada: Hello' }, { text: 'bob:' }, { text: 'Hi' }] }]);
  });

  it('that end with the model are for it to go on with', () => {
    expect(turnsOf([HELLO, { role: 'assistant', content: 'The answer is' }]).at(-1)).toEqual({
      role: 'model',
      parts: [{ text: 'The answer is' }],
    });
  });

  it('of a model that refused say what it refused with', () => {
    expect(turnsOf([HELLO, { role: 'assistant', content: null, refusal: 'No.' }, HELLO])[1]?.parts).toEqual([
      { text: 'No.' },
    ]);
  });
});

describe('calls and their results', () => {
  it('know a result by the name of its function, in the order of the calls, in one turn', () => {
    expect(
      turnsOf(
        [
          HELLO,
          calling(['c1', 'look'], ['c2', 'ring']),
          { role: 'tool', tool_call_id: 'c2', content: 'Rung.' },
          { role: 'tool', tool_call_id: 'c1', content: '{"seen":"a fox"}' },
          { role: 'user', content: 'And?' },
        ],
        { model: 'gemini-2.5-flash' },
      ),
    ).toEqual([
      { role: 'user', parts: [{ text: 'Hello' }] },
      {
        role: 'model',
        parts: [
          { functionCall: { id: 'c1', name: 'look', args: { of: 'c1' } } },
          { functionCall: { id: 'c2', name: 'ring', args: { of: 'c2' } } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'c1', name: 'look', response: { seen: 'a fox' } } },
          { functionResponse: { id: 'c2', name: 'ring', response: { output: 'Rung.' } } },
          { text: 'And?' },
        ],
      },
    ]);
  });

  it('have no ids on Vertex AI, which refuses them', () => {
    const messages: Messages = [HELLO, calling(['c1', 'look']), { role: 'tool', tool_call_id: 'c1', content: 'ok' }];
    expect(JSON.stringify(turnsOf(messages, { vertex: true }))).not.toContain('"id"');
    expect(turnsOf(messages, { vertex: true }).at(-1)?.parts).toEqual([
      { functionResponse: { name: 'look', response: { output: 'ok' } } },
    ]);
  });

  it.each([
    ['text', 'Fine.', { output: 'Fine.' }],
    ['an object', '{"a":[1]}', { a: [1] }],
    ['an array', '[1,2]', { output: [1, 2] }],
    ['a bare word of JSON', 'true', { output: 'true' }],
    ['half an object', '{"a":', { output: '{"a":' }],
    ['a long number, which would be rounded', '{"id":12345678901234567890}', { output: '{"id":12345678901234567890}' }],
    ['a $ref, which has a meaning there', '{"x":[{"$ref":"#/a"}]}', { output: '{"x":[{"$ref":"#/a"}]}' }],
    ['nothing', '', { output: '' }],
  ])('are an object, whatever the tool wrote: %s', (_name, content, response) => {
    const turns = turnsOf([HELLO, calling(['c1', 'look']), { role: 'tool', tool_call_id: 'c1', content }]);
    expect(turns.at(-1)?.parts).toEqual([{ functionResponse: { id: 'c1', name: 'look', response } }]);
  });

  it.each([
    ['nothing', '', {}],
    ['no object', '[1]', { arguments: [1] }],
    ['no JSON', '{"a', { arguments: '{"a' }],
  ])('have an object of arguments, whatever the model wrote: %s', (_name, text, args) => {
    const tool_calls = [{ id: 'c1', type: 'function' as const, function: { name: 'look', arguments: text } }];
    const turns = turnsOf([HELLO, { role: 'assistant', tool_calls }], { model: 'gemini-2.5-pro' });
    expect(turns.at(-1)?.parts).toEqual([{ functionCall: { id: 'c1', name: 'look', args } }]);
  });

  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } } as const;
  const withImage: Messages = [
    HELLO,
    calling(['c1', 'draw'], ['c2', 'look']),
    { role: 'tool', tool_call_id: 'c1', content: [{ type: 'text', text: 'Drawn.' }, image] },
    { role: 'tool', tool_call_id: 'c2', content: [image] },
  ];

  it('hold their images where a model takes them there', () => {
    expect(turnsOf(withImage).at(-1)?.parts).toEqual([
      {
        functionResponse: {
          id: 'c1',
          name: 'draw',
          response: { output: 'Drawn.' },
          parts: [{ inlineData: { mimeType: 'image/png', data: 'aGk=' } }],
        },
      },
      {
        functionResponse: {
          id: 'c2',
          name: 'look',
          response: { output: '' },
          parts: [{ inlineData: { mimeType: 'image/png', data: 'aGk=' } }],
        },
      },
    ]);
  });

  it('stand before their images where it does not', () => {
    expect(turnsOf(withImage, { model: 'gemini-2.5-flash' }).at(-1)?.parts).toEqual([
      { functionResponse: { id: 'c1', name: 'draw', response: { output: 'Drawn.' } } },
      { functionResponse: { id: 'c2', name: 'look', response: { output: 'The result of look follows.' } } },
      { inlineData: { mimeType: 'image/png', data: 'aGk=' } },
      { inlineData: { mimeType: 'image/png', data: 'aGk=' } },
    ]);
  });

  it('of other vendors have names that Google accepts', () => {
    const [, turn] = turnsOf([HELLO, calling(['c1', '9 lives: näme'])], { model: 'gemini-2.5-pro' });
    expect(turn?.parts).toEqual([{ functionCall: { id: 'c1', name: '_9_lives:_n_me', args: { of: 'c1' } } }]);
  });
});

describe('media', () => {
  it.each([
    ['an image', { type: 'image_url', image_url: { url: 'data:image/jpg;base64,aGk=' } }, 'image/jpeg', 'aGk='],
    [
      'text in an address',
      { type: 'image_url', image_url: { url: 'data:image/svg+xml,%3Csvg%2F%3E' } },
      'image/svg+xml',
      'PHN2Zy8+',
    ],
    ['escaped base64', { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk%3D' } }, 'image/png', 'aGk='],
    ['sound', { type: 'input_audio', input_audio: { data: 'aGk=', format: 'mp3' } }, 'audio/mp3', 'aGk='],
    [
      'raw sound',
      { type: 'input_audio', input_audio: { data: 'aGk=', format: 'pcm16' } },
      'audio/L16;rate=24000',
      'aGk=',
    ],
    ['a video', { type: 'video_url', video_url: { url: 'data:video/webm;base64,aGk=' } }, 'video/webm', 'aGk='],
    [
      'a document',
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' } },
      'application/pdf',
      'aGk=',
    ],
    [
      'a document without a type',
      { type: 'file', file: { filename: 'a.csv', file_data: 'data:;base64,aGk=' } },
      'text/csv',
      'aGk=',
    ],
  ] as const)('in a request are its bytes: %s', (_name, part, mimeType, data) => {
    expect(partsOf([part])).toEqual([{ inlineData: { mimeType, data } }]);
  });

  it('of twenty megabytes cost no more than themselves', () => {
    const data = 'QUJD'.repeat(5_000_000);
    const parts = partsOf([{ type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }]);
    expect((parts as { inlineData: { data: string } }[])[0]?.inlineData.data === data).toBe(true);
  });

  const files = 'https://generativelanguage.googleapis.com/v1beta/files';
  it.each([
    [
      'a file by its id',
      { type: 'file', file: { file_id: 'abc', filename: 'a.pdf' } },
      { mimeType: 'application/pdf', fileUri: `${files}/abc` },
    ],
    ['a file by its name', { type: 'file', file: { file_id: 'files/abc' } }, { fileUri: `${files}/abc` }],
    ['a file by its address', { type: 'image_url', image_url: { url: `${files}/abc` } }, { fileUri: `${files}/abc` }],
    [
      'an object of Cloud Storage',
      { type: 'file', file: { file_id: 'gs://bucket/a.mp4' } },
      { mimeType: 'video/mp4', fileUri: 'gs://bucket/a.mp4' },
    ],
    [
      'a video of YouTube',
      { type: 'video_url', video_url: { url: 'https://youtu.be/abc' } },
      { mimeType: 'video/mp4', fileUri: 'https://youtu.be/abc' },
    ],
    [
      'an image of the web',
      { type: 'image_url', image_url: { url: 'https://example.com/a.webp?x=1' } },
      { mimeType: 'image/webp', fileUri: 'https://example.com/a.webp?x=1' },
    ],
    [
      'an image of unknown type',
      { type: 'image_url', image_url: { url: 'https://example.com/a' } },
      { mimeType: 'image/jpeg', fileUri: 'https://example.com/a' },
    ],
  ] as const)('elsewhere are fetched by Google: %s', (_name, part, fileData) => {
    expect(partsOf([part])).toEqual([{ fileData }]);
  });

  it.each([
    ['an old model', 'gemini-2.0-flash', 'https://example.com/a.png'],
    ['Gemma', 'gemma-3-4b-it', 'https://example.com/a.png'],
    ['an address without TLS', 'gemini-3-flash', 'http://example.com/a.png'],
  ])('that Google does not fetch are refused with their place: %s', (_name, model, url) => {
    const encode = (): unknown =>
      partsOf(
        [
          { type: 'text', text: 'See' },
          { type: 'image_url', image_url: { url } },
        ],
        model,
      );
    expect(encode).toThrow(EncodeError);
    expect(encode).toThrow(/^messages\[0\]\.content\[1\]\.image_url\.url must be a data URL/);
  });

  it('in a data URL that is broken off are refused', () => {
    expect(() => partsOf([{ type: 'image_url', image_url: { url: 'data:image/png;base64' } }])).toThrow(
      /^messages\[0\]\.content\[0\]\.image_url\.url is a data URL without/,
    );
  });

  it('by the id of a file are refused on Vertex AI, which has no files', () => {
    const part = { type: 'file', file: { file_id: 'abc' } } as const;
    expect(() => partsOf([part], 'gemini-3-flash', true)).toThrow(
      /messages\[0\]\.content\[0\]\.file\.file_id must be a gs:/,
    );
  });
});
