import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { Deadline, type Phase } from '../../src/runtime/chat/call-watch.ts';
import type { Environment } from '../../src/platform/environment.ts';
import { valueWithin, wait } from '../../src/platform/wait.ts';
import { fakeEnvironment } from '../../src/testing/fake-environment.ts';

const NEVER = new AbortController().signal;

describe('a wait', () => {
  it('takes its time and leaves nothing behind', async () => {
    const environment = fakeEnvironment();
    const controller = new AbortController();
    let over = false;
    const waiting = wait(environment, 500, controller.signal).then(() => (over = true));
    await environment.advance(499);
    expect(over).toBe(false);
    await environment.advance(1);
    expect(await waiting).toBe(true);
    expect(environment.pendingTimers).toBe(0);
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  it('goes on when the platform calls back too early', async () => {
    const fake = fakeEnvironment();
    const hasty: Environment = { ...fake, setTimer: (callback, ms) => fake.setTimer(callback, ms - 0.6) };
    let over = false;
    const waiting = wait(hasty, 500, NEVER).then(() => (over = true));
    await fake.advance(499.5);
    expect(over).toBe(false);
    await fake.advance(1);
    expect(await waiting).toBe(true);
    expect(fake.pendingTimers).toBe(0);
  });

  it('ends when its signal is aborted, before or meanwhile', async () => {
    const environment = fakeEnvironment();
    await wait(environment, 500, AbortSignal.abort());
    const controller = new AbortController();
    const waiting = wait(environment, 500, controller.signal);
    controller.abort();
    await waiting;
    expect(environment.pendingTimers).toBe(0);
  });
});

describe('a value that may take too long', () => {
  it('is the value, or undefined when it fails or is late', async () => {
    const environment = fakeEnvironment();
    expect(await valueWithin(environment, Promise.resolve(5), 100)).toBe(5);
    expect(await valueWithin(environment, Promise.reject(new Error('no')), 100)).toBeUndefined();
    const late = valueWithin(environment, new Promise<number>(() => {}), 100);
    await environment.advance(100);
    expect(await late).toBeUndefined();
    expect(environment.pendingTimers).toBe(0);
  });
});

describe('a deadline', () => {
  function deadlineAfter(totalMs: number) {
    const environment = fakeEnvironment();
    const expired: (readonly [Phase, number])[] = [];
    const start = environment.now();
    class NotedDeadline extends Deadline {
      protected override onExpire(phase: Phase): void {
        expired.push([phase, environment.now() - start]);
      }
    }
    const deadline = new NotedDeadline(environment, start + totalMs);
    return { environment, expired, deadline };
  }

  it('ends the phase that it is in', async () => {
    const { environment, expired, deadline } = deadlineAfter(10_000);
    deadline.enter('connect', 1_000);
    await environment.advance(900);
    deadline.enter('first_token', 2_000);
    await environment.advance(5_000);
    expect(expired[0]).toEqual(['first_token', 2_900]);
  });

  it('ends the whole before a phase that would last longer', async () => {
    const { environment, expired, deadline } = deadlineAfter(1_500);
    deadline.enter('answer', 9_000);
    await environment.advance(9_000);
    expect(expired[0]).toEqual(['total', 1_500]);
  });

  it('never needs more than one timer, however often it hears from the provider', async () => {
    const { environment, expired, deadline } = deadlineAfter(1_000_000);
    deadline.liftTotal();
    for (let step = 0; step < 50; step += 1) {
      deadline.enter('idle', 100);
      expect(environment.pendingTimers).toBe(1);
      await environment.advance(60);
      deadline.pause();
    }
    expect(expired).toEqual([]);
    await environment.advance(1_000);
    expect(environment.pendingTimers).toBe(0);
  });

  it('takes a shorter phase seriously although an earlier one would last longer', async () => {
    const { environment, expired, deadline } = deadlineAfter(100_000);
    deadline.enter('answer', 50_000);
    deadline.enter('idle', 100);
    await environment.advance(100);
    expect(expired).toEqual([['idle', 100]]);
  });

  it('is over for good when it was cleared', async () => {
    const { environment, expired, deadline } = deadlineAfter(1_000);
    deadline.enter('answer', 500);
    deadline.clear();
    expect(environment.pendingTimers).toBe(0);
    deadline.enter('connect', 100);
    expect(environment.pendingTimers).toBe(0);
    await environment.advance(5_000);
    expect(expired).toEqual([]);
  });
});
