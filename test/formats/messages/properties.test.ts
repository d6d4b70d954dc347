import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MessagesStreamWriter } from '../../../src/formats/messages/messages.ts';
import { blockOfDetail, detailOfBlock } from '../../../src/formats/messages/thinking-blocks.ts';
import { messagesToChat } from '../../../src/formats/messages/to-chat.ts';
import { messageObject } from '../../../src/formats/messages/message-object.ts';
import { ChunkEnvelope } from '../../../src/core/stream/envelope.ts';
import type { ChatResult, ResultMessage } from '../../../src/protocol/chat-result.ts';
import type { ChatChunk, Delta } from '../../../src/protocol/chunk.ts';
import { DEFAULT_REQUEST_LIMITS } from '../../../src/protocol/limits.ts';
import type { AssistantMessage } from '../../../src/protocol/message.ts';
import { parseChatRequest } from '../../../src/protocol/parse-chat-request.ts';
import type { ReasoningDetail } from '../../../src/protocol/reasoning.ts';
import { CONTEXT } from '../../support/dialect-context.ts';
import { eventsIn, messageIn } from '../../support/messages-stream.ts';
import { runs } from '../../support/properties.ts';

const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 });
const id = fc.string({ minLength: 1, maxLength: 20 });
const name = fc.stringMatching(/^[a-zA-Z0-9_-]{1,90}$/);
const input = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }).map((one) => {
  // As JSON gives it back: no keys that are lost on the way, no negative zero.
  return JSON.parse(JSON.stringify(one)) as Record<string, unknown>;
});
const format = fc.constantFrom('anthropic-claude-v1', 'openai-responses-v1', 'google-gemini-v1', 'unknown', null);

const detail: fc.Arbitrary<ReasoningDetail> = fc
  .tuple(
    fc.oneof(
      fc.record({ type: fc.constant('reasoning.text' as const), text, signature: fc.option(text, { nil: undefined }) }),
      fc.record({ type: fc.constant('reasoning.summary' as const), summary: text }),
      fc.record({ type: fc.constant('reasoning.encrypted' as const), data: text }),
      fc.record({
        type: fc.constant('reasoning.server_tool_call' as const),
        tool_name: text,
        arguments: text,
        result: text,
      }),
    ),
    format,
    fc.option(text, { nil: undefined }),
  )
  .map(([one, made, maker]) => {
    const defined = Object.fromEntries(Object.entries(one).filter(([, value]) => value !== undefined));
    return { ...defined, ...(maker === undefined ? {} : { id: maker }), format: made } as ReasoningDetail;
  });

const details = fc
  .array(detail, { minLength: 1, maxLength: 4 })
  .map((list): readonly ReasoningDetail[] => list.map((one, index) => ({ ...one, index })));

/** What a detail says when it comes back: unsigned text has lost who made it, and Anthropic's own has its format. */
function returned(one: ReasoningDetail): ReasoningDetail {
  if (one.id != null || one.type === 'reasoning.summary' || one.type === 'reasoning.server_tool_call') return one;
  if (one.type === 'reasoning.text' && one.signature == null) return { ...one, format: 'unknown' };
  return { ...one, format: one.format ?? 'anthropic-claude-v1' };
}

const calls = fc.uniqueArray(fc.record({ id, name, input }), { maxLength: 4, selector: (call) => call.id });

