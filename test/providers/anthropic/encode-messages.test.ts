import { describe, expect, it } from 'vitest';
import type { Message } from '../../../src/protocol/message.ts';
import { EncodeError } from '../../../src/providers/codec.ts';
import { encodedFor, turnsFor } from '../../support/anthropic.ts';

const MODEL = 'claude-opus-4-7';
const PNG = 'iVBORw0KGgoAAAANSUhEUg==';
const HI: Message = { role: 'user', content: 'Hi' };

function asking(...ids: readonly string[]): Message {
  const calls = ids.map((id) => ({ id, type: 'function' as const, function: { name: 'look', arguments: '{"at":1}' } }));
  return { role: 'assistant', content: null, tool_calls: calls };
}

function result(id: string, content: unknown = 'seen', more: object = {}): Message {
  return { role: 'tool', tool_call_id: id, content, ...more } as Message;
}

function use(id: string): object {
  return { type: 'tool_use', id, name: 'look', input: { at: 1 } };
}

function user(...content: readonly object[]): object {
  return { role: 'user', content };
}

function text(words: string): object {
  return { type: 'text', text: words };
}

describe('system messages', () => {
  const messages: readonly Message[] = [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'developer',
      content: [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral', ttl: '1h' } }],
    },
    HI,
    { role: 'assistant', content: 'Hello.' },
    { role: 'user', content: 'Now?' },
    { role: 'system', content: 'Be quick.' },
  ];

  it('go to the top, each a block of its own with its cache mark', () => {
    expect(encodedFor(MODEL, { messages })).toMatchObject({
      system: [
        text('Be brief.'),
        { ...text('Be kind.'), cache_control: { type: 'ephemeral', ttl: '1h' } },
        text('Be quick.'),
      ],
    });
  });

  it('stay where they are when the model takes them there', () => {
    const body = encodedFor('claude-opus-4-8', { messages });
    expect(body['system']).toHaveLength(2);
    expect((body['messages'] as unknown[]).at(-1)).toEqual({ role: 'system', content: [text('Be quick.')] });
    const between = encodedFor('claude-opus-4-8', { messages: [HI, { role: 'system', content: 'So.' }, HI] });
    expect(between).toMatchObject({ system: [text('So.')], messages: [user(text('Hi'), text('Hi'))] });
  });

  it('alone get a user who says something', () => {
    expect(encodedFor(MODEL, { messages: [{ role: 'system', content: 'Tell a story.' }] })).toMatchObject({
      system: [text('Tell a story.')],
      messages: [user(text('Continue.'))],
    });
  });
});

describe('turns', () => {
  it('of one role become one, without blank texts', () => {
    expect(
      turnsFor(MODEL, [
        HI,
        { role: 'user', name: 'ada', content: 'Well?' },
        { role: 'assistant', content: '  ' },
        {
          role: 'user',
          name: 'bob',
          content: [
            { type: 'text', text: '' },
            { type: 'text', text: 'So?' },
          ],
        },
      ]),
    ).toEqual([user(text('Hi'), text('ada: Well?'), text('bob:'), text('So?'))]);
  });

  it('begin with the user', () => {
    expect(turnsFor(MODEL, [{ role: 'assistant', content: 'Hello.' }, HI])).toEqual([
      user(text('Continue.')),
      { role: 'assistant', content: [text('Hello.')] },
      user(text('Hi')),
    ]);
  });

  it('end with an answer to go on with where the model does that, and are refused where it does not', () => {
    const messages: readonly Message[] = [HI, { role: 'assistant', content: 'Once upon a ' }];
    expect(turnsFor('claude-opus-4-5', messages)).toEqual([
      user(text('Hi')),
      { role: 'assistant', content: [text('Once upon a')] },
    ]);
    expect(() => turnsFor(MODEL, messages)).toThrow(/^messages\[1\] is an assistant message for the model to go on/);
  });

  it('say what was refused', () => {
    const [, said] = turnsFor(MODEL, [HI, { role: 'assistant', content: null, refusal: 'No.' }, HI]) as unknown[];
    expect(said).toEqual({ role: 'assistant', content: [text('No.')] });
  });
});

