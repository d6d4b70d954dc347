/** The server tool `router:datetime`: the date and time in a time zone. */
import type { ServerToolDefinition } from '../../contracts/server-tool.ts';
import { defineServerTool } from '../../core/pipeline/define-plugin.ts';
import type { OptionsCheck } from '../../protocol/options.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { echo } from '../../protocol/fault.ts';
import { parseDatetimeOptions } from '../../protocol/server-tool-options.ts';

/** What a request may say about `router:datetime`. */
export interface DatetimeOptions {
  /** IANA name such as `Europe/Vienna`. Default `UTC`. */
  readonly timezone: string;
}

/**
 * The server tool `router:datetime` (gaps 2.1): returns the current time, as `{ datetime, timezone }` with the offset
 * from UTC. The model may request another time zone than the request's.
 */
export function datetime(): ServerToolDefinition<DatetimeOptions> {
  return defineServerTool({
    type: 'router:datetime',
    parseOptions,
    describe: ({ timezone }) => ({
      description: `Tells the current date and time, in ${timezone} unless another time zone is asked for.`,
      parameters: {
        type: 'object',
        properties: {
          timezone: { type: 'string', description: 'IANA name of a time zone, for example America/New_York' },
        },
        additionalProperties: false,
      },
    }),
    execute: ({ timezone: requested }, options, context) => {
      const timezone = requested ?? options.timezone;
      if (typeof timezone !== 'string' || !isTimeZone(timezone)) {
        const error = 'timezone must be the IANA name of a time zone, for example America/New_York';
        return { result: { status: 'error', error } };
      }
      return { result: { datetime: isoWithOffset(context.wallClock(), timezone), timezone } };
    },
  });
}

function parseOptions(value: JsonObject): OptionsCheck<DatetimeOptions> {
  const parsed = parseDatetimeOptions(value);
  if (!parsed.ok) return parsed;
  const { timezone = 'UTC' } = parsed.options;
  if (isTimeZone(timezone)) return { ok: true, options: { timezone } };
  const problem = `must be the IANA name of a time zone such as "Europe/Vienna", not ${echo(timezone)}`;
  return { ok: false, path: 'timezone', problem };
}

/** True for a name that is known to this platform as a time zone. */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** A moment as ISO 8601 with the offset of a time zone: `2026-03-01T10:15:30+01:00`. */
export function isoWithOffset(epochMs: number, timeZone: string): string {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'longOffset',
  }).formatToParts(epochMs);
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.find((one) => one.type === type)?.value ?? '';
  const offset = part('timeZoneName').replace(/^(?:GMT|UTC)/, '') || '+00:00';
  const date = `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`;
  return `${date}T${part('hour')}:${part('minute')}:${part('second')}${offset}`;
}
