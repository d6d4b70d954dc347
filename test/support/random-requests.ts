import * as fc from 'fast-check';
import { randomSchema } from './random-schemas.ts';

/** Requests of all formats that callers may send, drawn at random: valid ones, and ones that only clients in the field send. */

/** A request in one of the formats, and its path. */
export interface RandomRequest {
  readonly format: 'chat' | 'messages' | 'responses';
  readonly path: string;
  /** The body without its model. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** What a turn holds, in the words of no format. */
type Part =
  | { readonly kind: 'text'; readonly text: string; readonly marked: boolean }
  | { readonly kind: 'image'; readonly type: string }
  | { readonly kind: 'audio'; readonly type: 'wav' | 'mp3' }
  | { readonly kind: 'file'; readonly name: string | undefined };

interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

type Turn =
  | { readonly role: 'system'; readonly parts: readonly Part[]; readonly developer: boolean }
  | { readonly role: 'user'; readonly parts: readonly Part[]; readonly name: string | undefined }
  | {
      readonly role: 'assistant';
      readonly text: string | null;
      readonly calls: readonly Call[];
      readonly thought: string | undefined;
      readonly cut: boolean;
    }
  | { readonly role: 'result'; readonly id: string; readonly parts: readonly Part[]; readonly failed: boolean };

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const PDF = 'JVBERi0xLjQKJSVFT0YK';
const SOUND = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

const NAMES = ['look', 'get_weather', 'mcp__server-one__a-tool', 'n'.repeat(64)];
const IDS = ['call_1', 'toolu_01ABC', 'abcdefghi', 'functions.look:0', 'a b', `call_${'x'.repeat(60)}`];
const TEXTS = ['Hello', 'Give me json.', 'Fine. ', ' ', '', '😀', 'First line\nsecond line'];

const text: fc.Arbitrary<string> = fc.constantFrom(...TEXTS);
const textPart: fc.Arbitrary<Part> = fc.record({
  kind: fc.constant('text' as const),
  text,
  marked: fc.boolean(),
});
const mediaPart: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ kind: fc.constant('image' as const), type: fc.constantFrom('image/png', 'image/webp') }),
  fc.record({ kind: fc.constant('audio' as const), type: fc.constantFrom('wav' as const, 'mp3' as const) }),
  fc.record({ kind: fc.constant('file' as const), name: fc.constantFrom('a.pdf', undefined) }),
);

function partsOf(media: number): fc.Arbitrary<readonly Part[]> {
  const part =
    media === 0 ? textPart : fc.oneof({ weight: 6, arbitrary: textPart }, { weight: media, arbitrary: mediaPart });
  return fc.array(part, { minLength: 1, maxLength: 3 });
}

const call: fc.Arbitrary<Call> = fc.record({
  id: fc.constantFrom(...IDS),
  name: fc.constantFrom(...NAMES),
  input: fc.constantFrom('{}', '{"a":1}', '{"at":"here","n":[1,2]}', ''),
});

const user: fc.Arbitrary<Turn> = fc.record({
  role: fc.constant('user' as const),
  parts: partsOf(2),
  name: fc.option(fc.constantFrom('ada', 'bob-1'), { freq: 5, nil: undefined }),
});
const system: fc.Arbitrary<Turn> = fc.record({
  role: fc.constant('system' as const),
  parts: partsOf(0),
  developer: fc.boolean(),
});
const said: fc.Arbitrary<Turn> = fc.record({
  role: fc.constant('assistant' as const),
  text: fc.oneof(text, fc.constant('I looked.')),
  calls: fc.constant([]),
  thought: fc.option(fc.constant('Let me think.'), { freq: 3, nil: undefined }),
  cut: fc.boolean(),
});
const result: fc.Arbitrary<Turn> = fc.record({
  role: fc.constant('result' as const),
  id: fc.constantFrom(...IDS),
  parts: partsOf(1),
  failed: fc.boolean(),
});