describe('tool calls', () => {
  it('are answered in one turn, results first, whatever the order of the messages', () => {
    expect(
      turnsFor(MODEL, [HI, asking('a', 'b'), { role: 'user', content: 'And?' }, result('b'), result('a')]),
    ).toEqual([
      user(text('Hi')),
      { role: 'assistant', content: [use('a'), use('b')] },
      user(
        { type: 'tool_result', tool_use_id: 'a', content: 'seen' },
        { type: 'tool_result', tool_use_id: 'b', content: 'seen' },
        text('And?'),
      ),
    ]);
  });

  it('without a result get one that says so', () => {
    expect(turnsFor(MODEL, [HI, asking('a', 'b'), result('a'), { role: 'assistant', content: 'Hm.' }, HI])).toEqual([
      user(text('Hi')),
      { role: 'assistant', content: [use('a'), use('b')] },
      user(
        { type: 'tool_result', tool_use_id: 'a', content: 'seen' },
        { type: 'tool_result', tool_use_id: 'b', content: 'This call gave no result.', is_error: true },
      ),
      { role: 'assistant', content: [text('Hm.')] },
      user(text('Hi')),
    ]);
  });

  it('have ids that the API takes, and one each', () => {
    const turns = turnsFor(MODEL, [
      HI,
      asking('call.1'),
      result('call.1'),
      asking('call.1'),
      result('call.1', 'again'),
    ]);
    expect(turns).toEqual([
      user(text('Hi')),
      { role: 'assistant', content: [use('call_1')] },
      user({ type: 'tool_result', tool_use_id: 'call_1', content: 'seen' }),
      { role: 'assistant', content: [use('call_1_1')] },
      user({ type: 'tool_result', tool_use_id: 'call_1_1', content: 'again' }),
    ]);
  });

  it('give images and documents back, failures as such, and the mark of a part as their own', () => {
    const parts = [
      { type: 'text', text: 'A map:', cache_control: { type: 'ephemeral' } },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
      { type: 'file', file: { filename: 'a.txt', file_data: 'data:text/plain;base64,SGVsbG8=' } },
    ];
    const [, , answered] = turnsFor(MODEL, [HI, asking('a'), result('a', parts, { is_error: true })]) as unknown[];
    expect(answered).toEqual(
      user({
        type: 'tool_result',
        tool_use_id: 'a',
        is_error: true,
        cache_control: { type: 'ephemeral' },
        content: [
          text('A map:'),
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Hello' }, title: 'a.txt' },
        ],
      }),
    );
    const [, , empty] = turnsFor(MODEL, [HI, asking('a'), result('a', '')]) as unknown[];
    expect(empty).toEqual(user({ type: 'tool_result', tool_use_id: 'a' }));
  });

  it.each([
    ['', {}],
    ['[1]', { arguments: [1] }],
    ['{half', { arguments: '{half' }],
  ])('with the arguments %j are no reason to end a conversation', (given, input) => {
    const call = { id: 'a', type: 'function' as const, function: { name: 'look.at', arguments: given } };
    const turns = turnsFor(MODEL, [HI, { role: 'assistant', tool_calls: [call] }, result('a')]) as unknown[];
    expect(turns[1]).toEqual({
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'a', name: 'look_at', input }],
    });
  });
});

