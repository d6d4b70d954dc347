import * as z from 'zod';
import { closed } from './fields.ts';
import { optionsParser } from './options.ts';
import { modelPatternsSchema } from './plugins.ts';

const autoFields = {
  allowed_models: modelPatternsSchema.optional(),
  excluded_models: modelPatternsSchema.optional(),
  cost_tier: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).optional(),
  cost_quality_tradeoff: z.int().min(0).max(10).optional(),
};

const autoRouterSchema = closed({ ...autoFields, pin_model: z.boolean().optional() });

const paretoRouterSchema = closed({
  max_price: z.number().min(0).optional(),
  min_coding_score: z.number().min(0).max(1).optional(),
  price_source: z.enum(['prompt', 'weighted_avg']).optional(),
});

/** Options of `auto-router` (contract: plugin objects; gaps 5.1). */
export type AutoRouterEntry = z.output<typeof autoRouterSchema>;

/** Options of `pareto-router` (contract: plugin objects; gaps 5.9). */
export type ParetoRouterEntry = z.output<typeof paretoRouterSchema>;

/** Checks an entry of `auto-router`. */
export const parseAutoRouterOptions = optionsParser(autoRouterSchema);

/** Checks an entry of `auto-beta-router`, which cannot pin a model (gaps 5.2). */
export const parseAutoBetaRouterOptions = optionsParser(closed(autoFields));

/** Checks an entry of `pareto-router`. */
export const parseParetoRouterOptions = optionsParser(paretoRouterSchema);
