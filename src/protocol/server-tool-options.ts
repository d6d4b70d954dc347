import * as z from 'zod';
import { closed } from './fields.ts';
import { optionsParser } from './options.ts';

/** `parameters` of `router:datetime` (gaps 2.1). */
export const parseDatetimeOptions = optionsParser(closed({ timezone: z.string().min(1).max(64).optional() }));
