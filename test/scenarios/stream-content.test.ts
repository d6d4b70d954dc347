import { type ChatChunk, type ToolCallDelta, openaiCompatible } from 'signalbox';
import { sqliteLedger } from 'signalbox/sqlite';
import type { Fault } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { ALONE, BACKED, ask, startFaultCell } from '../support/fault-cell.ts';
import { checkBrokenStream, checkError, checkFallback } from '../support/fault-checks.ts';
import { DONE, delta, event, finish, fold, raw, read, text, toolCall } from '../support/raw-stream.ts';
import { type ReadStream, readStream } from '../support/sse-client.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

function toolCallsOf({ chunks }: ReadStream): readonly ToolCallDelta[] {
  return chunks.flatMap(({ choices }) => choices.flatMap(({ delta: said }) => said.tool_calls ?? []));
}

/** Tool calls as a client puts them together. */
function assembled(stream: ReadStream): readonly { id: string; name: string; text: string }[] {
  const calls: { id: string; name: string; text: string }[] = [];
  for (const { index, id, function: { name, arguments: piece } = {} } of toolCallsOf(stream)) {
    const call = (calls[index] ??= { id: '', name: '', text: '' });
    call.id += id ?? '';
    call.name += name ?? '';
    call.text += piece ?? '';
  }
  return calls;
}

function usagesOf({ chunks }: ReadStream): readonly ChatChunk[] {
  return chunks.filter(({ usage }) => usage !== undefined);
}

describe('chunks that say nothing', () => {
  it('with empty choices may carry the usage, which is told once, last (STR-01)', async () => {
    const usage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };
    const stream = await read(raw(text('Hi'), finish(), event({ choices: [], usage }), DONE));
    expect(usagesOf(stream)).toEqual([stream.chunks.at(-1)]);
    expect(stream.chunks.at(-1)).toMatchObject({ choices: [], usage });
  });

  it.each([
    ['null', { choices: null }],
    ['missing', {}],
    ['no list', { choices: 'none' }],
    ['a list of nothing', { choices: [null, 5] }],
  ])('are skipped when choices are %s (STR-02)', async (_name, chunk) => {
    const stream = await read(raw(event(chunk), text('Hi'), event(chunk), finish(), DONE));
    expect(stream).toMatchObject({ content: 'Hi', finishReasons: ['stop'] });
  });
});

describe('tool calls', () => {
  it('are not finished before the provider says so, however their arguments come (STR-03)', async () => {
    const pieces = ['{"a":1}', '23}', ...'{"city":"Zürich 🚋"}'.split('')];
    const fault = raw(
      toolCall({ index: 0, id: 'call_1', type: 'function', function: { name: 'ride', arguments: '' } }),
      ...pieces.map((piece) => toolCall({ index: 0, function: { arguments: piece } })),
      finish('tool_calls'),
      DONE,
    );
    const stream = await read(fault);
    expect(assembled(stream)).toEqual([{ id: 'call_1', name: 'ride', text: pieces.join('') }]);
    expect(stream.finishReasons).toEqual(['tool_calls']);
    const result = await fold(fault);
    expect(result.choices[0]?.message.tool_calls?.[0]?.function.arguments).toBe(pieces.join(''));
  });

  it.each<[string, readonly object[], readonly { id: string; name: string; text: string }[]]>([
    [
      'come interleaved',
      [
        { index: 0, id: 'a', function: { name: 'one', arguments: '{"x"' } },
        { index: 1, id: 'b', function: { name: 'two', arguments: '{"y"' } },
        { index: 0, function: { arguments: ':1}' } },
        { index: 1, function: { arguments: ':2}' } },
      ],
      [
        { id: 'a', name: 'one', text: '{"x":1}' },
        { id: 'b', name: 'two', text: '{"y":2}' },
      ],
    ],
    [
      'have no index',
      [
        { id: 'a', function: { name: 'one', arguments: '{"x"' } },
        { function: { arguments: ':1}' } },
        { id: 'b', function: { name: 'two', arguments: '{}' } },
      ],
      [
        { id: 'a', name: 'one', text: '{"x":1}' },
        { id: 'b', name: 'two', text: '{}' },
      ],
    ],
    [
      'all have index 0',
      [
        { index: 0, id: 'a', function: { name: 'one', arguments: '{}' } },
        { index: 0, id: 'b', function: { name: 'one', arguments: '{}' } },
      ],
      [
        { id: 'a', name: 'one', text: '{}' },
        { id: 'b', name: 'one', text: '{}' },
      ],
    ],
    ...([-1, 1.5, '0', null, {}] as const).map(
      (index): [string, readonly object[], readonly { id: string; name: string; text: string }[]] => [
        `have the index ${JSON.stringify(index)}`,
        [
          { index, id: 'a', function: { name: 'one', arguments: '{"x"' } },
          { index, function: { arguments: ':1}' } },
        ],
        [{ id: 'a', name: 'one', text: '{"x":1}' }],
      ],
    ),
    [
      'have the id __proto__',
      [{ index: 0, id: '__proto__', function: { name: 'constructor', arguments: '{"__proto__":{"x":1}}' } }],
      [{ id: '__proto__', name: 'constructor', text: '{"__proto__":{"x":1}}' }],
    ],
  ])('are put in order when they %s (STR-04)', async (_name, fragments, expected) => {
    const stream = await read(raw(...fragments.map(toolCall), finish('tool_calls'), DONE));
    expect(assembled(stream)).toEqual(expected);
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });

  it('with an invalid index are a fault of the provider, before and after content (STR-04)', async () => {
    const call = toolCall({ index: 1_000_000_000, id: 'a', function: { name: 'one', arguments: '{}' } });
    await checkFault([call, finish('tool_calls'), DONE], 502);
  });
});