function resultOf(message: ResultMessage): ChatResult {
  const finish = message.tool_calls === undefined ? 'stop' : 'tool_calls';
  return {
    id: 'gen-1',
    object: 'chat.completion',
    created: 1,
    model: 'acme/one',
    provider: 'Acme',
    system_fingerprint: null,
    choices: [{ index: 0, finish_reason: finish, native_finish_reason: finish, logprobs: null, message }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
}

const message: fc.Arbitrary<ResultMessage> = fc
  .record({
    content: fc.option(text, { nil: null }),
    refusal: fc.option(text, { nil: null }),
    reasoning: fc.option(text, { nil: null }),
    details: fc.option(details, { nil: undefined }),
    calls,
    citation: fc.option(fc.webUrl(), { nil: undefined }),
    image: fc.option(fc.webUrl(), { nil: undefined }),
  })
  .map((parts) => ({
    role: 'assistant',
    content: parts.content,
    refusal: parts.refusal,
    reasoning: parts.reasoning,
    ...(parts.details === undefined ? {} : { reasoning_details: parts.details }),
    ...(parts.citation === undefined
      ? {}
      : { annotations: [{ type: 'url_citation' as const, url_citation: { url: parts.citation } }] }),
    ...(parts.image === undefined ? {} : { images: [{ type: 'image_url' as const, image_url: { url: parts.image } }] }),
    ...(parts.calls.length === 0
      ? {}
      : {
          tool_calls: parts.calls.map((call, index) => ({
            id: call.id,
            index,
            type: 'function' as const,
            function: { name: call.name, arguments: JSON.stringify(call.input) },
          })),
        }),
  }));

const OBJECT = { type: 'object' };
const ENVELOPE = new ChunkEnvelope({ id: 'gen-1', created: 1, model: 'acme/one', provider: 'Acme' });

function letters(whole: string | null | undefined): readonly string[] {
  return Array.from(whole ?? '');
}

/** A whole message as the deltas of a stream, cut into single letters. */
function cutUp(one: ResultMessage): readonly Delta[] {
  const hasText = one.reasoning_details?.some(
    (part) => part.type === 'reasoning.text' || part.type === 'reasoning.summary',
  );
  return [
    ...(hasText === true ? [] : letters(one.reasoning).map((reasoning) => ({ reasoning }))),
    ...(one.reasoning_details ?? []).flatMap(cutDetail).map((part) => ({ reasoning_details: [part] })),
    ...letters(one.content).map((content) => ({ content })),
    ...letters(one.refusal).map((refusal) => ({ refusal })),
    ...(one.annotations === undefined ? [] : [{ annotations: one.annotations }]),
    ...(one.images === undefined ? [] : [{ images: one.images }]),
    ...(one.tool_calls ?? []).flatMap(cutCall),
  ];
}

function cutDetail(part: ReasoningDetail): readonly ReasoningDetail[] {
  const { index, format: made, id: maker } = part;
  const facts = { index, format: made, ...(maker === undefined ? {} : { id: maker }) };
  if (part.type === 'reasoning.summary') {
    return letters(part.summary).map((summary) => ({ type: part.type, summary, ...facts }));
  }
  if (part.type !== 'reasoning.text') return [part];
  const fragments = letters(part.text).map((letter) => ({ type: part.type, text: letter, ...facts }));
  return part.signature == null ? fragments : [...fragments, { type: part.type, signature: part.signature, index }];
}

function cutCall(call: NonNullable<ResultMessage['tool_calls']>[number]): readonly Delta[] {
  const { index, function: called } = call;
  return [
    { tool_calls: [{ ...call, function: { name: called.name, arguments: '' } }] },
    ...letters(called.arguments).map((letter) => ({ tool_calls: [{ index, function: { arguments: letter } }] })),
  ];
}

function streamed(list: readonly Delta[], result: ChatResult): Record<string, unknown> {
  const finish = result.choices[0]?.finish_reason ?? 'stop';
  const chunks: readonly ChatChunk[] = [
    ENVELOPE.delta(0, { role: 'assistant', content: '' }),
    ...list.map((delta) => ENVELOPE.delta(0, delta)),
    ENVELOPE.finish(0, finish, finish),
    ENVELOPE.usage({ prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }, null, undefined),
  ];
  const writer = new MessagesStreamWriter(CONTEXT);
  return messageIn(eventsIn(chunks.map((chunk) => writer.write(chunk)).join('') + writer.end()));
}

describe('reasoning', () => {
  it('that goes out as blocks and comes back is the same, byte for byte', () => {
    fc.assert(
      fc.property(details, (list) => {
        expect(list.map((one, index) => detailOfBlock(blockOfDetail(one), index))).toEqual(list.map(returned));
      }),
      runs(1_000),
    );
  });

  it('of anybody who writes signatures by hand breaks nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (forged) => {
        const block = { type: 'redacted_thinking' as const, data: `router.v1:${forged}` };
        expect(detailOfBlock(block, 0)).toHaveProperty('type');
      }),
      runs(300),
    );
  });
});

