import { datetime } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { isTimeZone, isoWithOffset } from '../../src/plugins/datetime/datetime.ts';
import { bothWays, hello, pluginBench } from '../support/plugins.ts';
import { call, turns } from '../support/tools.ts';

const WINTER = Date.UTC(2026, 0, 31, 23, 30, 5);

describe('router:datetime', () => {
  it.each([
    ['UTC', '2026-01-31T23:30:05+00:00'],
    ['Europe/Vienna', '2026-02-01T00:30:05+01:00'],
    ['America/Sao_Paulo', '2026-01-31T20:30:05-03:00'],
    ['Asia/Kathmandu', '2026-02-01T05:15:05+05:45'],
    ['Pacific/Apia', '2026-02-01T12:30:05+13:00'],
  ])('tells the time of %s with its offset', (zone, expected) => {
    expect(isoWithOffset(WINTER, zone)).toBe(expected);
    expect(Date.parse(isoWithOffset(WINTER, zone))).toBe(WINTER);
  });

  it('knows daylight saving time, and midnight as hour zero', () => {
    expect(isoWithOffset(Date.UTC(2026, 6, 1), 'Europe/Vienna')).toBe('2026-07-01T02:00:00+02:00');
    expect(isoWithOffset(Date.UTC(2026, 6, 1), 'UTC')).toBe('2026-07-01T00:00:00+00:00');
  });

  it('takes names of time zones and nothing else', () => {
    expect(['UTC', 'Asia/Tokyo', 'Mars/Olympus', '', '../etc'].map(isTimeZone)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    const { parseOptions } = datetime();
    expect(parseOptions?.({})).toEqual({ ok: true, options: { timezone: 'UTC' } });
    expect(parseOptions?.({ timezone: null })).toEqual({ ok: true, options: { timezone: 'UTC' } });
    expect(parseOptions?.({ timezone: 7 })).toMatchObject({ ok: false, path: 'timezone' });
    expect(parseOptions?.({ zone: 'UTC' })).toMatchObject({
      ok: false,
      path: '',
      problem: expect.stringContaining('timezone') as string,
    });
  });

  it('is there without any configuration, in the time zone of the request or of the call', async () => {
    const model = turns(
      { toolCalls: [call('datetime'), call('datetime', { timezone: 'UTC' }), call('datetime', { timezone: 'X' })] },
      'Late.',
    );
    const bench = pluginBench(model.script);
    const tools = [{ type: 'openrouter:datetime', parameters: { timezone: 'Asia/Tokyo' } }] as const;
    for await (const [way, said] of bothWays(bench.router, hello({ tools }))) {
      expect([way, said.text]).toEqual([way, 'Late.']);
      expect(
        said.details.map((detail) => JSON.parse((detail as unknown as { result: string }).result) as unknown),
      ).toEqual([
        { datetime: '2026-01-01T09:00:00+09:00', timezone: 'Asia/Tokyo' },
        { datetime: '2026-01-01T00:00:00+00:00', timezone: 'UTC' },
        { status: 'error', error: expect.stringContaining('IANA name') as string },
      ]);
    }
  });
});