/** Calls and what became of them: answered in any order, twice, not at all, or behind something else. */
const exchange: fc.Arbitrary<readonly Turn[]> = fc
  .record({
    calls: fc.uniqueArray(call, { minLength: 1, maxLength: 3, selector: ({ id }) => id }),
    text: fc.constantFrom(null, 'I look.', ''),
    thought: fc.option(fc.constant('Let me look.'), { freq: 3, nil: undefined }),
    how: fc.constantFrom('in order', 'in order', 'in order', 'reversed', 'twice', 'first only', 'none', 'after a user'),
    parts: fc.array(partsOf(1), { minLength: 3, maxLength: 3 }),
  })
  .map(({ calls, text: words, thought, how, parts }): readonly Turn[] => {
    const asked: Turn = { role: 'assistant', text: words, calls, thought, cut: false };
    const results = calls.map(({ id }, index): Turn => ({
      role: 'result',
      id,
      parts: parts[index] ?? [],
      failed: index === 2,
    }));
    const between: Turn = { role: 'user', parts: [{ kind: 'text', text: 'Wait.', marked: false }], name: undefined };
    const behind = {
      'in order': results,
      reversed: results.toReversed(),
      twice: [...results, ...results],
      'first only': results.slice(0, 1),
      none: [],
      'after a user': [between, ...results],
    }[how];
    return [asked, ...behind];
  });

const conversation: fc.Arbitrary<readonly Turn[]> = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: user.map((turn) => [turn]) },
      { weight: 3, arbitrary: said.map((turn) => [turn]) },
      { weight: 5, arbitrary: exchange },
      { weight: 2, arbitrary: system.map((turn) => [turn]) },
      { weight: 1, arbitrary: result.map((turn) => [turn]) },
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((turns) => turns.flat());

interface Tool {
  readonly name: string;
  readonly schema: object | undefined;
  readonly strict: boolean | undefined;
  readonly marked: boolean;
}

const tools: fc.Arbitrary<readonly Tool[]> = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom(...NAMES),
    schema: fc.option(randomSchema, { freq: 8, nil: undefined }),
    strict: fc.constantFrom(undefined, undefined, true, false),
    marked: fc.boolean(),
  }),
  { minLength: 1, maxLength: 3, selector: ({ name }) => name },
);

type Format =
  | { readonly type: 'text' | 'json_object' }
  | { readonly type: 'json_schema'; readonly schema: object; readonly strict: boolean | undefined };

const format: fc.Arbitrary<Format> = fc.oneof(
  fc.constant({ type: 'text' as const }),
  fc.constant({ type: 'json_object' as const }),
  fc.record({
    type: fc.constant('json_schema' as const),
    schema: randomSchema,
    strict: fc.constantFrom(undefined, true, false),
  }),
);

/** What a request asks for, in the words of no format. */
interface Asked {
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[] | undefined;
  readonly choice: 'auto' | 'none' | 'required' | 'named' | undefined;
  readonly format: Format | undefined;
  readonly effort: string | undefined;
  readonly stream: boolean;
  readonly more: Readonly<Record<string, unknown>>;
}

function seldom<Value>(arbitrary: fc.Arbitrary<Value>, freq = 4): fc.Arbitrary<Value | undefined> {
  return fc
    .option(arbitrary, { freq: 1, nil: undefined })
    .chain((value) =>
      value === undefined ? fc.constant(undefined) : fc.nat(freq).map((one) => (one < 2 ? value : undefined)),
    );
}

