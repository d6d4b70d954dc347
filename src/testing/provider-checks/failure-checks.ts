/** Checks for providers: failures and cancellation. */
import {
  type ProviderCheck,
  type ProviderHarness,
  type ScriptedExchange,
  ask,
  callOnce,
  providerCheck,
  expectHolds,
  expectSame,
  expectSettled,
  expectSoon,
  outcomeOf,
  readAll,
} from './harness.ts';
import type { FailureKind } from '../../contracts/failure.ts';

const SAID = { text: ['Half', ' an answer'] };

/** Plays an exchange and asks in both ways. */
async function failures(harness: ProviderHarness, exchange: ScriptedExchange, run: Judge): Promise<void> {
  for (const stream of [false, true]) {
    harness.play(exchange);
    const { failure, text } = await ask(harness, { stream });
    if (failure === undefined) throw new Error(`there is no failure after: ${exchange.type} (stream: ${stream})`);
    await run(failure, text);
  }
}

type Judge = (failure: NonNullable<Awaited<ReturnType<typeof ask>>['failure']>, text: string) => void | Promise<void>;

/** Checks of everything that goes wrong. */
export const failureChecks: readonly ProviderCheck[] = [
  providerCheck('tells what each status means', [], async (harness) => {
    for (const [status, kind] of STATUS_KINDS) {
      await failures(harness, { type: 'error', status, message: 'It did not work' }, (failure) => {
        expectSame([failure.kind, failure.status], [kind, status], `the kind and status of ${status}`);
      });
    }
  }),

  providerCheck('tells when to come back', ['bytes'], async (harness) => {
    const headers = { 'retry-after': '7' };
    await failures(harness, { type: 'error', status: 429, message: 'Slow down', headers }, (failure) => {
      expectSame(failure.retryAfterMs, 7_000, 'the wait of a 429 with `retry-after: 7`');
    });
  }),

  providerCheck('never retries', [], async (harness) => {
    for (const status of [408, 429, 500, 503, 529]) {
      harness.play({ type: 'error', status, message: 'It did not work', headers: { 'retry-after': '0' } });
      await ask(harness, { stream: true });
      expectSame(harness.calls.length, 1, `the number of calls after a ${status}`);
    }
    harness.play({ type: 'unfinished', answer: SAID, ending: 'cut' });
    await ask(harness, { stream: true });
    expectSame(harness.calls.length, 1, 'the number of calls after a stream that ended early');
  }),

  providerCheck('shows nothing of a key, not even when its upstream repeats it', [], async (harness) => {
    const own = 'sk-own-key-of-the-account-0123456789';
    for (const apiKey of [undefined, own]) {
      const key = apiKey ?? harness.apiKey;
      if (key === undefined) continue;
      const message = `Incorrect API key provided: ${key}. Look: "${key}"`;
      const exchanges: readonly ScriptedExchange[] = [
        { type: 'error', status: 401, message },
        { type: 'error', status: 500, message },
        { type: 'stream error', answer: {}, message },
      ];
      for (const exchange of exchanges) {
        harness.play(exchange);
        const { failure } = await ask(harness, { stream: true, apiKey });
        expectHolds(failure !== undefined, 'an error is a failure');
        expectHolds(!JSON.stringify(failure).includes(key), `the failure does not hold the key (${exchange.type})`);
      }
    }
  }),

  providerCheck("uses the account's own key instead of its own", ['bytes'], async (harness) => {
    harness.play({ type: 'answer', form: 'whole', answer: { text: ['Hello'] } });
    await ask(harness, { stream: false, apiKey: 'key-of-the-account-7781' });
    const [call = ''] = harness.calls;
    expectHolds(call.includes('key-of-the-account-7781'), 'the key of the account is sent');
    expectHolds(harness.apiKey === undefined || !call.includes(harness.apiKey), "the provider's own key is not sent");
  }),

  providerCheck('shows no HTML, and no more than 500 characters', ['bytes'], async (harness) => {
    for (const body of [
      '<html><body>Attention Required!</body></html>',
      `{"error":{"message":"${'long '.repeat(1_000)}"}}`,
    ]) {
      await failures(harness, { type: 'body', status: 503, contentType: 'text/html', body }, (failure) => {
        for (const text of [failure.message, failure.raw ?? '']) {
          expectHolds(text.length <= 500 && !text.includes('<'), 'texts are short and free of HTML');
        }
        expectHolds(failure.message !== '', 'there is a message');
      });
    }
  }),

  providerCheck('tells an error inside a stream, before anything was said', [], async (harness) => {
    harness.play({ type: 'stream error', answer: {}, message: 'Overloaded inside' });
    const { failure, text, finishes } = await ask(harness, { stream: true });
    expectHolds(failure?.message.includes('Overloaded inside') === true, 'the failure says what the error says');
    expectSame([text, finishes.length], ['', 0], 'text and finishes');
  }),

  providerCheck('tells an error inside a stream after all that was said before it', [], async (harness) => {
    harness.play({ type: 'stream error', answer: SAID, message: 'Overloaded inside' });
    const { failure, text, pieces, finishes } = await ask(harness, { stream: true });
    expectHolds(failure?.message.includes('Overloaded inside') === true, 'the failure says what the error says');
    expectSame([text, finishes.length], ['Half an answer', 0], 'text and finishes');
    const broken = pieces.findIndex((piece) => typeof piece !== 'string' && piece.type === 'failure');
    const last = pieces.findLastIndex((piece) => typeof piece === 'string' || piece.type === 'delta');
    expectHolds(last < broken, 'all text comes before the failure');
  }),

  providerCheck('makes no good end of a stream that just stops', [], async (harness) => {
    for (const ending of ['end', 'cut'] as const) {
      harness.play({ type: 'unfinished', answer: SAID, ending });
      const { failure, text, finishes, pieces } = await ask(harness, { stream: true });
      expectSame(
        [text, finishes.length],
        ['Half an answer', 0],
        `text and finishes of a stream with the end: ${ending}`,
      );
      const ended = pieces.some((piece) => typeof piece !== 'string' && piece.type === 'end');
      expectHolds(!ended, `there is no end mark that was not sent (${ending})`);
      expectHolds(ending === 'end' || failure !== undefined, 'a broken connection is a failure');
    }
  }),

  providerCheck('takes nonsense for a failure, and never throws', ['bytes'], async (harness) => {
    for (const [contentType, body] of NONSENSE) {
      for (const stream of [false, true]) {
        harness.play({ type: 'body', status: 200, contentType, body });
        const { failure, finishes, text } = await ask(harness, { stream });
        const said = `${contentType} ${JSON.stringify(body)} (stream: ${stream})`;
        expectHolds(failure !== undefined || (finishes.length === 0 && text === ''), `nothing is made of ${said}`);
      }
    }
  }),
];

