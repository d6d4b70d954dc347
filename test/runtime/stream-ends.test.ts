import { type FinishPiece, createRouter, failure } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { type FedCall, fedProvider } from '../support/fed-provider.ts';
import { ask, hear, hearStream } from '../support/simulated.ts';

const FINISH: FinishPiece = { type: 'finish', index: 0, reason: 'stop', native: 'STOP' };
const ASKED = ask('Hello', { model: 'acme/one' });

/** A router whose provider streams what the script says. */
function routerOf(script: (call: FedCall) => void) {
  const environment = fakeEnvironment();
  const fed = fedProvider({ script });
  const router = createRouter({ providers: [fed], environment, fallback: { triesPerEndpoint: 1 } });
  return { router, environment, fed };
}

describe('a stream of a wire without an end mark', () => {
  it('is whole five seconds after its last choice ended, although its connection stays open', async () => {
    const { router, environment, fed } = routerOf((call) => call.push('All ', 'said', FINISH));
    const heard = hearStream(router, ASKED);
    await environment.advance(4_900);
    expect(fed.calls[0]?.cancelled).toBe(false);
    await environment.advance(200);
    expect(await heard).toMatchObject({ text: 'All said', finish: 'stop' });
    expect(fed.calls[0]?.cancelled).toBe(true);
  });

  it('still hears of usage that comes within them', async () => {
    const { router, environment } = routerOf((call) => {
      call.push('All said', FINISH);
      environment.setTimer(() => {
        call.push({ type: 'usage', usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } });
        call.end();
      }, 3_000);
    });
    const heard = hearStream(router, ASKED);
    await environment.advance(3_000);
    expect((await heard).usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 });
  });

  it.each([true, false])('is whole when its connection breaks after that (asked for a stream: %s)', async (stream) => {
    const { router } = routerOf((call) => {
      call.push('All said', FINISH);
      setImmediate(() => call.push({ type: 'failure', failure: failure('connection', 'The connection broke') }));
    });
    expect(await (stream ? hearStream : hear)(router, ASKED)).toMatchObject({ text: 'All said', finish: 'stop' });
  });

  it.each([true, false])(
    'is broken when its connection breaks behind an end that came beside content (asked for a stream: %s)',
    async (stream) => {
      const { router } = routerOf((call) => {
        call.push('Half', { ...FINISH, besideContent: true });
        setImmediate(() => call.push({ type: 'failure', failure: failure('connection', 'The connection broke') }));
      });
      await expect((stream ? hearStream : hear)(router, ASKED)).rejects.toMatchObject({ status: 502 });
    },
  );

  it('waits as long as for anything behind an end that came beside content', async () => {
    const { router, environment } = routerOf((call) => {
      call.push('one ', { ...FINISH, besideContent: true });
      environment.setTimer(() => call.push('two ', { ...FINISH, besideContent: true }), 8_000);
      environment.setTimer(
        () => call.push('three', { type: 'finish', index: 0, reason: 'length', native: 'length' }),
        20_000,
      );
      environment.setTimer(() => call.end(), 29_000);
    });
    const heard = hearStream(router, ASKED);
    await environment.advance(30_000);
    expect(await heard).toMatchObject({ text: 'one two three', finish: 'length' });
  });

  it('is broken when it falls silent behind an end that was taken back', async () => {
    const { router, environment } = routerOf((call) => call.push('one ', FINISH, 'two ', FINISH));
    const heard = hearStream(router, ASKED).catch((error: unknown) => error);
    await environment.advance(61_000);
    expect(await heard).toMatchObject({ status: 524 });
  });

  it('is broken when the provider says so after that', async () => {
    const { router } = routerOf((call) => {
      call.push('All said', FINISH);
      setImmediate(() => call.push({ type: 'failure', failure: failure('server', 'It did not work') }));
    });
    await expect(hearStream(router, ASKED)).rejects.toThrow('It did not work');
  });

  it('is broken when it falls silent before it ended', async () => {
    const { router, environment } = routerOf((call) => call.push('Half'));
    const heard = hearStream(router, ASKED).catch((error: unknown) => error);
    await environment.advance(61_000);
    expect(await heard).toMatchObject({ status: 524 });
  });
});