const asked: fc.Arbitrary<Asked> = fc.record({
  turns: conversation,
  tools: fc.option(tools, { freq: 3, nil: undefined }),
  choice: seldom(fc.constantFrom('auto', 'none', 'required', 'named')),
  format: seldom(format),
  effort: seldom(fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')),
  stream: fc.boolean(),
  more: fc.constant({}),
});

const chatMore: fc.Arbitrary<Readonly<Record<string, unknown>>> = fc.record(
  {
    temperature: fc.constantFrom(0, 0.7, 1, 1.8),
    top_p: fc.constantFrom(0.5, 1),
    top_k: fc.constant(40),
    min_p: fc.constant(0.1),
    frequency_penalty: fc.constantFrom(-1, 0.5),
    presence_penalty: fc.constant(0.5),
    repetition_penalty: fc.constant(1.1),
    logit_bias: fc.constant({ '50256': -10 }),
    logprobs: fc.constant(true),
    max_tokens: fc.constantFrom(1, 16, 100, 4_000, 200_000),
    max_completion_tokens: fc.constantFrom(1, 1_000, 32_000),
    seed: fc.constant(7),
    stop: fc.constantFrom('END', ['a', 'b', 'c', 'd'], ['\n']),
    user: fc.constant('ada'),
    metadata: fc.constant({ team: 'search' }),
    parallel_tool_calls: fc.boolean(),
    verbosity: fc.constantFrom('low', 'high'),
    service_tier: fc.constantFrom('auto', 'default', 'flex', 'priority'),
    prediction: fc.constant({ type: 'content', content: 'Fine.' }),
    prompt_cache_key: fc.constant('key-1'),
    cache_control: fc.constant({ type: 'ephemeral' }),
    session_id: fc.constant('session-1'),
  },
  { requiredKeys: [] },
);

/** Of many parameters a request has a few. */
function few(all: fc.Arbitrary<Readonly<Record<string, unknown>>>): fc.Arbitrary<Readonly<Record<string, unknown>>> {
  return all.chain((fields) =>
    fc
      .subarray(Object.keys(fields), { maxLength: Math.min(3, Object.keys(fields).length) })
      .map((names) => picked(fields, names)),
  );
}

function picked(
  fields: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(names.map((name) => [name, fields[name]]));
}

const MARK = { cache_control: { type: 'ephemeral' } };

function chatPart(part: Part): object {
  switch (part.kind) {
    case 'text':
      return { type: 'text', text: part.text, ...(part.marked ? MARK : {}) };
    case 'image':
      return { type: 'image_url', image_url: { url: `data:${part.type};base64,${PIXEL}` } };
    case 'audio':
      return { type: 'input_audio', input_audio: { data: SOUND, format: part.type } };
    case 'file':
      return {
        type: 'file',
        file: { file_data: `data:application/pdf;base64,${PDF}`, ...named('filename', part.name) },
      };
  }
}

function named(member: string, value: unknown): object {
  return value === undefined ? {} : { [member]: value };
}

/** A text where there is one part without a mark, a list otherwise. */
function chatContent(parts: readonly Part[]): unknown {
  const [first, ...others] = parts;
  return first?.kind === 'text' && !first.marked && others.length === 0 ? first.text : parts.map(chatPart);
}

function chatMessage(turn: Turn): object {
  switch (turn.role) {
    case 'system':
      return { role: turn.developer ? 'developer' : 'system', content: chatContent(turn.parts) };
    case 'user':
      return { role: 'user', content: chatContent(turn.parts), ...named('name', turn.name) };
    case 'assistant': {
      const calls = turn.calls.map(({ id, name, input }) => ({
        id,
        type: 'function',
        function: { name, arguments: input },
      }));
      return {
        role: 'assistant',
        content: turn.cut && turn.text !== null ? [{ type: 'text', text: turn.text }] : turn.text,
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
        ...named('reasoning', turn.thought),
      };
    }
    case 'result':
      return { role: 'tool', tool_call_id: turn.id, content: chatContent(turn.parts) };
  }
}

const chatRequest: fc.Arbitrary<RandomRequest> = fc.tuple(asked, few(chatMore)).map(([request, more]) => {
  const { turns, tools: offered, choice, format: wanted, effort, stream } = request;
  const body = {
    messages: turns.map(chatMessage),
    ...named('stream', stream || undefined),
    ...named('reasoning_effort', effort),
    ...named(
      'tools',
      offered?.map(({ name, schema, strict, marked }) => ({
        type: 'function',
        function: { name, description: 'A tool.', ...named('parameters', schema), ...named('strict', strict) },
        ...(marked ? MARK : {}),
      })),
    ),
    ...named(
      'tool_choice',
      choice === 'named' ? offered && { type: 'function', function: { name: offered[0]?.name } } : offered && choice,
    ),
    ...named(
      'response_format',
      wanted?.type === 'json_schema'
        ? {
            type: 'json_schema',
            json_schema: { name: 'answer', schema: wanted.schema, ...named('strict', wanted.strict) },
          }
        : wanted,
    ),
    ...more,
  };
  return { format: 'chat', path: '/chat/completions', body };
});

function messagesBlock(part: Part): object {
  switch (part.kind) {
    case 'text':
      return { type: 'text', text: part.text, ...(part.marked ? MARK : {}) };
    case 'image':
      return { type: 'image', source: { type: 'base64', media_type: part.type, data: PIXEL } };
    case 'audio':
      return { type: 'text', text: 'A sound.' };
    case 'file':
      return {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: PDF },
        ...named('title', part.name),
      };
  }
}