/** What a status without any further word means. */
export const STATUS_KINDS: readonly (readonly [status: number, kind: FailureKind])[] = [
  [400, 'invalid_request'],
  [401, 'credentials'],
  [402, 'quota'],
  [403, 'credentials'],
  [404, 'model_not_found'],
  [408, 'timeout'],
  [409, 'conflict'],
  [413, 'too_large'],
  [422, 'unprocessable'],
  [429, 'rate_limited'],
  [500, 'server'],
  [502, 'server'],
  [503, 'overloaded'],
  [504, 'timeout'],
  [529, 'overloaded'],
];

/** Bodies that are no answer, each with a good status. */
export const NONSENSE: readonly (readonly [contentType: string, body: string])[] = [
  ['application/json', ''],
  ['application/json', '   \n'],
  ['application/json', '{'],
  ['application/json', '{}'],
  ['application/json', '[]'],
  ['application/json', 'null'],
  ['application/json', '"text"'],
  ['application/json', '7'],
  ['application/json', '{"choices":7,"content":7,"candidates":7}'],
  ['text/html', '<!doctype html><title>Sign in</title>'],
  ['text/event-stream', ''],
  ['text/event-stream', 'data: \u0000\n\n'],
  ['text/event-stream', 'data: {\n\n'],
  ['text/event-stream', '<!doctype html><title>Sign in</title>'],
  ['text/plain', 'It works!'],
  ['application/octet-stream', '\u0000\u0001\u0002'],
];

