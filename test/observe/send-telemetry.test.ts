import { describe, expect, it } from 'vitest';
import type { RouterEvents, RouterEventSource } from '../../src/contracts/events.ts';
import { sendTelemetry } from '../../src/observe/opentelemetry/send-telemetry.ts';
import { startTelemetry } from '../support/telemetry.ts';

/** A source of events that counts its listeners. */
function sourceOfEvents() {
  const listeners = new Map<string, Set<(event: never) => void>>();
  const source: RouterEventSource = {
    on(name, listener) {
      const own = listeners.get(name) ?? new Set();
      listeners.set(name, own.add(listener as (event: never) => void));
      return () => own.delete(listener as (event: never) => void);
    },
  };
  return {
    source,
    count: () => [...listeners.values()].reduce((sum, { size }) => sum + size, 0),
    emit<Name extends keyof RouterEvents>(name: Name, event: unknown) {
      for (const listener of listeners.get(name) ?? []) listener(event as never);
    },
  };
}

describe('telemetry', () => {
  it('listens until it is ended, and then not at all', async () => {
    await using telemetry = startTelemetry();
    const events = sourceOfEvents();
    const end = await sendTelemetry(events.source, telemetry);
    expect(events.count()).toBeGreaterThan(5);
    events.emit('warning', { code: 'catalog_stale', message: 'Facts are old' });
    end();
    expect(events.count()).toBe(0);
    events.emit('warning', { code: 'catalog_stale', message: 'Facts are old' });
    expect(await telemetry.points('signalbox.warnings')).toMatchObject([
      { value: 1, attributes: { 'signalbox.warning.code': 'catalog_stale' } },
    ]);
  });
});