describe('thinking', () => {
  const signed = { type: 'reasoning.text', text: 'Hm.', signature: 'c2ln+/==', format: 'anthropic-claude-v1' } as const;

  function thought(details: readonly object[], model = MODEL): unknown {
    const message = { ...asking('a'), content: 'So.', reasoning: 'Hm.', reasoning_details: details } as Message;
    return (turnsFor(model, [HI, message, result('a')]) as { content: unknown }[])[1]?.content;
  }

  const block = { type: 'thinking', thinking: 'Hm.', signature: 'c2ln+/==' };

  it('goes back first, with its signature, also if its text was never shown', () => {
    expect(thought([signed, { type: 'reasoning.encrypted', data: 'EmwK' }])).toEqual([
      block,
      { type: 'redacted_thinking', data: 'EmwK' },
      text('So.'),
      use('a'),
    ]);
    expect(thought([{ ...signed, text: undefined }])).toEqual([{ ...block, thinking: '' }, text('So.'), use('a')]);
  });

  it('goes back between text and calls when that is where it stood', () => {
    expect(thought([{ ...signed, index: 1 }])).toEqual([text('So.'), block, use('a')]);
    expect(thought([{ ...signed, index: 9 }])).toEqual([text('So.'), use('a'), block]);
  });

  it.each([
    ['nobody signed', { ...signed, signature: null }],
    ['another provider made', { ...signed, format: 'google-gemini-v1' }],
    ['another provider encrypted', { type: 'reasoning.encrypted', data: 'x', format: 'openai-responses-v1' }],
    ['is a summary', { type: 'reasoning.summary', summary: 'Hm.', format: 'anthropic-claude-v1' }],
  ])('that %s stays here', (_what, detail) => {
    expect(thought([detail])).toEqual([text('So.'), use('a')]);
  });

  it('stays here when the model knows none', () => {
    expect(thought([signed], 'claude-3-haiku-20240307')).toEqual([text('So.'), use('a')]);
  });
});

describe('images and documents', () => {
  function encodedPart(part: object): unknown {
    const [turn] = turnsFor(MODEL, [{ role: 'user', content: [part] } as unknown as Message]) as {
      content: readonly unknown[];
    }[];
    return turn?.content[0];
  }

  const image = (url: string): object => ({ type: 'image_url', image_url: { url } });
  const file = (file_data: string, filename?: string): object => ({ type: 'file', file: { file_data, filename } });
  const base64 = (mediaType: string, data: string): object => ({ type: 'base64', media_type: mediaType, data });

  it.each([
    ['an address', image('https://example.org/a.png'), 'image', { type: 'url', url: 'https://example.org/a.png' }],
    ['its bytes', image(`data:image/png;base64,${PNG}`), 'image', base64('image/png', PNG)],
    ['bytes under a wrong type', image(`data:image/jpeg;base64,${PNG}`), 'image', base64('image/png', PNG)],
    ['bytes under an old type', image('data:image/jpg;base64,AAAA'), 'image', base64('image/jpeg', 'AAAA')],
    ['a JPEG', image('data:;base64,/9j/4A=='), 'image', base64('image/jpeg', '/9j/4A==')],
    ['a GIF', image('data:x/y;base64,R0lGODlh'), 'image', base64('image/gif', 'R0lGODlh')],
    [
      'a WebP',
      image('data:x/y;base64,UklGRgECAwRXRUJQVlA4IA=='),
      'image',
      base64('image/webp', 'UklGRgECAwRXRUJQVlA4IA=='),
    ],
    ['a file that is an image', file(`data:image/png;base64,${PNG}`), 'image', base64('image/png', PNG)],
    [
      'the address of a file that is an image',
      file('https://example.org/a.JPG?x=1'),
      'image',
      { type: 'url', url: 'https://example.org/a.JPG?x=1' },
    ],
    ['a PDF', file('data:application/pdf;base64,JVBERi0='), 'document', base64('application/pdf', 'JVBERi0=')],
    [
      'a PDF under a wrong type',
      file('data:application/octet-stream;base64,JVBERi0x'),
      'document',
      base64('application/pdf', 'JVBERi0x'),
    ],
    [
      'the address of a PDF',
      file('https://example.org/a.pdf'),
      'document',
      { type: 'url', url: 'https://example.org/a.pdf' },
    ],
    [
      'a string',
      file('data:text/csv;charset=utf-8;base64,w7Y7MQ=='),
      'document',
      { type: 'text', media_type: 'text/plain', data: 'ö;1' },
    ],
    [
      'a text with percent signs',
      file('data:application/json,%7B%7D'),
      'document',
      { type: 'text', media_type: 'text/plain', data: '{}' },
    ],
    [
      'an uploaded file',
      { type: 'file', file: { file_id: 'file_011Abc' } },
      'document',
      { type: 'file', file_id: 'file_011Abc' },
    ],
  ])('are sent as what they are: %s', (_what, part, type, source) => {
    expect(encodedPart(part)).toEqual({ type, source });
  });

  it('keep the name of a document', () => {
    expect(encodedPart(file('data:application/pdf;base64,JVBERi0=', 'a.pdf'))).toMatchObject({ title: 'a.pdf' });
  });

  it.each([
    ['audio', { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }, 'messages[0].content[0] is audio'],
    [
      'a video',
      { type: 'video_url', video_url: { url: 'https://example.org/a.mp4' } },
      'messages[0].content[0] is a video',
    ],
    [
      'an image of another type',
      image('data:image/tiff;base64,AAAA'),
      'messages[0].content[0].image_url.url is image/tiff',
    ],
    [
      'an image that is not base64',
      image('data:image/png,abc'),
      'messages[0].content[0].image_url.url must hold its bytes in base64',
    ],
    [
      'a data URL without data',
      image('data:image/png;base64'),
      'messages[0].content[0].image_url.url must be an http(s) address',
    ],
    [
      'a text that is none',
      file('data:text/plain;base64,/w=='),
      'messages[0].content[0].file.file_data must hold UTF-8 text',
    ],
    [
      'a text with broken percent signs',
      file('data:text/plain,%E0%A4%A'),
      'messages[0].content[0].file.file_data must be',
    ],
    [
      'a file of another type',
      file('data:application/zip;base64,AAAA'),
      'messages[0].content[0].file.file_data is application/zip',
    ],
    [
      'a file of another provider',
      { type: 'file', file: { file_id: 'file-abc' } },
      'messages[0].content[0].file.file_id must be',
    ],
  ])('that cannot be sent are named: %s', (_what, part, problem) => {
    expect(() => encodedPart(part)).toThrow(EncodeError);
    expect(() => encodedPart(part)).toThrow(problem);
  });

  it('of twenty megabytes are no trouble', () => {
    const data = `${PNG.slice(0, 20)}${'A'.repeat(20_000_000)}`;
    expect(encodedPart(image(`data:image/png;base64,${data}`))).toMatchObject({ source: { media_type: 'image/png' } });
  });
});

