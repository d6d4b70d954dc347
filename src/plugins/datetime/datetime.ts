import { type ServerToolDefinition, defineServerTool } from '../../core/pipeline/server-tool.ts';
import type { OptionsCheck } from '../../protocol/options.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { echo } from '../../protocol/echo.ts';
import { parseDatetimeOptions } from '../../protocol/server-tool-options.ts';
import { isTimeZone, isoWithOffset } from './iso-time.ts';

/** What a request may say about `router:datetime`. */
export interface DatetimeOptions {
  /** IANA name such as `Europe/Vienna`. Default `UTC`. */
  readonly timezone: string;
}

/**
 * The server tool `router:datetime` (gaps 2.1): tells the model what time it is, as `{ datetime, timezone }` with the
 * offset from UTC. The model may ask for another time zone than the request's.
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
    execute: ({ timezone: asked }, options, context) => {
      const timezone = asked ?? options.timezone;
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