function messagesTurn(turn: Turn): { readonly role: string; readonly content: readonly object[] | string } {
  switch (turn.role) {
    case 'system':
      return { role: 'user', content: turn.parts.map(messagesBlock) };
    case 'user':
      return { role: 'user', content: turn.parts.map(messagesBlock) };
    case 'assistant':
      return {
        role: 'assistant',
        content: [
          ...(turn.thought === undefined ? [] : [{ type: 'thinking', thinking: turn.thought, signature: 'c2lnbmVk' }]),
          ...(turn.text === null ? [] : [{ type: 'text', text: turn.text }]),
          ...turn.calls.map(({ id, name, input }) => ({
            type: 'tool_use',
            id: id.replaceAll(/[^a-zA-Z0-9_-]/g, '_'),
            name,
            input: JSON.parse(input === '' ? '{}' : input) as unknown,
          })),
        ],
      };
    case 'result':
      return {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: turn.id.replaceAll(/[^a-zA-Z0-9_-]/g, '_'),
            content: turn.parts.map(messagesBlock),
            ...(turn.failed ? { is_error: true } : {}),
          },
        ],
      };
  }
}

const thinking = fc.constantFrom(
  undefined,
  undefined,
  { type: 'adaptive' },
  { type: 'disabled' },
  { type: 'enabled', budget_tokens: 1_024 },
  { type: 'enabled', budget_tokens: 31_999 },
);
const messagesMore = fc.record(
  {
    temperature: fc.constantFrom(0, 0.7, 1),
    top_p: fc.constantFrom(0.5, 1),
    top_k: fc.constant(40),
    stop_sequences: fc.constantFrom(['END'], ['\n']),
    metadata: fc.constant({ user_id: 'ada' }),
    service_tier: fc.constantFrom('auto', 'standard_only'),
  },
  { requiredKeys: [] },
);

const messagesRequest: fc.Arbitrary<RandomRequest> = fc
  .tuple(asked, thinking, few(messagesMore))
  .map(([request, thought, more]) => {
    const { turns, tools: offered, choice, format: wanted, effort, stream } = request;
    const first = turns[0]?.role === 'system' ? turns[0] : undefined;
    const rest = first === undefined ? turns : turns.slice(1);
    const efforts = { effort: effort === 'none' || effort === 'minimal' ? undefined : effort };
    const config = {
      ...named('effort', efforts.effort),
      ...named('format', wanted?.type === 'json_schema' ? { type: 'json_schema', schema: wanted.schema } : undefined),
    };
    const type = choice === 'required' ? 'any' : choice === 'named' ? 'tool' : choice;
    const body = {
      max_tokens: 32_000,
      messages: rest.map(messagesTurn),
      ...named('system', first?.parts.map(messagesBlock)),
      ...named('stream', stream || undefined),
      ...named(
        'tools',
        offered?.map(({ name, schema, strict, marked }) => ({
          name,
          description: 'A tool.',
          input_schema: { type: 'object', ...schema },
          ...(strict === true ? { strict } : {}),
          ...(marked ? MARK : {}),
        })),
      ),
      ...named('tool_choice', offered && type && { type, ...(type === 'tool' ? { name: offered[0]?.name } : {}) }),
      ...named('thinking', thought),
      ...(Object.keys(config).length === 0 ? {} : { output_config: config }),
      ...more,
    };
    return { format: 'messages', path: '/messages', body };
  });