describe('a turn of the assistant', () => {
  it('that goes through the chat form and back keeps thinking, text, calls and ids, and their order', () => {
    const thinking = fc.oneof(
      fc.record({ type: fc.constant('thinking'), thinking: text, signature: fc.oneof(text, fc.constant('')) }),
      fc.record({ type: fc.constant('redacted_thinking'), data: text }),
    );
    const use = fc.record({ type: fc.constant('tool_use'), id, name, input });
    const turn = fc.tuple(
      fc.array(thinking, { maxLength: 2 }),
      fc.option(text, { nil: undefined }),
      fc.uniqueArray(fc.oneof(thinking, use), {
        maxLength: 5,
        selector: (block) => ('id' in block ? block.id : block),
      }),
    );
    fc.assert(
      fc.property(turn, ([thoughts, said, more]) => {
        const content = [...thoughts, ...(said === undefined ? [] : [{ type: 'text', text: said }]), ...more];
        const tools = more.flatMap((block) => ('name' in block ? [{ name: block.name, input_schema: OBJECT }] : []));
        const body = { max_tokens: 1, tools, messages: [{ role: 'assistant', content }] };
        const translated = messagesToChat(body, DEFAULT_REQUEST_LIMITS);
        const chat = translated.ok ? translated.value.chat : {};
        const [sent] = chat['messages'] as unknown as readonly AssistantMessage[];
        const result = resultOf({ refusal: null, reasoning: null, content: null, ...sent } as ResultMessage);
        expect(messageObject({ result }, { ...CONTEXT, body: { tools } })['content']).toEqual(content);
      }),
      runs(300),
    );
  });
});

describe('a stream', () => {
  it('puts together the same message as the whole answer', () => {
    fc.assert(
      fc.property(message, (one) => {
        const result = resultOf(one);
        expect(streamed(cutUp(one), result)).toEqual(messageObject({ result }, CONTEXT));
      }),
      runs(300),
    );
  });

  it('is whole and in order however text and calls interleave', () => {
    const said = fc.array(text, { maxLength: 4 });
    fc.assert(
      fc.property(calls, said, fc.infiniteStream(fc.nat(5)), (list, texts, whose) => {
        const queues: Delta[][] = [
          texts.map((content) => ({ content })),
          ...list.map((call, index) => [
            ...cutCall({
              id: call.id,
              index,
              type: 'function',
              function: { name: call.name, arguments: JSON.stringify(call.input) },
            }),
          ]),
        ];
        const woven: Delta[] = [];
        while (queues.some((queue) => queue.length > 0)) {
          const delta = queues[whose.next().value % queues.length]?.shift();
          if (delta !== undefined) woven.push(delta);
        }
        const { content } = streamed(
          woven,
          resultOf({ role: 'assistant', content: null, refusal: null, reasoning: null }),
        );
        const blocks = content as readonly Record<string, unknown>[];
        const uses = blocks.filter((block) => block['type'] === 'tool_use');
        expect(new Map(uses.map((use) => [use['id'], use['input']]))).toEqual(
          new Map(list.map((call) => [call.id, call.input])),
        );
        expect(uses).toHaveLength(list.length);
        expect(blocks.map((block) => (block['text'] ?? '') as string).join('')).toBe(texts.join(''));
      }),
      runs(300),
    );
  });
});

