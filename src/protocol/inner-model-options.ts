/** The options of plugins and tools that call other models, and their schemas. */
import { defaulted, nullish, optional, refine } from '../schema/modifiers.ts';
import type { OutputOf, Schema } from '../schema/form.ts';
import { read } from './issues.ts';
import { jsonObject, array } from '../schema/collections.ts';
import { unknown, literal, boolean, integer, number, string, enumeration } from '../schema/scalars.ts';
import { object } from '../schema/object.ts';
import { cacheControlSchema } from './content-part.ts';
import { closed, identifier } from './fields.ts';
import { MAX_FUSION_MODELS, MAX_FUSION_TOOL_CALLS, MAX_FUSION_TOOLS, MAX_MODEL_SLUG_LENGTH } from './limits.ts';
import { optionsParser } from './options.ts';
import { reasoningEffortSchema } from './reasoning.ts';
import { isServerToolType, type ServerTool } from './tools.ts';
import { modelPatternsSchema } from './plugins.ts';

/** Names of the panels of fusion. */
const FUSION_PRESETS = ['general-high', 'general-budget', 'general-fast'] as const;

const slug = identifier(1, MAX_MODEL_SLUG_LENGTH);

const SERVER_TOOL = 'must be a server tool such as "router:web_search"';

const serverTool = closed({
  type: refine(string({ says: SERVER_TOOL }), { test: isServerToolType, says: SERVER_TOOL }),
  parameters: nullish(jsonObject),
}) as Schema<ServerTool>;

const reasoning = refine(
  closed({
    effort: nullish(reasoningEffortSchema),
    max_tokens: nullish(integer({ least: 1 })),
  }),
  {
    test: ({ effort, max_tokens: tokens }) => effort == null || tokens == null,
    says: 'must not set both effort and max_tokens',
  },
);

/** How another model is to answer. */
const sampling = {
  max_completion_tokens: optional(integer({ least: 1 })),
  reasoning: optional(reasoning),
  temperature: optional(number({ least: 0, most: 2 })),
};

const isFusion = (type: string): boolean => /^(?:open)?router[:/]fusion(?:-flash)?(?::|$)/.test(type);
const ITSELF = 'must not be fusion itself: panels do not deliberate within panels';

const otherModel = refine(slug, { test: (model) => !isFusion(model), says: ITSELF });

const fusion = {
  analysis_models: optional(array(otherModel, { least: 1, most: MAX_FUSION_MODELS })),
  model: optional(otherModel),
  preset: optional(enumeration(FUSION_PRESETS)),
  max_tool_calls: optional(integer({ least: 1, most: MAX_FUSION_TOOL_CALLS })),
  tools: optional(
    array(refine(serverTool, { test: ({ type }) => !isFusion(type), says: ITSELF, path: ['type'] }), {
      most: MAX_FUSION_TOOLS,
    }),
  ),
};

/** Schema of {@link FusionPluginOptions}. */
export const fusionPluginSchema = closed(fusion);

/** Options of the plugin `fusion` (contract: plugins; gaps 5.10). */
export const parseFusionPluginOptions = optionsParser(fusionPluginSchema);

/** Schema of {@link FusionToolOptions}. */
export const fusionToolSchema = closed({
  ...fusion,
  ...sampling,
  cache_control: optional(cacheControlSchema),
  on_failure: optional(enumeration(['tell', 'error'])),
});

/** `parameters` of `router:fusion` (gaps 5.10). `on_failure` is this router's own. */
export const parseFusionToolOptions = optionsParser(fusionToolSchema);

/** Name of one of several advisors or subagents (gaps 2.1). */
const instanceName = string({
  isTrimmed: true,
  pattern: [/^[a-zA-Z0-9 _-]{1,64}$/, 'must be 1 to 64 letters, digits, spaces, "_" and "-"'],
});

const MAX_INSTRUCTIONS_LENGTH = 100_000;

/** Highest `max_tool_calls` of an advisor or a subagent. */
const MAX_INNER_TOOL_CALLS = 25;

const helper = {
  name: optional(instanceName),
  model: optional(slug),
  instructions: optional(string({ most: MAX_INSTRUCTIONS_LENGTH })),
  tools: optional(array(serverTool, { most: MAX_FUSION_TOOLS })),
  max_tool_calls: optional(integer({ least: 1, most: MAX_INNER_TOOL_CALLS })),
  ...sampling,
};

