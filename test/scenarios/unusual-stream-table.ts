import type { SeenAnswer, UnusualBody, UnusualWire } from '../support/unusual-streams.ts';

/** A stream as some server sends it, and what a client of every API format has of it, streaming or not. */
export interface UnusualStream {
  readonly id: string;
  readonly name: string;
  /** Wires on which these bytes come; `sdk` reads those of `chat`. */
  readonly wires: readonly UnusualWire[];
  readonly body: UnusualBody;
  /** Members that are left out are not looked at. `fails` is a stream that is cut: an error in every format. */
  readonly sees: Partial<SeenAnswer> | 'fails';
  /** True where callers who speak the provider's own wire get its events as they came, streamed. */
  readonly passedOn?: boolean;
}

const PROMPT = 12;
const USAGE = { prompt_tokens: PROMPT, completion_tokens: 5, total_tokens: 17 };
const DONE = 'data: [DONE]\n\n';

function event(data: unknown, end = '\n\n'): string {
  return `data: ${JSON.stringify(data)}${end}`;
}

/** A chunk of choice 0. */
function chunk(delta: unknown, finish?: unknown, more: object = {}): string {
  return event({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'one',
    choices: [{ index: 0, delta, finish_reason: finish === undefined ? null : finish }],
    ...more,
  });
}

const said = (content: unknown, finish?: unknown): string => chunk({ content }, finish);
const called = (call: object, finish?: unknown): string => chunk({ tool_calls: [call] }, finish);
const usage = (counts: object = USAGE): string =>
  event({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'one', choices: [], usage: counts });

function stream(...pieces: readonly (string | Uint8Array)[]): UnusualBody {
  return { pieces };
}

function cut(...pieces: readonly string[]): UnusualBody {
  return { pieces, ending: 'reset' };
}

function json(body: unknown): UnusualBody {
  return { pieces: [JSON.stringify(body)], type: 'application/json' };
}

/** A row of chat completions; the AI SDK's wire reads it, too, unless it is told otherwise. */
function row(
  id: string,
  name: string,
  body: UnusualBody,
  sees: UnusualStream['sees'],
  wires: readonly UnusualWire[] = ['chat'],
): UnusualStream {
  return { id, name, wires, body, sees };
}

/** An event of Anthropic's or of the Responses wire. */
function named(data: { readonly type: string; readonly [member: string]: unknown }): string {
  return `event: ${data.type}\n${event(data)}`;
}

function begun(more: object = {}): string {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'one',
    content: [],
    stop_reason: null,
    usage: { input_tokens: PROMPT, output_tokens: 1 },
    ...more,
  };
  return named({ type: 'message_start', message });
}

const STOPPED = named({ type: 'message_stop' });

function block(index: number, start: object, ...deltas: readonly object[]): string {
  return [
    named({ type: 'content_block_start', index, content_block: start }),
    ...deltas.map((delta) => named({ type: 'content_block_delta', index, delta })),
    named({ type: 'content_block_stop', index }),
  ].join('');
}

function textBlock(index: number, text: string): string {
  return block(index, { type: 'text', text: '' }, { type: 'text_delta', text });
}

function stop(reason: unknown, counts: object = { output_tokens: 5 }): string {
  return named({ type: 'message_delta', delta: { stop_reason: reason }, usage: counts });
}

/** An event of Gemini's. */
function gemini(parts: readonly object[], finishReason?: string, more: object = {}): string {
  return event({
    candidates: [
      { index: 0, content: { role: 'model', parts }, ...(finishReason === undefined ? {} : { finishReason }) },
    ],
    ...more,
  });
}

const COUNTED = { usageMetadata: { promptTokenCount: PROMPT, candidatesTokenCount: 5, totalTokenCount: 17 } };
const BOTH: readonly UnusualWire[] = ['chat', 'sdk'];
const PLAIN = { text: 'one two three', finish: 'stop', prompt: PROMPT, completion: 5 };
const NOW_TWICE = {
  calls: [
    ['now', '{}'],
    ['now', '{}'],
  ],
  finish: 'tool_calls',
} as const;
const LOOK = { calls: [['look', '{"a":1}']], finish: 'tool_calls' } as const;

const ITEM = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'one two', annotations: [], logprobs: [] }],
};
const FUNCTION = {
  id: 'fc_1',
  type: 'function_call',
  call_id: 'a',
  name: 'look',
  arguments: '{"a":1}',
  status: 'completed',
};

function response(output: readonly object[], more: object = {}): object {
  return {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'one',
    output,
    usage: { input_tokens: PROMPT, output_tokens: 5, total_tokens: 17 },
    ...more,
  };
}

/**
 * Streams as servers really send them, beside those of the table of faults. The reports that a row comes from are named
 * behind it.
 */