function responsesPart(part: Part): object {
  switch (part.kind) {
    case 'text':
      return { type: 'input_text', text: part.text };
    case 'image':
      return { type: 'input_image', image_url: `data:${part.type};base64,${PIXEL}` };
    case 'audio':
      return { type: 'input_text', text: 'A sound.' };
    case 'file':
      return { type: 'input_file', file_data: `data:application/pdf;base64,${PDF}`, ...named('filename', part.name) };
  }
}

function responsesItems(turn: Turn): readonly object[] {
  switch (turn.role) {
    case 'system':
      return [{ role: turn.developer ? 'developer' : 'system', content: turn.parts.map(responsesPart) }];
    case 'user':
      return [{ role: 'user', content: turn.parts.map(responsesPart) }];
    case 'assistant':
      return [
        ...(turn.text === null ? [] : [{ role: 'assistant', content: [{ type: 'output_text', text: turn.text }] }]),
        ...turn.calls.map(({ id, name, input }) => ({ type: 'function_call', call_id: id, name, arguments: input })),
      ];
    case 'result': {
      const [first, ...others] = turn.parts;
      const output = first?.kind === 'text' && others.length === 0 ? first.text : turn.parts.map(responsesPart);
      return [{ type: 'function_call_output', call_id: turn.id, output }];
    }
  }
}

const responsesMore = fc.record(
  {
    instructions: fc.constantFrom('Be brief.', ''),
    temperature: fc.constantFrom(0, 0.7, 1),
    top_p: fc.constantFrom(0.5, 1),
    max_output_tokens: fc.constantFrom(16, 4_000),
    parallel_tool_calls: fc.boolean(),
    user: fc.constant('ada'),
    metadata: fc.constant({ team: 'search' }),
    service_tier: fc.constantFrom('auto', 'flex'),
    store: fc.constant(false),
  },
  { requiredKeys: [] },
);

const responsesRequest: fc.Arbitrary<RandomRequest> = fc.tuple(asked, few(responsesMore)).map(([request, more]) => {
  const { turns, tools: offered, choice, format: wanted, effort, stream } = request;
  const body = {
    input: turns.flatMap(responsesItems),
    ...named('stream', stream || undefined),
    ...named('reasoning', effort && { effort }),
    ...named(
      'tools',
      offered?.map(({ name, schema, strict }) => ({
        type: 'function',
        name,
        description: 'A tool.',
        parameters: schema ?? null,
        strict: strict ?? null,
      })),
    ),
    ...named(
      'tool_choice',
      choice === 'named' ? offered && { type: 'function', name: offered[0]?.name } : offered && choice,
    ),
    ...named(
      'text',
      wanted && {
        format:
          wanted.type === 'json_schema'
            ? { type: 'json_schema', name: 'answer', schema: wanted.schema, ...named('strict', wanted.strict) }
            : wanted,
      },
    ),
    ...more,
  };
  return { format: 'responses', path: '/responses', body };
});

/** Requests of each format. */
export const RANDOM_REQUESTS: Readonly<Record<RandomRequest['format'], fc.Arbitrary<RandomRequest>>> = {
  chat: chatRequest,
  messages: messagesRequest,
  responses: responsesRequest,
};
