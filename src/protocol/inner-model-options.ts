import * as z from 'zod';
import { cacheControlSchema } from './content-part.ts';
import { closed, identifier, jsonObject, nullish } from './fields.ts';
import { MAX_FUSION_MODELS, MAX_FUSION_TOOL_CALLS, MAX_FUSION_TOOLS, MAX_MODEL_SLUG_LENGTH } from './limits.ts';
import { optionsParser } from './options.ts';
import { reasoningEffortSchema } from './reasoning.ts';
import { isServerToolType, type ServerTool } from './tools.ts';
import { modelPatternsSchema } from './plugins.ts';

/** Names of the panels that fusion knows. */
const FUSION_PRESETS = ['general-high', 'general-budget', 'general-fast'] as const;

const slug = identifier(1, MAX_MODEL_SLUG_LENGTH);

const SERVER_TOOL = 'must be a server tool such as "router:web_search"';

const serverTool = closed({
  type: z.string(SERVER_TOOL).refine(isServerToolType, SERVER_TOOL),
  parameters: nullish(jsonObject),
}).transform((tool) => tool as ServerTool);

const reasoning = closed({
  effort: nullish(reasoningEffortSchema),
  max_tokens: nullish(z.int().min(1)),
}).refine(
  ({ effort, max_tokens: tokens }) => effort == null || tokens == null,
  'must not set both effort and max_tokens',
);

/** How another model is to answer. */
const sampling = {
  max_completion_tokens: z.int().min(1).optional(),
  reasoning: reasoning.optional(),
  temperature: z.number().min(0).max(2).optional(),
};

const isFusion = (type: string): boolean => /^(?:open)?router[:/]fusion(?:-flash)?(?::|$)/.test(type);
const ITSELF = 'must not be fusion itself: panels do not deliberate within panels';

const fusion = {
  analysis_models: z
    .array(slug.refine((model) => !isFusion(model), ITSELF))
    .min(1)
    .max(MAX_FUSION_MODELS)
    .optional(),
  model: slug.refine((model) => !isFusion(model), ITSELF).optional(),
  preset: z.enum(FUSION_PRESETS).optional(),
  max_tool_calls: z.int().min(1).max(MAX_FUSION_TOOL_CALLS).optional(),
  tools: z
    .array(serverTool.refine(({ type }) => !isFusion(type), { error: ITSELF, path: ['type'] }))
    .max(MAX_FUSION_TOOLS)
    .optional(),
};

const fusionPlugin = closed(fusion);

/** Options of the plugin `fusion` (contract: plugins; gaps 5.10). */
export const parseFusionPluginOptions = optionsParser(fusionPlugin);

const fusionTool = closed({
  ...fusion,
  ...sampling,
  cache_control: cacheControlSchema.optional(),
  on_failure: z.enum(['tell', 'error']).optional(),
});

/** `parameters` of `router:fusion` (gaps 5.10). `on_failure` is this router's own. */
export const parseFusionToolOptions = optionsParser(fusionTool);

/** Name of one of several advisors or subagents (gaps 2.1). */
const instanceName = z
  .string()
  .trim()
  .regex(/^[a-zA-Z0-9 _-]{1,64}$/, 'must be 1 to 64 letters, digits, spaces, "_" and "-"');

const MAX_INSTRUCTIONS_LENGTH = 100_000;

/** Highest `max_tool_calls` of an advisor or a subagent. */
const MAX_INNER_TOOL_CALLS = 25;

const helper = {
  name: instanceName.optional(),
  model: slug.optional(),
  instructions: z.string().max(MAX_INSTRUCTIONS_LENGTH).optional(),
  tools: z.array(serverTool).max(MAX_FUSION_TOOLS).optional(),
  max_tool_calls: z.int().min(1).max(MAX_INNER_TOOL_CALLS).optional(),
  ...sampling,
};

const advisor = closed({ ...helper, forward_transcript: z.boolean().optional(), stream: z.boolean().optional() });

/** `parameters` of `router:advisor` (gaps 2.1). `stream` changes nothing for chat completions. */
export const parseAdvisorOptions = optionsParser(advisor);

const NO_FUNCTIONS = 'must be left out: a subagent cannot call functions of the caller, only server tools';

const subagent = closed({
  ...helper,
  inherit_functions: z.literal(false, NO_FUNCTIONS).optional(),
  inherited_function_names: z.array(z.unknown()).max(0, NO_FUNCTIONS).optional(),
});

/** `parameters` of `router:subagent` (gaps 2.1). */
export const parseSubagentOptions = optionsParser(subagent);

/** What a request says about the plugin `fusion`. */
export type FusionPluginOptions = z.output<typeof fusionPlugin>;
/** What a request says about `router:fusion`. */
export type FusionToolOptions = z.output<typeof fusionTool>;
/** What a request says about `router:advisor`. */
export type AdvisorOptions = z.output<typeof advisor>;
/** What a request says about `router:subagent`. */
export type SubagentOptions = z.output<typeof subagent>;
/** Name of a panel that fusion knows. */
export type FusionPreset = (typeof FUSION_PRESETS)[number];

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