const ROWS: readonly UnusualStream[] = [
  // Finish words
  row(
    'S-01',
    'every event says "stop", the last "length"',
    stream(said('one ', 'stop'), said('two ', 'stop'), said('three', 'length'), usage(), DONE),
    { ...PLAIN, finish: 'length' },
    BOTH,
  ), // one-api#1408, litellm#2195
  row(
    'S-02',
    'every event says "stop", and nothing marks the end',
    stream(said('one ', 'stop'), said('two ', 'stop'), said('three', 'stop')),
    { text: 'one two three', finish: 'stop' },
    BOTH,
  ),
  row(
    'S-03',
    'every event says "stop", and the connection breaks',
    cut(said('one ', 'stop'), said('two ', 'stop')),
    'fails',
  ),
  row(
    'S-04',
    'pieces of a call, each with "stop"',
    stream(
      called({ index: 0, id: 'a', function: { name: 'look', arguments: '' } }, 'stop'),
      called({ index: 0, function: { arguments: '{"a":' } }, 'stop'),
      called({ index: 0, function: { arguments: '1}' } }, 'stop'),
      DONE,
    ),
    LOOK,
  ), // gcli2api#403
  row(
    'S-05',
    'the word "null" on each chunk',
    stream(said('one ', 'null'), said('two ', 'null'), said('three', 'length'), usage(), DONE),
    { ...PLAIN, finish: 'length' },
  ), // AIShell#350, sglang#3912, ollama#4357
  row(
    'S-06',
    'the word "null" on each chunk, and a connection that breaks',
    cut(said('one ', 'null'), said('two', 'null')),
    'fails',
  ),
  row(
    'S-07',
    'the word "null" on each chunk, and a body that ends',
    stream(said('one ', 'null'), said('two', 'null')),
    'fails',
    BOTH,
  ),
  row(
    'S-08',
    '"tool_calls" and no call',
    stream(said('I am fine.'), chunk({ tool_calls: [] }, 'tool_calls'), usage(), DONE),
    { text: 'I am fine.', calls: [], finish: 'stop' },
    BOTH,
  ), // vllm#53255
  row(
    'S-09',
    '"stop" and a call',
    stream(called({ index: 0, id: 'a', function: { name: 'look', arguments: '{"a":1}' } }), chunk({}, 'stop'), DONE),
    LOOK,
    BOTH,
  ),
  row('S-10', 'no finish word, but the end mark', stream(said('one two three'), usage(), DONE), PLAIN),
  row('S-11', 'no finish word and no end mark', stream(said('one two three')), 'fails', BOTH),
  row(
    'S-12',
    'the finish word twice, each other',
    stream(said('one two three'), chunk({}, 'stop'), chunk({}, 'length'), usage(), DONE),
    { ...PLAIN, finish: 'length' },
    BOTH,
  ),
  row(
    'S-13',
    '"content_filter", and "stop" behind it',
    stream(said('one'), chunk({}, 'content_filter'), chunk({}, 'stop'), DONE),
    { text: 'one', finish: 'content_filter' },
  ), // Azure
  row(
    'S-14',
    'text behind the finish',
    stream(said('one '), chunk({}, 'stop'), said('two three'), usage(), DONE),
    PLAIN,
    BOTH,
  ),
  row(
    'S-15',
    'text behind the finish, and a body that ends there',
    stream(said('one '), chunk({}, 'stop'), said('two')),
    'fails',
  ),
  row(
    'S-16',
    'a call behind the finish',
    stream(
      chunk({ content: 'one' }, 'stop'),
      called({ index: 0, id: 'a', function: { name: 'look', arguments: '{"a":1}' } }),
      DONE,
    ),
    { text: 'one', ...LOOK },
  ),
  row('S-17', 'the finish in the words of others', stream(said('one'), chunk({}, 'MAX_TOKENS'), DONE), {
    text: 'one',
    finish: 'length',
  }),
  row('S-18', 'an end mark and nothing else', stream(DONE), 'fails'),

  // Usage
  row(
    'U-01',
    'usage in front of the text',
    stream(usage(), said('one two three'), chunk({}, 'stop'), DONE),
    PLAIN,
    BOTH,
  ),
  row(
    'U-02',
    'usage in every chunk, growing',
    stream(
      chunk({ content: 'one ' }, null, { usage: { ...USAGE, completion_tokens: 1 } }),
      chunk({ content: 'two three' }, null, { usage: USAGE }),
      chunk({}, 'stop'),
      DONE,
    ),
    PLAIN,
    BOTH,
  ),
  row(
    'U-03',
    'usage of zeros behind usage',
    stream(
      said('one two three'),
      chunk({}, 'stop'),
      usage(),
      usage({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }),
      DONE,
    ),
    PLAIN,
  ), // sglang#20830, cline#4346
  row(
    'U-04',
    'a prompt of zero behind a prompt',
    stream(
      usage({ prompt_tokens: PROMPT, completion_tokens: 1, total_tokens: 13 }),
      said('one two three'),
      chunk({}, 'stop'),
      usage({ prompt_tokens: 0, completion_tokens: 5, total_tokens: 5 }),
      DONE,
    ),
    { ...PLAIN, costUsd: 0.000022 },
  ), // litellm#36168
  row(
    'U-05',
    'usage that is null until the end',
    stream(
      chunk({ content: 'one two three' }, null, { usage: null }),
      chunk({}, 'stop', { usage: null }),
      usage(),
      DONE,
    ),
    PLAIN,
    BOTH,
  ),
  row(
    'U-06',
    'usage in the choice',
    stream(
      said('one two three'),
      event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: USAGE }] }),
      DONE,
    ),
    PLAIN,
  ), // Moonshot
  row(
    'U-07',
    'cached tokens under Anthropic’s name beside a zero',
    stream(
      said('one'),
      chunk({}, 'stop'),
      usage({
        prompt_tokens: 2_500,
        completion_tokens: 20,
        prompt_tokens_details: { cached_tokens: 0 },
        cache_read_input_tokens: 2_000,
      }),
      DONE,
    ),
    { prompt: 2_500, completion: 20, cached: 2_000, costUsd: 0.00074 },
    BOTH,
  ), // litellm#11789, openclaude#571
  row(
    'U-08',
    'reasoning beside the completion, which the total gives away',
    stream(
      said('one'),
      chunk({}, 'stop'),
      usage({
        prompt_tokens: 10_120,
        completion_tokens: 1_499,
        total_tokens: 14_428,
        completion_tokens_details: { reasoning_tokens: 2_809 },
      }),
      DONE,
    ),
    { prompt: 10_120, completion: 4_308, costUsd: 0.018736 },
    BOTH,
  ), // inspect_ai#5528
  row(
    'U-09',
    'no usage',
    stream(said('one two three'), chunk({}, 'stop'), DONE),
    { text: 'one two three', finish: 'stop' },
    BOTH,
  ),

  // Calls
  row(
    'C-01',
    'two calls without arguments at index 0',
    stream(
      called({ index: 0, id: 'a', type: 'function', function: { name: 'now', arguments: '' } }),
      called({ index: 0, id: 'b', type: 'function', function: { name: 'now', arguments: '' } }),
      chunk({}, 'tool_calls'),
      DONE,
    ),
    NOW_TWICE,
  ), // litellm#37792, ollama#15457
  row(
    'C-02',
    'calls without an index',
    stream(
      called({ id: 'a', function: { name: 'now', arguments: '{}' } }),
      called({ id: 'b', function: { name: 'now', arguments: '{}' } }),
      chunk({}, 'tool_calls'),
      DONE,
    ),
    NOW_TWICE,
  ), // ollama#7881
  row(
    'C-03',
    'calls without an index, in pieces',
    stream(
      called({ id: 'a', function: { name: 'look', arguments: '{"a"' } }),
      called({ function: { arguments: ':1}' } }),
      called({ id: 'b', function: { name: 'now', arguments: '{}' } }),
      chunk({}, 'tool_calls'),
      DONE,
    ),
    {
      calls: [
        ['look', '{"a":1}'],
        ['now', '{}'],
      ],
      finish: 'tool_calls',
    },
  ), // opik#8362
  row(
    'C-04',
    'calls without ids',
    stream(
      chunk({
        tool_calls: [
          { index: 0, function: { name: 'now', arguments: '{}' } },
          { index: 1, function: { name: 'now', arguments: '{}' } },
        ],
      }),
      chunk({}, 'tool_calls'),
      DONE,
    ),
    NOW_TWICE,
  ),
  row(
    'C-05',
    'the same id for two calls',
    stream(
      chunk({
        tool_calls: [
          { index: 0, id: 'a', function: { name: 'now', arguments: '{}' } },
          { index: 1, id: 'a', function: { name: 'now', arguments: '{}' } },
        ],
      }),
      chunk({}, 'tool_calls'),
      DONE,
    ),
    NOW_TWICE,
  ),
  row(
    'C-06',
    'arguments as an object',
    stream(
      called({ index: 0, id: 'a', function: { name: 'look', arguments: { a: 1 } } }),
      chunk({}, 'tool_calls'),
      DONE,
    ),
    LOOK,
  ),
  row(
    'C-07',
    'arguments that are null',
    stream(
      called({ index: 0, id: 'a', function: { name: 'now', arguments: null } }),
      called({ index: 1, id: 'b', function: { name: 'now' } }),
      chunk({}, 'tool_calls'),
      DONE,
    ),
    NOW_TWICE,
  ),
  row(
    'C-08',
    'the name and id on every piece',
    stream(
      called({ index: 0, id: 'a', function: { name: 'look', arguments: '{"a"' } }),
      called({ index: 0, id: 'a', function: { name: 'look', arguments: ':1}' } }),
      chunk({}, 'tool_calls'),
      DONE,
    ),
    LOOK,
  ),
  row(
    'C-09',
    'a whole call once more at the end',
    stream(
      called({ index: 0, id: 'a', function: { name: 'look', arguments: '{"a":' } }),
      called({ index: 0, function: { arguments: '1}' } }),
      called({ index: 0, id: 'a', function: { name: 'look', arguments: '{"a":1}' } }, 'tool_calls'),
      DONE,
    ),
    LOOK,
  ),
  row(
    'C-10',
    'a call without a name',
    stream(called({ index: 0, id: 'a', function: { arguments: '{"a":1}' } }), chunk({}, 'tool_calls'), DONE),
    'fails',
  ),
  row(
    'C-11',
    'the name behind the arguments',
    stream(
      called({ index: 0, id: 'a', function: { arguments: '{"a":' } }),
      called({ index: 0, function: { name: 'look', arguments: '1}' } }),
      chunk({}, 'tool_calls'),
      DONE,
    ),
    LOOK,
  ),
  row(
    'C-12',
    'the deprecated single call',
    stream(
      chunk({ function_call: { name: 'look', arguments: '{"a"' } }),
      chunk({ function_call: { arguments: ':1}' } }),
      chunk({}, 'function_call'),
      DONE,
    ),
    LOOK,
  ),
  row(
    'C-13',
    'interleaved pieces',
    stream(
      called({ index: 0, id: 'a', function: { name: 'look', arguments: '' } }),
      called({ index: 1, id: 'b', function: { name: 'now', arguments: '' } }),
      called({ index: 0, function: { arguments: '{"a":1}' } }),
      called({ index: 1, function: { arguments: '{}' } }),
      chunk({}, 'tool_calls'),
      DONE,
    ),
    {
      calls: [
        ['look', '{"a":1}'],
        ['now', '{}'],
      ],
      finish: 'tool_calls',
    },
    BOTH,
  ),
  row(
    'C-14',
    'a call whose connection breaks behind a finish of its own event',
    cut(called({ index: 0, id: 'a', function: { name: 'look', arguments: '{"a"' } }, 'stop')),
    'fails',
  ),

  // Deltas
  row(
    'D-01',
    'the role on every chunk',
    stream(
      chunk({ role: 'assistant', content: 'one ' }),
      chunk({ role: 'assistant', content: 'two three' }),
      chunk({ role: 'assistant' }, 'stop'),
      usage(),
      DONE,
    ),
    PLAIN,
    BOTH,
  ),
  row(
    'D-02',
    'content that is null or empty between',
    stream(
      chunk({ content: null }),
      said('one '),
      chunk({ content: '' }),
      chunk({ content: null, tool_calls: null, reasoning: null }),
      said('two three'),
      chunk({ content: null }, 'stop'),
      usage(),
      DONE,
    ),
    PLAIN,
  ),
  row(
    'D-03',
    'content as parts',
    stream(
      said([{ type: 'text', text: 'one ' }]),
      said(['two ', { type: 'text', text: 'three' }]),
      chunk({}, 'stop'),
      usage(),
      DONE,
    ),
    PLAIN,
  ), // Mistral
  row(
    'D-04',
    'thinking among the parts',
    stream(
      said([{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }]),
      said('one'),
      chunk({}, 'stop'),
      DONE,
    ),
    { text: 'one', reasoning: 'hm' },
  ), // Mistral
  ...['reasoning', 'reasoning_content', 'reasoning_text', 'thinking'].map((name, at) =>
    row(`D-0${5 + at}`, `reasoning as ${name}`, stream(chunk({ [name]: 'hm' }), said('one'), chunk({}, 'stop'), DONE), {
      text: 'one',
      reasoning: 'hm',
    }),
  ),
  row(
    'D-09',
    'reasoning under two names at once',
    stream(chunk({ reasoning: 'hm', reasoning_content: 'hm' }), said('one'), chunk({}, 'stop'), DONE),
    { text: 'one', reasoning: 'hm' },
  ),
  row(
    'D-10',
    'the whole message once more at the end',
    stream(
      said('one '),
      said('two three'),
      event({
        choices: [{ index: 0, message: { role: 'assistant', content: 'one two three' }, finish_reason: 'stop' }],
      }),
      usage(),
      DONE,
    ),
    PLAIN,
  ),
  row(
    'D-11',
    'whole messages in place of deltas',
    stream(
      event({
        choices: [{ index: 0, message: { role: 'assistant', content: 'one two three' }, finish_reason: 'stop' }],
      }),
      usage(),
      DONE,
    ),
    PLAIN,
  ),
  row(
    'D-12',
    'sources with titles, and their addresses before',
    stream(
      event({
        choices: [{ index: 0, delta: { content: 'one' } }],
        citations: ['https://a.example', 'https://b.example'],
      }),
      event({
        choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
        citations: ['https://a.example', 'https://b.example'],
        search_results: [{ title: 'A', url: 'https://a.example', date: null }],
      }),
      DONE,
    ),
    { text: 'one', sources: ['https://a.example A', 'https://b.example'] },
  ), // litellm#13225

  // Lines
  row(
    'L-01',
    'comments, other fields and blank lines between',
    stream(
      ': hello\n\n',
      'id: 1\nretry: 10\n' + said('one '),
      '\n\n: keep\n',
      said('two three'),
      chunk({}, 'stop'),
      usage(),
      DONE,
    ),
    PLAIN,
    BOTH,
  ),
  row(
    'L-02',
    'lines that end in CRLF',
    stream([said('one '), said('two three'), chunk({}, 'stop'), usage(), DONE].join('').replaceAll('\n', '\r\n')),
    PLAIN,
    BOTH,
  ),
  row(
    'L-03',
    'lines that end in CR',
    stream([said('one '), said('two three'), chunk({}, 'stop'), usage(), DONE].join('').replaceAll('\n', '\r')),
    PLAIN,
  ),
  row(
    'L-04',
    'a byte order mark',
    stream(`\uFEFF${said('one ')}`, said('two three'), chunk({}, 'stop'), usage(), DONE),
    PLAIN,
    BOTH,
  ),
  row(
    'L-05',
    'no space behind the colon',
    stream([said('one '), said('two three'), chunk({}, 'stop'), usage(), DONE].join('').replaceAll('data: ', 'data:')),
    PLAIN,
    BOTH,
  ),
  row(
    'L-06',
    'an event in two lines of data',
    stream(said('one ').replace('"choices"', '\ndata: "choices"'), said('two three'), chunk({}, 'stop'), usage(), DONE),
    PLAIN,
    BOTH,
  ),
  row(
    'L-07',
    'every byte alone',
    stream(
      ...Array.from(Buffer.from([said('one '), said('two three'), chunk({}, 'stop'), usage(), DONE].join('')), (byte) =>
        Uint8Array.of(byte),
      ),
    ),
    PLAIN,
  ),
  row(
    'L-08',
    'a last event without its blank line',
    stream(said('one two three'), usage(), chunk({}, 'stop').trimEnd()),
    PLAIN,
  ),
  row(
    'L-09',
    'a JSON object in place of a stream',
    json({
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'one',
      choices: [{ index: 0, message: { role: 'assistant', content: 'one two three' }, finish_reason: 'stop' }],
      usage: USAGE,
    }),
    PLAIN,
  ),
  row(
    'L-10',
    'a JSON object with "tool_calls" and no call',
    json({
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'I am fine.', tool_calls: [] },
          finish_reason: 'tool_calls',
        },
      ],
    }),
    { text: 'I am fine.', calls: [], finish: 'stop' },
  ),

  // Anthropic's
  row(
    'A-01',
    'a prompt of zero at the end',
    stream(
      begun({ usage: { input_tokens: 1_200, output_tokens: 1 } }),
      textBlock(0, 'one'),
      stop('end_turn', { input_tokens: 0, output_tokens: 40 }),
      STOPPED,
    ),
    { text: 'one', prompt: 1_200, completion: 40, costUsd: 0.00128 },
    ['messages'],
  ), // ai-gateway#1631
  row(
    'A-02',
    'a prompt of zero at the beginning',
    stream(
      begun({ usage: { input_tokens: 0, output_tokens: 0 } }),
      textBlock(0, 'one'),
      stop('end_turn', { input_tokens: PROMPT, output_tokens: 5 }),
      STOPPED,
    ),
    { text: 'one', prompt: PROMPT, completion: 5 },
    ['messages'],
  ), // axonhub#1263
  row(
    'A-03',
    'a call that came with the beginning',
    stream(
      begun({ content: [{ type: 'tool_use', id: 'a', name: 'look', input: { a: 1 } }], stop_reason: 'tool_use' }),
      STOPPED,
    ),
    LOOK,
    ['messages'],
  ), // programmatic tool calling
  row(
    'A-04',
    '"tool_use" and no call',
    stream(begun(), textBlock(0, 'I am fine.'), stop('tool_use'), STOPPED),
    { text: 'I am fine.', calls: [], finish: 'stop' },
    ['messages'],
  ),
  row(
    'A-05',
    '"end_turn" and a call',
    stream(
      begun(),
      block(
        0,
        { type: 'tool_use', id: 'a', name: 'look', input: {} },
        { type: 'input_json_delta', partial_json: '{"a":1}' },
      ),
      stop('end_turn'),
      STOPPED,
    ),
    LOOK,
    ['messages'],
  ),
  row(
    'A-06',
    'a call without arguments',
    stream(
      begun(),
      block(0, { type: 'tool_use', id: 'a', name: 'now', input: {} }),
      block(1, { type: 'tool_use', id: 'b', name: 'now', input: {} }, { type: 'input_json_delta', partial_json: '' }),
      stop('tool_use'),
      STOPPED,
    ),
    NOW_TWICE,
    ['messages'],
  ),
  row(
    'A-07',
    'index 0 for every block',
    stream(
      begun(),
      textBlock(0, 'one'),
      block(
        0,
        { type: 'tool_use', id: 'a', name: 'look', input: {} },
        { type: 'input_json_delta', partial_json: '{"a":1}' },
      ),
      stop('tool_use'),
      STOPPED,
    ),
    { text: 'one', ...LOOK },
    ['messages'],
  ),
  row(
    'A-08',
    'the end mark of chat completions',
    stream(begun(), textBlock(0, 'one'), stop('end_turn'), DONE, STOPPED, DONE),
    { text: 'one', finish: 'stop' },
    ['messages'],
  ),
  row('A-09', 'no end', stream(begun(), textBlock(0, 'one'), stop('end_turn')), 'fails', ['messages']),
  row(
    'A-10',
    'the word "null" for the stop',
    stream(begun(), textBlock(0, 'one'), stop('null'), stop('max_tokens'), STOPPED),
    { text: 'one', finish: 'length' },
    ['messages'],
  ),
  row(
    'A-11',
    'a JSON message in place of a stream',
    json({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'one',
      content: [
        { type: 'text', text: 'one' },
        { type: 'tool_use', id: 'a', name: 'look', input: { a: 1 } },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: PROMPT, output_tokens: 5 },
    }),
    { text: 'one', ...LOOK, prompt: PROMPT, completion: 5 },
    ['messages'],
  ),
  row(
    'A-12',
    'arguments without the call that they are for',
    stream(
      begun(),
      named({ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"a":1}' } }),
      stop('tool_use'),
      STOPPED,
    ),
    'fails',
    ['messages'],
  ),

  // Gemini's
  row(
    'G-01',
    'every event says STOP, the last MAX_TOKENS',
    stream(
      gemini([{ text: 'one ' }], 'STOP'),
      gemini([{ text: 'two ' }], 'STOP'),
      gemini([{ text: 'three' }], 'MAX_TOKENS', COUNTED),
    ),
    { ...PLAIN, finish: 'length' },
    ['gemini'],
  ), // gcli2api#403
  row(
    'G-02',
    'every event says STOP, and the connection breaks',
    cut(gemini([{ text: 'one ' }], 'STOP'), gemini([{ text: 'two ' }], 'STOP')),
    'fails',
    ['gemini'],
  ),
  row(
    'G-03',
    'the finish alone, with the usage',
    stream(gemini([{ text: 'one two three' }]), event({ candidates: [{ finishReason: 'STOP' }], ...COUNTED })),
    PLAIN,
    ['gemini'],
  ), // req_llm#638
  row(
    'G-04',
    'arguments value by value',
    stream(
      gemini([{ functionCall: { name: 'look', willContinue: true } }]),
      gemini([
        {
          functionCall: {
            partialArgs: [{ jsonPath: '$.list[0].text', stringValue: 'on', willContinue: true }],
            willContinue: true,
          },
        },
      ]),
      gemini([
        { functionCall: { partialArgs: [{ jsonPath: '$.list[0].text', stringValue: 'e' }], willContinue: true } },
      ]),
      gemini([
        {
          functionCall: {
            partialArgs: [
              { jsonPath: '$.n', numberValue: 0.5 },
              { jsonPath: '$["b c"]', boolValue: true },
            ],
            willContinue: true,
          },
        },
      ]),
      gemini([{ functionCall: {} }]),
      gemini([{ text: '' }], 'STOP', COUNTED),
    ),
    { calls: [['look', '{"list":[{"text":"one"}],"n":0.5,"b c":true}']], finish: 'tool_calls' },
    ['gemini'],
  ),
  row(
    'G-05',
    'arguments value by value without their end',
    stream(
      gemini([{ functionCall: { name: 'look', willContinue: true } }]),
      gemini([{ functionCall: { partialArgs: [{ jsonPath: '$.a', numberValue: 1 }] } }]),
      gemini([{ text: '' }], 'STOP'),
    ),
    LOOK,
    ['gemini'],
  ),
  row(
    'G-06',
    'two calls whose arguments come value by value',
    stream(
      gemini([{ functionCall: { name: 'now', willContinue: true } }]),
      gemini([{ functionCall: { name: 'look', willContinue: true } }]),
      gemini([{ functionCall: { partialArgs: [{ jsonPath: '$.a', numberValue: 1 }], willContinue: true } }]),
      gemini([], 'STOP'),
    ),
    {
      calls: [
        ['now', '{}'],
        ['look', '{"a":1}'],
      ],
      finish: 'tool_calls',
    },
    ['gemini'],
  ),
  row('G-07', 'a call without a name', stream(gemini([{ functionCall: { args: { a: 1 } } }], 'STOP')), 'fails', [
    'gemini',
  ]),
  row(
    'G-08',
    'arguments value by value that are cut off',
    stream(
      gemini([{ functionCall: { name: 'look', willContinue: true } }]),
      gemini([
        {
          functionCall: {
            partialArgs: [{ jsonPath: '$.a', stringValue: 'o', willContinue: true }],
            willContinue: true,
          },
        },
      ]),
    ),
    'fails',
    ['gemini'],
  ),
  row(
    'G-09',
    'usage without counts behind usage',
    stream(
      gemini([{ text: 'one two three' }], undefined, COUNTED),
      gemini([], 'STOP', { usageMetadata: { promptTokenCount: 0, candidatesTokenCount: 0 } }),
    ),
    PLAIN,
    ['gemini'],
  ),

  // Of the Responses wire
  row(
    'R-01',
    'items only in the last event',
    stream(
      named({ type: 'response.created', response: response([], { status: 'in_progress', usage: null }) }),
      named({ type: 'response.completed', response: response([ITEM, FUNCTION]) }),
    ),
    { text: 'one two', ...LOOK, prompt: PROMPT, completion: 5 },
    ['responses'],
  ),
  row(
    'R-02',
    'position 0 for every item',
    stream(
      named({ type: 'response.output_item.added', output_index: 0, item: { ...FUNCTION, arguments: '' } }),
      named({ type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: '{"a":1}' }),
      named({ type: 'response.output_item.done', output_index: 0, item: FUNCTION }),
      named({
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...FUNCTION, id: 'fc_2', call_id: 'b', name: 'now', arguments: '' },
      }),
      named({
        type: 'response.output_item.done',
        output_index: 0,
        item: { ...FUNCTION, id: 'fc_2', call_id: 'b', name: 'now', arguments: '{}' },
      }),
      named({
        type: 'response.completed',
        response: response([FUNCTION, { ...FUNCTION, id: 'fc_2', call_id: 'b', name: 'now', arguments: '{}' }]),
      }),
    ),
    {
      calls: [
        ['look', '{"a":1}'],
        ['now', '{}'],
      ],
      finish: 'tool_calls',
    },
    ['responses'],
  ),
  row(
    'R-03',
    'other ids in every event',
    stream(
      named({ type: 'response.output_item.added', output_index: 0, item: { ...FUNCTION, arguments: '' } }),
      named({ type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'x', delta: '{"a":1}' }),
      named({ type: 'response.output_item.done', output_index: 0, item: { ...FUNCTION, id: 'y' } }),
      named({ type: 'response.completed', response: response([{ ...FUNCTION, id: 'z' }]) }),
    ),
    LOOK,
    ['responses'],
  ),
  row(
    'R-04',
    'a JSON response in place of a stream',
    json(
      response([{ id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] }, ITEM, FUNCTION]),
    ),
    { text: 'one two', reasoning: 'hm', ...LOOK, prompt: PROMPT, completion: 5 },
    ['responses'],
  ),
  row(
    'R-05',
    'no end',
    stream(named({ type: 'response.output_text.delta', output_index: 0, item_id: 'msg_1', delta: 'one' })),
    'fails',
    ['responses'],
  ),

  // Of reports that came later
  row(
    'V-01',
    'reasoning and the first word of the answer in one chunk',
    stream(
      chunk({ reasoning_content: 'hm ' }),
      chunk({ reasoning_content: 'so', content: 'one ' }),
      said('two three', 'stop'),
      usage(),
      DONE,
    ),
    { ...PLAIN, reasoning: 'hm so' },
    BOTH,
  ), // litellm#27492, pi#1741, vllm#43938
  row(
    'V-02',
    'usage beside choices that are null',
    stream(said('one two three'), chunk({}, 'stop'), event({ id: 'c', choices: null, usage: USAGE }), DONE),
    PLAIN,
  ), // cline#8384, llmeter#34
  row(
    'V-03',
    'a first chunk without choices, id and model, about the prompt',
    stream(
      event({
        id: '',
        object: '',
        created: 0,
        model: '',
        choices: [],
        prompt_filter_results: [{ prompt_index: 0, content_filter_results: { hate: { filtered: false } } }],
      }),
      said('one two three', 'stop'),
      usage(),
      DONE,
    ),
    PLAIN,
    BOTH,
  ), // speak-gpt#162, one-api#537
  row('V-04', 'the finish "incomplete"', stream(said('one two three'), chunk({}, 'incomplete'), usage(), DONE), {
    ...PLAIN,
    finish: 'length',
  }), // llmgateway#1682
  row(
    'V-05',
    'a call that never gets a name',
    stream(
      called({ index: 0, id: 'a', type: 'function', function: { arguments: '' } }),
      called({ index: 0, function: { arguments: '{"a":1}' } }),
      chunk({}, 'tool_calls'),
      DONE,
    ),
    'fails',
  ), // qwen-code#10689
  row(
    'V-06',
    'an error of its own form in place of choices',
    json({ code: 'rate_limit_daily', message: 'Error code: 429 - too many requests today' }),
    'fails',
  ), // xaibo#36
  row(
    'V-07',
    'reasoning under the short name beside a null content',
    stream(
      chunk({ role: 'assistant', content: null, reasoning: 'h' }),
      chunk({ content: null, reasoning: 'm' }),
      said('one two three', 'stop'),
      usage(),
      DONE,
    ),
    { ...PLAIN, reasoning: 'hm' },
    BOTH,
  ), // litellm#8193, ComparIA#330
  row('V-08', 'a malformed call and nothing else', stream(gemini([], 'MALFORMED_FUNCTION_CALL', COUNTED)), 'fails', [
    'gemini',
  ]), // hermes-agent#83869, gemini-cli#12674
  row(
    'V-09',
    'a call that is called malformed',
    stream(gemini([{ functionCall: { name: 'look', args: { a: 1 } } }], 'MALFORMED_FUNCTION_CALL', COUNTED)),
    'fails',
    ['gemini'],
  ), // hermes-agent#83886
  row(
    'V-10',
    'a call of a tool that is not there',
    stream(
      event({
        candidates: [
          {
            index: 0,
            content: { role: 'model', parts: [{ functionCall: { name: 'undeclared', args: {} } }] },
            finishReason: 'UNEXPECTED_TOOL_CALL',
            finishMessage: 'Unexpected tool call: Model tried to call an undeclared function: undeclared',
          },
        ],
      }),
    ),
    'fails',
    ['gemini'],
  ), // ai-dial-adapter-vertexai#325
  row(
    'V-11',
    'a candidate without parts',
    stream(
      gemini([{ text: 'one two three' }]),
      event({ candidates: [{ index: 0, content: { role: 'model' }, finishReason: 'STOP' }], ...COUNTED }),
    ),
    PLAIN,
    ['gemini'],
  ), // kibana#227096
  row(
    'V-12',
    'an answer that its limit ended, with usage in its last event',
    stream(
      named({
        type: 'response.output_text.delta',
        output_index: 0,
        item_id: 'msg_1',
        content_index: 0,
        delta: 'one two',
      }),
      named({
        type: 'response.incomplete',
        response: response([ITEM], { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }),
      }),
    ),
    { text: 'one two', finish: 'length', prompt: PROMPT, completion: 5 },
    ['responses'],
  ), // envoy ai-gateway#2184, langchain#33840
  row(
    'V-13',
    'a whole answer that its limit ended',
    json(response([ITEM], { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })),
    { text: 'one two', finish: 'length', prompt: PROMPT, completion: 5 },
    ['responses'],
  ), // openai-agents-python#4515, omlx#2817
  row(
    'V-14',
    'text, and then a failure',
    stream(
      named({ type: 'response.output_text.delta', output_index: 0, item_id: 'msg_1', content_index: 0, delta: 'one' }),
      named({
        type: 'response.failed',
        response: response([], { status: 'failed', error: { code: 'server_error', message: 'It broke' } }),
      }),
    ),
    'fails',
    ['responses'],
  ), // agent-wiki#568
];

/** What only a caller of the provider's own API sees, and sees as it came. */
const PASSED_ON = new Set(['A-07', 'A-12']);

export const UNUSUAL_STREAMS: readonly UnusualStream[] = ROWS.map((one) => ({
  ...one,
  passedOn: PASSED_ON.has(one.id),
}));