async function freed(harness: ProviderHarness): Promise<void> {
  await expectSoon(() => harness.underWay === 0, 'the upstream is told that nobody waits for it');
  expectSame(harness.calls.length, 1, 'the number of calls');
}

/** Checks of calls that are given up. Each waits at most two seconds. */
export const cancellationChecks: readonly ProviderCheck[] = [
  providerCheck('ends a call that is given up before it began', ['cancellation'], async (harness) => {
    harness.play({ type: 'silence' });
    const reply = await expectSettled(callOnce(harness, { stream: true, signal: AbortSignal.abort() }), 'a reply');
    expectSame((await outcomeOf(reply)).failure?.kind, 'aborted', 'the kind of the failure');
    await expectSoon(() => harness.underWay === 0, 'the upstream is not kept busy');
  }),

  providerCheck('ends a call that is given up while it waits for an answer', ['cancellation'], async (harness) => {
    for (const stream of [false, true]) {
      harness.play({ type: 'silence' });
      const controller = new AbortController();
      const called = callOnce(harness, { stream, signal: controller.signal });
      await expectSoon(() => harness.underWay === 1, 'the upstream is called');
      controller.abort();
      const reply = await expectSettled(called, 'a reply to a call that was given up');
      expectSame((await outcomeOf(reply)).failure?.kind, 'aborted', 'the kind of the failure');
      await freed(harness);
    }
  }),

  providerCheck('ends a stream that is given up by its signal', ['cancellation'], async (harness) => {
    harness.play({ type: 'unfinished', answer: SAID, ending: 'hang' });
    const controller = new AbortController();
    const reply = await expectSettled(callOnce(harness, { stream: true, signal: controller.signal }), 'a reply');
    if (reply.type !== 'stream') throw new Error(`the reply to a stream is a stream, but was ${reply.type}`);
    await expectSettled(reply.stream.read(), 'the first pieces');
    const rest = readAll(reply.stream);
    controller.abort();
    const pieces = await expectSettled(rest, 'the end of a stream that was given up');
    expectHolds(!pieces.some((piece) => typeof piece !== 'string' && piece.type === 'finish'), 'it has no good end');
    await freed(harness);
  }),

  providerCheck('ends a stream that is cancelled, and stays ended', ['cancellation'], async (harness) => {
    harness.play({ type: 'unfinished', answer: SAID, ending: 'hang' });
    const reply = await expectSettled(callOnce(harness, { stream: true }), 'a reply');
    if (reply.type !== 'stream') throw new Error(`the reply to a stream is a stream, but was ${reply.type}`);
    await expectSettled(reply.stream.read(), 'the first pieces');
    reply.stream.cancel();
    reply.stream.cancel();
    expectSame(await expectSettled(reply.stream.read(), 'a reading'), undefined, 'a reading after the cancellation');
    await freed(harness);
  }),

  providerCheck('ends a stream that is cancelled while it is read', ['cancellation'], async (harness) => {
    harness.play({ type: 'unfinished', answer: SAID, ending: 'hang' });
    const reply = await expectSettled(callOnce(harness, { stream: true }), 'a reply');
    if (reply.type !== 'stream') throw new Error(`the reply to a stream is a stream, but was ${reply.type}`);
    const rest = readAll(reply.stream);
    await expectSoon(() => harness.underWay === 1, 'the upstream is busy');
    reply.stream.cancel();
    await expectSettled(rest, 'the end of a stream that was cancelled');
    await freed(harness);
  }),

  providerCheck('can be cancelled after the end', [], async (harness) => {
    harness.play({ type: 'answer', form: 'stream', answer: SAID });
    const reply = await callOnce(harness, { stream: true });
    if (reply.type !== 'stream') return;
    await readAll(reply.stream);
    reply.stream.cancel();
    expectSame(await reply.stream.read(), undefined, 'a reading after the end');
  }),
];
