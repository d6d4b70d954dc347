/** The plugin and the server tool `fusion`: several models answer, one compares. */
import type { PlanContext } from '../../contracts/plugin-context.ts';
import type { Plugin } from '../../contracts/plugin.ts';
import type { ServerToolDefinition } from '../../contracts/server-tool.ts';
import type { ModelTarget, NormalizedRequest } from '../../contracts/request.ts';
import { definePlugin, defineServerTool } from '../../core/pipeline/define-plugin.ts';
import type { AnySchema } from '../../schema/form.ts';
import { type OptionShape, group, milliseconds, nonEmptyString } from '../../options/values.ts';
import { checkShape } from '../../platform/check-options.ts';
import { array } from '../../schema/collections.ts';
import {
  type FusionPluginOptions,
  type FusionToolOptions,
  parseFusionPluginOptions,
  parseFusionToolOptions,
} from '../../protocol/inner-model-options.ts';
import { RouterError, errorOf } from '../../protocol/router-error.ts';
import type { ServerTool } from '../../protocol/tools.ts';
import { type FusionTeam, type FusionTeams, outerModels, FUSION_TOOL, type TeamContext } from './team.ts';

/** Options of `fusion` and {@link fusionTool}. Give both the same. */
export interface FusionOptions {
  /**
   * Who the presets are. Default: three models picked from the router's catalog by price and benchmark scores, of
   * different authors where possible: the more expensive half without the most expensive for `general-high`, the
   * cheaper half without the cheapest for `general-budget`, the cheapest third, at their fastest providers, for
   * `general-fast`.
   */
  readonly presets?: FusionTeams | undefined;
  /** Milliseconds that each member of a panel may take; who takes longer is lost. Default 120,000. */
  readonly memberTimeoutMs?: number | undefined;
  /** Milliseconds that the analyst may take. Default 90,000. */
  readonly analystTimeoutMs?: number | undefined;
}

const teamKind: AnySchema = group<FusionTeam>({ analysisModels: array(nonEmptyString), model: nonEmptyString });

/** Options of `fusion` and `fusionTool`. */
const FUSION_OPTIONS: OptionShape<FusionOptions> = {
  presets: group<FusionTeams>({ 'general-high': teamKind, 'general-budget': teamKind, 'general-fast': teamKind }),
  memberTimeoutMs: milliseconds,
  analystTimeoutMs: milliseconds,
};

const DEFAULT_MEMBER_MS = 120_000;
const DEFAULT_ANALYST_MS = 90_000;

/**
 * The server tool `router:fusion` (gaps 5.10): a panel of models answers at the same time, an analyst compares what
 * they say, and the calling model writes the answer. Members that fail are in `failed_models`; an analyst that fails
 * leaves the answers without an `analysis`. One call a request, and none within a panel.
 */
export function fusionTool(options: FusionOptions = {}): ServerToolDefinition<FusionToolOptions> {
  checkShape(FUSION_OPTIONS, options, 'fusionTool');
  const { presets: teams = {}, memberTimeoutMs = DEFAULT_MEMBER_MS, analystTimeoutMs = DEFAULT_ANALYST_MS } = options;
  return defineServerTool<FusionToolOptions>({
    type: FUSION_TOOL,
    timeoutMs: memberTimeoutMs + 2 * analystTimeoutMs,
    parseOptions: parseFusionToolOptions,
    innerTools: ({ tools }) => tools ?? [],
    describe: () => ({
      description:
        'Puts a question to a panel of independent models and gives their answers and a comparison: consensus, ' +
        'contradictions, what only some cover, unique insights, blind spots. Slow and costly: use it once, for research, ' +
        'critique and comparisons where being wrong is expensive, not for simple questions.',
      parameters: {
        type: 'object',
        properties: {
          prompt: {
            type: 'string',
            description:
              'The whole question with all that is needed to answer it: the panel does not see this conversation',
          },
        },
        required: ['prompt'],
        additionalProperties: false,
      },
    }),

    async execute(args, requestedOptions, context) {
      const { deliberate } = await import('./deliberation.ts');
      return deliberate(args, requestedOptions, context, { teams, memberTimeoutMs, analystTimeoutMs });
    },
  });
}

const FUSION = 'router/fusion';
const FUSION_FLASH = 'router/fusion-flash';
const MODELS: readonly string[] = [FUSION, FUSION_FLASH];

/**
 * The plugin `fusion` (contract: plugins; gaps 5.10): offers the tool `router:fusion` to the model of a request, and
 * resolves the router models `router/fusion` and `router/fusion-flash` to a model that calls it. The model decides
 * whether a question is worth a panel; `tool_choice: 'required'` decides for it. Needs {@link fusionTool} among the
 * server tools. When a whole panel fails, so does the request, with 502.
 */
export function fusion(options: FusionOptions = {}): Plugin<FusionPluginOptions> {
  checkShape(FUSION_OPTIONS, options, 'fusion');
  const { presets: teams = {} } = options;
  return definePlugin<FusionPluginOptions>({
    id: 'fusion',
    usesServerTools: true,
    models: MODELS,
    whenItThrows: 'fail',
    parseOptions: parseFusionPluginOptions,

    onRequest(request, requestedOptions, context) {
      if (!context.serverTools.has(FUSION_TOOL)) throw notRegistered();
      context.stage({ summary: `offered ${FUSION_TOOL} to the model` });
      return { type: 'continue', change: { serverTools: withFusion(request, requestedOptions) } };
    },

    onCandidates(targets, request, requestedOptions, context) {
      const { catalog } = context;
      return targets.flatMap((target) =>
        MODELS.includes(target.model)
          ? resolve(target, requestedOptions, context, { catalog, request, teams })
          : [target],
      );
    },
  });
}

/** The tool with the plugin's options; what the request's own entry of the tool says wins. */
function withFusion(request: NormalizedRequest, options: FusionPluginOptions): readonly ServerTool[] {
  const own = request.serverTools.find(({ type }) => type === FUSION_TOOL);
  const flash = request.targets.some(({ model }) => model === FUSION_FLASH);
  const preset = options.preset ?? (flash ? 'general-fast' : undefined);
  const requestedOptions = { ...options, ...(preset === undefined ? {} : { preset }), on_failure: 'error' };
  const tool: ServerTool = { type: FUSION_TOOL, parameters: { ...requestedOptions, ...own?.parameters } };
  return [...request.serverTools.filter((one) => one !== own), tool];
}

function resolve(
  { model, sort, admitTier }: ModelTarget,
  options: FusionPluginOptions,
  context: PlanContext,
  teamContext: TeamContext,
): readonly ModelTarget[] {
  const preset = options.preset ?? (model === FUSION_FLASH ? 'general-fast' : undefined);
  const names = outerModels({ ...options, preset }, teamContext);
  return names.map((name) => {
    const found = context.target(name, 'fusion');
    if (found === undefined) throw unknownModel(name, options.model === undefined ? 'router' : 'request');
    return { ...found, sort: found.sort ?? sort, admitTier: found.admitTier ?? admitTier };
  });
}

function unknownModel(name: string, namedBy: 'request' | 'router'): RouterError {
  return new RouterError({
    status: namedBy === 'request' ? 400 : 500,
    errorType: namedBy === 'request' ? 'invalid_request' : 'server',
    message: `${name} is not a valid model ID for fusion: it must be a model that a provider of this router serves`,
  });
}

function notRegistered(): RouterError {
  return errorOf(500, 'The plugin "fusion" needs its tool: createRouter({ serverTools: defaultServerTools() })');
}