describe('a messages body that is accepted', () => {
  const source = fc.oneof(
    fc.record({ type: fc.constant('url'), url: fc.webUrl() }),
    fc.record({ type: fc.constant('file'), file_id: id }),
  );
  const mark = fc.constantFrom(undefined, null, { type: 'ephemeral' }, { type: 'ephemeral', ttl: '1h' });
  const shown = fc.oneof(
    fc.record({ type: fc.constant('text'), text: fc.string(), cache_control: mark }),
    fc.record({ type: fc.constant('image'), source, cache_control: mark }),
    fc.record({ type: fc.constant('document'), source, title: fc.option(fc.string({ maxLength: 700 })) }),
    fc.record({
      type: fc.constant('document'),
      source: fc.record({ type: fc.constant('content'), content: fc.string() }),
    }),
    fc.record({ type: fc.stringMatching(/^x_[a-z]{1,8}$/) }),
  );
  const asked = fc.oneof(fc.string(), fc.array(shown, { minLength: 1, maxLength: 3 }));
  const exchange = fc
    .record({ asked, call: fc.record({ id, name, input }), result: fc.option(asked), failed: fc.boolean() })
    .map((one) => [
      { role: 'user', content: one.asked },
      { role: 'assistant', content: [{ type: 'tool_use', ...one.call }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: one.call.id, content: one.result, is_error: one.failed }],
      },
    ]);
  const body = fc.record(
    {
      messages: fc.array(exchange, { minLength: 1, maxLength: 2 }).map((list) => list.flat()),
      max_tokens: fc.nat(),
      system: fc.oneof(
        fc.string(),
        fc.array(fc.record({ type: fc.constant('text'), text: fc.string() }), { maxLength: 2 }),
      ),
      tools: fc.array(
        fc.oneof(
          fc.record({ name, input_schema: fc.constant({ type: 'object' }), cache_control: mark }),
          fc.constant({ type: 'web_search_20250305', name: 'web_search' }),
          fc.constant({ type: 'bash_20250124', name: 'bash' }),
        ),
        { maxLength: 3 },
      ),
      stop_sequences: fc.array(text, { maxLength: 6 }),
      thinking: fc.constantFrom(
        null,
        { type: 'adaptive' },
        { type: 'disabled' },
        { type: 'enabled', budget_tokens: 2_000 },
      ),
      output_config: fc.constantFrom(null, { effort: 'max' }, { format: { type: 'json_schema', schema: {} } }),
      metadata: fc.option(fc.record({ user_id: fc.option(fc.stringMatching(/^[a-z]{0,9}$/)) })),
      service_tier: fc.constantFrom('auto', 'standard_only'),
      speed: fc.constantFrom('standard', 'fast'),
      fallbacks: fc.constantFrom('default', [], [{ model: 'b/two' }]),
      temperature: fc.double({ min: 0, max: 1, noNaN: true }),
      tool_choice: fc.constantFrom({ type: 'auto', disable_parallel_tool_use: true }, { type: 'none' }),
    },
    { requiredKeys: ['messages', 'max_tokens'] },
  );

  it('is a chat body that is accepted', () => {
    fc.assert(
      fc.property(body, (one) => {
        const translated = messagesToChat(JSON.parse(JSON.stringify(one)), DEFAULT_REQUEST_LIMITS);
        expect(translated).toMatchObject({ ok: true });
        if (translated.ok) expect(parseChatRequest(translated.value.chat)).toMatchObject({ ok: true });
      }),
      runs(300),
    );
  });

  it('or is refused, whatever stands in it, and never breaks anything', () => {
    const replaced = fc.tuple(body, fc.infiniteStream(fc.nat()), fc.jsonValue({ maxDepth: 2 }));
    fc.assert(
      fc.property(replaced, ([one, steps, value]) => {
        const hostile = replaceSomewhere(JSON.parse(JSON.stringify(one)), steps, value);
        const translated = messagesToChat(hostile, DEFAULT_REQUEST_LIMITS);
        if (!translated.ok) return translated.fault.status === 400;
        const parsed = parseChatRequest(translated.value.chat);
        // Pairs of the metadata are the chat request's own, under the same name.
        return parsed.ok || parsed.fault.path.startsWith('metadata');
      }),
      runs(600),
    );
  });
});

/** Puts another value in the place of something deep inside. */
function replaceSomewhere(value: unknown, steps: Iterator<number>, by: unknown): unknown {
  const step = Number(steps.next().value);
  if (typeof value !== 'object' || value === null || step % 6 === 0) return by;
  const keys = Object.keys(value);
  const key = keys[step % Math.max(1, keys.length)];
  if (key === undefined) return by;
  const inner = replaceSomewhere((value as Record<string, unknown>)[key], steps, by);
  return Array.isArray(value)
    ? value.map((item: unknown, index) => (String(index) === key ? inner : item))
    : { ...value, [key]: inner };
}