describe('text', () => {
  it('has its role told once, although it comes with every chunk (STR-05)', async () => {
    const words = ['One ', 'two'].map((content) => delta({ role: 'assistant', content }));
    const { chunks, content } = await read(raw(...words, finish(), DONE));
    expect(content).toBe('One two');
    expect(chunks.flatMap(({ choices }) => choices).filter(({ delta: said }) => said.role !== undefined)).toHaveLength(
      1,
    );
  });

  it('ends once, also when its end is told twice and more follows (STR-06)', async () => {
    const { content, finishReasons, chunks } = await read(
      raw(text('One '), finish(), text('two'), finish('length'), DONE),
    );
    expect(content).toBe('One two');
    expect(finishReasons).toEqual(['length']);
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('length');
  });

  it.each([
    ['null', null, ''],
    ['a number', 5, ''],
    ['an object', { text: 'x' }, ''],
    ['a list of parts', [{ type: 'text', text: 'in parts ' }], 'in parts '],
    ['a list of nothing', [null, 5, {}], ''],
  ])('that is %s does no harm (STR-08)', async (_name, content, shown) => {
    expect((await read(raw(text(content), text('Hi'), finish(), DONE))).content).toBe(`${shown}Hi`);
  });

  it('keeps one id, model and time, whatever the provider says (STR-09)', async () => {
    const events = [1, 2, 3].map((number) =>
      event({ id: `id-${number}`, model: `model-${number}`, created: number, choices: [{ delta: { content: 'x' } }] }),
    );
    const { chunks } = await read(raw(...events, finish(), DONE));
    expect(
      new Set(chunks.map(({ id, model, created, provider }) => JSON.stringify([id, model, created, provider]))).size,
    ).toBe(1);
    expect(chunks[0]).toMatchObject({ model: ALONE, id: expect.stringMatching(/^gen-/) as string });
  });

  it('keeps the order of reasoning and content (STR-16)', async () => {
    const said = [{ reasoning: 'First. ' }, { content: 'One ' }, { reasoning_content: 'Second. ' }, { content: 'two' }];
    const { chunks } = await read(raw(...said.map((one) => delta(one)), finish(), DONE));
    const order = chunks.flatMap(({ choices }) =>
      choices.flatMap(({ delta: { reasoning, content } }) => [reasoning, content].filter(Boolean)),
    );
    expect(order).toEqual(['First. ', 'One ', 'Second. ', 'two']);
  });

  it('of several choices stays apart (STR-17)', async () => {
    const say = (index: number, content: string): string => event({ choices: [{ index, delta: { content } }] });
    const end = (index: number): string => event({ choices: [{ index, delta: {}, finish_reason: 'stop' }] });
    const fault = raw(say(0, 'A'), say(1, 'x'), say(0, 'B'), say(2, '!'), say(1, 'y'), end(1), end(0), end(2), DONE);
    const { chunks, finishReasons } = await read(fault);
    const texts = ['', '', ''];
    for (const { index, delta: said } of chunks.flatMap(({ choices }) => choices)) texts[index] += said.content ?? '';
    expect(texts).toEqual(['AB', 'xy', '!']);
    expect(finishReasons).toEqual(['stop', 'stop', 'stop']);
    expect((await fold(fault)).choices.map(({ message }) => message.content)).toEqual(['AB', 'xy', '!']);
  });

  it('of several choices is cut off where one of them just stops, however it stops (STR-17, U-15)', async () => {
    const say = (index: number, content: string): string => event({ choices: [{ index, delta: { content } }] });
    const said = [say(0, 'A'), say(1, 'x'), finish()];
    for (const ends of ['closed', 'reset'] as const) {
      const fault: Fault = {
        does: `ends while one of two choices goes on: ${ends}`,
        async play(exchange) {
          exchange.response.writeHead(200, { 'content-type': 'text/event-stream' });
          for (const piece of said) await exchange.write(piece);
          if (ends === 'closed') exchange.response.end();
          else exchange.socket.resetAndDestroy();
        },
      };
      await using cell = await startFaultCell({ upstream: { fault } });
      await checkBrokenStream(await ask(cell.mounted, { stream: true }), 502, 'A');
      await checkError(await ask(cell.mounted), 502, null);
    }
  });

  it('of several choices ends each of them at its end mark, also where the provider forgot one (STR-17)', async () => {
    const fault = raw(text('A'), event({ choices: [{ index: 1, delta: { content: 'x' } }] }), finish('length'), DONE);
    const { chunks, finishReasons } = await read(fault);
    expect(finishReasons).toEqual(['length', 'stop']);
    expect(chunks.at(-2)?.choices[0]).toMatchObject({ index: 1, finish_reason: 'stop', native_finish_reason: null });
    expect((await fold(fault)).choices.map((choice) => choice.finish_reason)).toEqual(['length', 'stop']);
  });
});

