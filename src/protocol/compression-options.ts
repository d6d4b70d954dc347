import * as z from 'zod';
import { closed } from './fields.ts';
import { optionsParser } from './options.ts';

/** Options of the plugin `context-compression` (contract: plugin objects; gaps 5.8). */
export const parseCompressionOptions = optionsParser(closed({ engine: z.literal('middle-out').optional() }));