describe('cache marks', () => {
  const long = { type: 'ephemeral', ttl: '1h' } as const;
  const short = { type: 'ephemeral' } as const;

  function marksOf(messages: readonly Message[], fields: object = {}): unknown {
    const body = encodedFor(MODEL, { messages, ...fields });
    const turns = body['messages'] as readonly { readonly content: readonly { cache_control?: unknown }[] }[];
    return turns.flatMap(({ content }) => content.map(({ cache_control: mark }) => mark ?? null));
  }

  function parts(...marks: readonly (object | undefined)[]): Message {
    const content = marks.map((mark, index) => ({
      type: 'text',
      text: `${index}`,
      ...(mark && { cache_control: mark }),
    }));
    return { role: 'user', content } as unknown as Message;
  }

  it('of both styles are kept with their lifetime', () => {
    const breakpoint = { type: 'text', text: 'b', prompt_cache_breakpoint: { mode: 'explicit' } };
    const marked = { role: 'user', content: [breakpoint] } as unknown as Message;
    expect(marksOf([parts(long), marked, { ...HI, cache_control: { type: 'ephemeral', ttl: '5m' } }])).toEqual([
      long,
      short,
      { type: 'ephemeral', ttl: '5m' },
    ]);
  });

  it('beyond four are taken away, but not the first and not the last ones', () => {
    expect(marksOf([parts(short, short, short, short, short, short)])).toEqual([
      short,
      null,
      null,
      short,
      short,
      short,
    ]);
  });

  it('of an hour live for minutes behind others that do', () => {
    expect(marksOf([parts(long, short, long)])).toEqual([long, short, short]);
  });

  it('count the one for the whole request, which stands for one on the last block', () => {
    const fields = { cache_control: long };
    expect(marksOf([parts(long, long, long, long, long)], fields)).toEqual([long, null, long, long, null]);
    expect(encodedFor(MODEL, { messages: [parts(short, undefined)], ...fields })['cache_control']).toEqual(short);
  });

  it('stand on tools too', () => {
    const tool = { type: 'function', function: { name: 'look' }, cache_control: long } as const;
    expect(encodedFor(MODEL, { tools: [tool] })['tools']).toEqual([
      { name: 'look', input_schema: { type: 'object' }, cache_control: long },
    ]);
  });
});