describe('usage (STR-07)', () => {
  const counted = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };

  it.each([
    ['in the middle', [event({ choices: [], usage: counted }), text('i'), finish()]],
    ['at the end', [text('i'), finish(), event({ choices: [], usage: counted })]],
    [
      'with the finish reason',
      [text('i'), event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: counted })],
    ],
    [
      'with every chunk, growing',
      [
        event({
          choices: [{ index: 0, delta: { content: 'i' } }],
          usage: { ...counted, completion_tokens: 1, total_tokens: 8 },
        }),
        event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: counted }),
      ],
    ],
  ])('is told once when it comes %s', async (_name, events) => {
    const stream = await read(raw(text('H'), ...events, DONE));
    expect(stream.content).toBe('Hi');
    expect(usagesOf(stream).map(({ usage }) => usage)).toEqual([expect.objectContaining(counted)]);
  });

  it.each([
    ['is missing', undefined],
    ['is negative', { prompt_tokens: -7, completion_tokens: -2, total_tokens: -9 }],
    ['is a fraction', { prompt_tokens: 7.5, completion_tokens: 2.25, total_tokens: 9.75 }],
    ['is too large to count', { prompt_tokens: 2 ** 60, completion_tokens: 2 ** 60, total_tokens: 2 ** 61 }],
    ['is text', { prompt_tokens: 'seven', completion_tokens: '2', total_tokens: null }],
    ['is no object', 'some'],
  ])('is in whole numbers that make sense when it %s', async (_name, usage) => {
    const stream = await read(raw(text('Hi'), finish(), event({ choices: [], usage }), DONE));
    const told = stream.chunks.at(-1)?.usage;
    for (const count of [told?.prompt_tokens, told?.completion_tokens, told?.total_tokens]) {
      expect(Number.isSafeInteger(count)).toBe(true);
      expect(count).toBeGreaterThanOrEqual(0);
    }
  });

  it.each([
    ['tokens', { prompt_tokens: 9e15, completion_tokens: 9e15 }],
    ['a cost', { prompt_tokens: 7, completion_tokens: 2, cost: 1e308 }],
    ['searches', { prompt_tokens: 7, completion_tokens: 2, server_tool_use: { web_search_requests: 9e15 } }],
  ])('with %s beyond belief is priced, charged and stored like any other', async (_name, usage) => {
    using folder = temporaryFolder();
    const price = { prompt: 5, completion: 15, webSearch: 0.01 };
    await using cell = await startFaultCell({
      upstream: { fault: raw(text('Hi'), finish(), event({ choices: [], usage }), DONE) },
      provider: (options) => openaiCompatible({ ...options, models: { [ALONE]: { price }, [BACKED]: { price } } }),
      config: {
        ledger: { store: sqliteLedger({ file: folder.file('ledger.db') }) },
        budgets: { default: { limitUsd: 5, period: 'day' } },
      },
    });
    for (let request = 0; request < 2; request += 1) {
      const stream = readStream(await (await ask(cell.mounted, { stream: true, max_tokens: 10 })).text());
      expect(stream.content).toBe('Hi');
      expect(stream.chunks.at(-1)?.usage?.cost).toBeLessThan(0.01);
    }
    const page = await cell.router.ledger?.read();
    expect(page?.records.map(({ cost_nano_usd: cost = Infinity }) => cost < 1e7)).toEqual([true, true]);
  });
});