/** Schema of {@link AdvisorOptions}. */
export const advisorSchema = closed({ ...helper, forward_transcript: optional(boolean), stream: optional(boolean) });

/** `parameters` of `router:advisor` (gaps 2.1). `stream` changes nothing for chat completions. */
export const parseAdvisorOptions = optionsParser(advisorSchema);

const NO_FUNCTIONS = 'must be left out: a subagent cannot call functions of the caller, only server tools';

/** Schema of {@link SubagentOptions}. */
export const subagentSchema = closed({
  ...helper,
  inherit_functions: optional(literal(false, NO_FUNCTIONS)),
  inherited_function_names: optional(array(unknown, { most: 0, says: NO_FUNCTIONS })),
});

/** `parameters` of `router:subagent` (gaps 2.1). */
export const parseSubagentOptions = optionsParser(subagentSchema);

/** What a request says about the plugin `fusion`. */
export type FusionPluginOptions = OutputOf<typeof fusionPluginSchema>;
/** What a request says about `router:fusion`. */
export type FusionToolOptions = OutputOf<typeof fusionToolSchema>;
/** What a request says about `router:advisor`. */
export type AdvisorOptions = OutputOf<typeof advisorSchema>;
/** What a request says about `router:subagent`. */
export type SubagentOptions = OutputOf<typeof subagentSchema>;
/** Name of a panel of fusion. */
export type FusionPreset = (typeof FUSION_PRESETS)[number];

const autoFields = {
  allowed_models: optional(modelPatternsSchema),
  excluded_models: optional(modelPatternsSchema),
  cost_tier: optional(enumeration(['low', 'medium', 'high', 'xhigh', 'max'])),
  cost_quality_tradeoff: optional(integer({ least: 0, most: 10 })),
};

/** Schema of {@link AutoRouterEntry}. */
export const autoRouterSchema = closed({ ...autoFields, pin_model: optional(boolean) });

/** Schema of {@link ParetoRouterEntry}. */
export const paretoRouterSchema = closed({
  max_price: optional(number({ least: 0 })),
  min_coding_score: optional(number({ least: 0, most: 1 })),
  price_source: optional(enumeration(['prompt', 'weighted_avg'])),
});

/** Options of `auto-router` (contract: plugin objects; gaps 5.1). */
export type AutoRouterEntry = OutputOf<typeof autoRouterSchema>;

/** Options of `pareto-router` (contract: plugin objects; gaps 5.9). */
export type ParetoRouterEntry = OutputOf<typeof paretoRouterSchema>;

/** Checks an entry of `auto-router`. */
export const parseAutoRouterOptions = optionsParser(autoRouterSchema);

/** Checks an entry of `auto-beta-router`, which cannot pin a model (gaps 5.2). */
export const parseAutoBetaRouterOptions = optionsParser(closed(autoFields));

/** Checks an entry of `pareto-router`. */
export const parseParetoRouterOptions = optionsParser(paretoRouterSchema);

const some = <Item>(item: Schema<Item>): Schema<Item[]> => defaulted(array(item), () => []);

/** Schema of a {@link FusionAnalysis}. */
export const analysisSchema = object({
  consensus: some(string()),
  contradictions: some(object({ topic: string(), stances: some(object({ model: string(), stance: string() })) })),
  partial_coverage: some(object({ models: some(string()), point: string() })),
  unique_insights: some(object({ model: string(), insight: string() })),
  blind_spots: some(string()),
});

/** What the analyst of a panel found (gaps 5.10). */
export type FusionAnalysis = OutputOf<typeof analysisSchema>;

/** Reads an analysis out of a model's answer, also out of a fence or between sentences; undefined when there is none. */
export function readFusionAnalysis(answer: string): FusionAnalysis | undefined {
  const from = answer.indexOf('{');
  const to = answer.lastIndexOf('}');
  if (from < 0 || to < from) return undefined;
  try {
    const parsed = read(analysisSchema, JSON.parse(answer.slice(from, to + 1)));
    if (!parsed.ok) return undefined;
    // An object without any of the members is something else.
    return Object.values(parsed.value).some((found) => found.length > 0) ? parsed.value : undefined;
  } catch {
    return undefined;
  }
}
