import { createRouter, memoryStore, RouterError, simulated } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { send } from '../support/http-call.ts';
import { runs } from '../support/properties.ts';

function instances() {
  const environment = fakeEnvironment();
  const store = memoryStore({ now: environment.now });
  const make = () => createRouter({ providers: [simulated()], environment, streams: { store } });
  return { environment, store, one: make(), two: make() };
}

/** A stream that the test feeds. */
function fed() {
  let controller: ReadableStreamDefaultController<string | Uint8Array> | undefined;
  let isCancelled = false;
  const stream = new ReadableStream<string | Uint8Array>({
    start: (own) => void (controller = own),
    cancel: () => void (isCancelled = true),
  });
  return {
    stream,
    push: (text: string | Uint8Array) => controller?.enqueue(text),
    end: () => controller?.close(),
    fail: () => controller?.error(new Error('it broke')),
    get isCancelled() {
      return isCancelled;
    },
  };
}

const textOf = (stream: ReadableStream<Uint8Array>): Promise<string> => new Response(stream).text();
const event = (text: string): string => `data: ${text}\n\n`;

describe('router.keep and router.resume', () => {
  it('give a stream of the program again, at another instance and from any event on', async () => {
    const { one, two } = instances();
    const { stream, push, end } = fed();
    const kept = one.keep('chat-1', stream);
    const text = event('Grüße 👋') + event('two');
    push(event('Grüße 👋'));
    push(new TextEncoder().encode(event('two')));
    end();
    await kept;
    for (const router of [one, two]) {
      expect(await textOf(await router.resume('chat-1'))).toBe(text);
      const from = Buffer.byteLength(event('Grüße 👋'));
      expect(await textOf(await router.resume('chat-1', { from }))).toBe(event('two'));
      expect(await textOf(await router.resume('chat-1', { from: Buffer.byteLength(text) }))).toBe('');
    }
  });

  it('follow a stream that goes on', async () => {
    const { environment, one, two } = instances();
    const { stream, push, end } = fed();
    const kept = one.keep('chat-1', stream);
    push(event('one'));
    await environment.advance(1_000);
    const reading = [textOf(await one.resume('chat-1')), textOf(await two.resume('chat-1'))];
    push(event('two'));
    await environment.advance(1_000);
    end();
    await kept;
    await environment.advance(1_000);
    expect(await Promise.all(reading)).toEqual([event('one') + event('two'), event('one') + event('two')]);
    expect(environment.pendingTimers).toBe(0);
  });

  it('belong to an account', async () => {
    const { one } = instances();
    const { stream, end } = fed();
    const kept = one.keep('chat-1', stream, { account: { id: 'me' } });
    end();
    await kept;
    await expect(one.resume('chat-1', { account: { id: 'me' } })).resolves.toBeInstanceOf(ReadableStream);
    for (const account of [undefined, { id: 'you' }]) {
      await expect(one.resume('chat-1', { account })).rejects.toMatchObject({ status: 404 });
    }
  });

  it('end with what the program says where its stream fails', async () => {
    const { one } = instances();
    const { stream, push, fail } = fed();
    const kept = one.keep('chat-1', stream, { lost: event('lost') });
    push(event('one'));
    await new Promise(setImmediate);
    fail();
    await kept;
    expect(await textOf(await one.resume('chat-1'))).toBe(event('one') + event('lost'));
  });

  it('stop what makes the stream when the router is closed', async () => {
    const { one, two } = instances();
    const source = fed();
    let stops = 0;
    const kept = one.keep('chat-1', source.stream, { onStop: () => (stops += 1), lost: event('lost') });
    source.push(event('one'));
    await new Promise(setImmediate);
    await one.close();
    await kept;
    expect([stops, source.isCancelled]).toEqual([1, true]);
    expect(await textOf(await two.resume('chat-1'))).toBe(event('one') + event('lost'));
  });

  it.each([true, false])('end by a DELETE; the program may end it in its own words: %s', async (hasWords) => {
    const { one, two } = instances();
    const source = fed();
    const onStop = (): void => {
      source.push(event('aborted'));
      source.end();
    };
    const kept = one.keep('chat-1', source.stream, { onStop: hasWords ? onStop : undefined, lost: event('lost') });
    source.push(event('one'));
    await new Promise(setImmediate);
    await send(one, { method: 'DELETE', path: '/streams/chat-1' });
    await kept;
    expect(source.isCancelled).toBe(!hasWords);
    expect(await textOf(await two.resume('chat-1'))).toBe(event('one') + event(hasWords ? 'aborted' : 'lost'));
  });

  it('close a store of their own with the router, and leave the state store to it', async () => {
    for (const isShared of [true, false]) {
      let closed = 0;
      const store = { ...memoryStore(), close: () => Promise.resolve(void (closed += 1)) };
      const state = isShared ? { state: store } : {};
      const router = createRouter({ providers: [simulated()], ...state, streams: { store } });
      const { stream, end } = fed();
      end();
      await router.keep('chat-1', stream);
      await router.close();
      expect(closed).toBe(1);
    }
  });

  it('leave a stream alone whose reader stops', async () => {
    const { environment, one } = instances();
    const { stream, push, end } = fed();
    const kept = one.keep('chat-1', stream);
    push(event('one'));
    await environment.advance(600);
    const reader = (await one.resume('chat-1')).getReader();
    await reader.read();
    await reader.cancel();
    const leaving = new AbortController();
    const other = await one.resume('chat-1', { signal: leaving.signal });
    const reading = textOf(other);
    await environment.settle();
    leaving.abort();
    expect(await reading).toBe(event('one'));
    push(event('two'));
    end();
    await kept;
    expect(await textOf(await one.resume('chat-1'))).toBe(event('one') + event('two'));
    expect(environment.pendingTimers).toBe(0);
  });

  it.each([-1, 0.5, Number.NaN])('refuse to go on at %s', async (from) => {
    const { one } = instances();
    await expect(one.resume('chat-1', { from })).rejects.toMatchObject({
      status: 400,
      message: 'from must be a whole number of bytes, 0 or more',
    });
  });

  it('say what is missing without the option', async () => {
    const router = createRouter({ providers: [simulated()] });
    const error = await router.resume('chat-1').catch((one: unknown) => one);
    expect(RouterError.isInstance(error) && error.message).toBe(
      'This router keeps no streams. Pass streams: {} to createRouter.',
    );
    await expect(router.keep('chat-1', fed().stream)).rejects.toMatchObject({ status: 404 });
  });

  it('lose and double nothing, whatever is sent when', async () => {
    const piece = fc.record({
      text: fc.oneof(
        fc.string({ unit: 'grapheme' }),
        fc.string().map((text) => text.repeat(900)),
      ),
      ms: fc.nat(900),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), fc.nat(99), async (pieces, percent) => {
        const { environment, one, two } = instances();
        const { stream, push, end } = fed();
        const kept = one.keep('chat-1', stream);
        await environment.settle();
        const early = [textOf(await one.resume('chat-1')), textOf(await two.resume('chat-1'))];
        const events = pieces.map(({ text }) => event(JSON.stringify(text)));
        for (const [index, { ms }] of pieces.entries()) {
          push(events[index] ?? '');
          await environment.advance(ms);
        }
        end();
        await kept;
        await environment.advance(2_000);
        const all = events.join('');
        expect(await Promise.all(early)).toEqual([all, all]);
        const seen = events.slice(0, Math.floor((events.length * percent) / 100)).join('');
        const rest = await textOf(await two.resume('chat-1', { from: Buffer.byteLength(seen) }));
        expect(seen + rest).toBe(all);
        expect(environment.pendingTimers).toBe(0);
      }),
      runs(100),
    );
  });
});