/** Before content, another provider answers or the status is told; after it, the stream breaks off. */
async function checkFault(events: readonly string[], status: number): Promise<void> {
  await using before = await startFaultCell({ upstream: { fault: raw(delta({ role: 'assistant' }), ...events) } });
  await checkError(await ask(before.mounted, { stream: true }), status, null);
  await checkFallback(await ask(before.mounted, { model: BACKED, stream: true }));
  await using after = await startFaultCell({ upstream: { fault: raw(text('One '), text('two '), ...events) } });
  await checkBrokenStream(await ask(after.mounted, { model: BACKED, stream: true }), status, 'One two ');
}

describe('errors inside a stream of status 200 (STR-10)', () => {
  it.each([
    ['an error object', event({ error: { message: 'Overloaded', code: 503 } }), 503],
    ['an error with a text for a code', event({ error: { message: 'Slow down', code: 'rate_limit_exceeded' } }), 429],
    ['an error that is a text', event({ error: 'Something went wrong' }), 502],
    ['an event named error', 'event: error\ndata: {"message":"Overloaded","code":529}\n\n', 529],
    ['an error beside choices', event({ choices: [], error: { message: 'Broken', code: 500 } }), 502],
    ['an event that is not JSON', 'data: {"choices":[{"del\n\n', 502],
  ])('%s is a fault of the provider, before and after content', async (_name, error, status) => {
    await checkFault([error, DONE], status);
  });
});

describe('time', () => {
  it('is not gained by comments: the first token is late all the same (STR-11)', async () => {
    const fault: Fault = {
      does: 'sends comments only',
      async play(exchange) {
        exchange.response.writeHead(200, { 'content-type': 'text/event-stream' });
        while (!exchange.socket.destroyed) {
          await exchange.write(': keep-alive\n\n');
          await exchange.wait(1_000);
        }
      },
    };
    await using cell = await startFaultCell({ impatient: true, upstream: { fault } });
    await checkError(await ask(cell.mounted, { stream: true }), 524, null);
    await checkFallback(await ask(cell.mounted, { model: BACKED, stream: true }));
  });

  it('is not up for a stream that comes byte by byte, but comes (STR-12)', async () => {
    const events = [text('a'), text('b'), finish(), DONE].join('');
    const fault: Fault = {
      does: 'sends one byte every few milliseconds',
      async play(exchange) {
        exchange.response.writeHead(200, { 'content-type': 'text/event-stream' });
        await exchange.trickle(events, 1, 500);
        exchange.response.end();
      },
    };
    const timeouts = { connectMs: 5_000, firstTokenMs: 5_000, answerMs: 5_000, idleMs: 250, totalMs: 10_000 };
    await using cell = await startFaultCell({ upstream: { fault }, config: { timeouts } });
    const startedAt = performance.now();
    const stream = readStream(await (await ask(cell.mounted, { stream: true })).text());
    expect(performance.now() - startedAt).toBeGreaterThan(500);
    expect(stream).toMatchObject({ content: 'ab', finishReasons: ['stop'], done: true });
  });
});
