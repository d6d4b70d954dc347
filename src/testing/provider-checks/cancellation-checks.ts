import {
  callOnce,
  check,
  expectHolds,
  expectSame,
  expectSettled,
  expectSoon,
  outcomeOf,
  type ProviderCheck,
  readAll,
} from './ask.ts';
import type { ProviderHarness } from './harness.ts';

const SAID = { text: ['Half', ' an answer'] };

async function freed(harness: ProviderHarness): Promise<void> {
  await expectSoon(() => harness.underWay === 0, 'the upstream is told that nobody waits for it');
  expectSame(harness.calls.length, 1, 'the number of calls');
}

/** Checks of calls that are given up. Each waits at most two seconds. */
export const cancellationChecks: readonly ProviderCheck[] = [
  check('ends a call that is given up before it began', ['cancellation'], async (harness) => {
    harness.play({ type: 'silence' });
    const reply = await expectSettled(callOnce(harness, { stream: true, signal: AbortSignal.abort() }), 'a reply');
    expectSame((await outcomeOf(reply)).failure?.kind, 'aborted', 'the kind of the failure');
    await expectSoon(() => harness.underWay === 0, 'the upstream is not kept busy');
  }),

  check('ends a call that is given up while it waits for an answer', ['cancellation'], async (harness) => {
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

  check('ends a stream that is given up by its signal', ['cancellation'], async (harness) => {
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

  check('ends a stream that is cancelled, and stays ended', ['cancellation'], async (harness) => {
    harness.play({ type: 'unfinished', answer: SAID, ending: 'hang' });
    const reply = await expectSettled(callOnce(harness, { stream: true }), 'a reply');
    if (reply.type !== 'stream') throw new Error(`the reply to a stream is a stream, but was ${reply.type}`);
    await expectSettled(reply.stream.read(), 'the first pieces');
    reply.stream.cancel();
    reply.stream.cancel();
    expectSame(await expectSettled(reply.stream.read(), 'a reading'), undefined, 'a reading after the cancellation');
    await freed(harness);
  }),

  check('ends a stream that is cancelled while it is read', ['cancellation'], async (harness) => {
    harness.play({ type: 'unfinished', answer: SAID, ending: 'hang' });
    const reply = await expectSettled(callOnce(harness, { stream: true }), 'a reply');
    if (reply.type !== 'stream') throw new Error(`the reply to a stream is a stream, but was ${reply.type}`);
    const rest = readAll(reply.stream);
    await expectSoon(() => harness.underWay === 1, 'the upstream is busy');
    reply.stream.cancel();
    await expectSettled(rest, 'the end of a stream that was cancelled');
    await freed(harness);
  }),

  check('can be cancelled after the end', [], async (harness) => {
    harness.play({ type: 'answer', form: 'stream', answer: SAID });
    const reply = await callOnce(harness, { stream: true });
    if (reply.type !== 'stream') return;
    await readAll(reply.stream);
    reply.stream.cancel();
    expectSame(await reply.stream.read(), undefined, 'a reading after the end');
  }),
];
