import type { ModelTarget, NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { Plugin } from '../../contracts/plugin.ts';
import { definePlugin } from '../../core/pipeline/define-plugin.ts';
import { checkShape } from '../../platform/option-kinds.ts';
import type { PlanContext } from '../../contracts/plugin-context.ts';
import { errorOf, RouterError } from '../../protocol/router-error.ts';
import { type FusionPluginOptions, parseFusionPluginOptions } from '../../protocol/inner-model-options.ts';
import type { ServerTool } from '../../protocol/tools.ts';
import { FUSION_OPTIONS, FUSION_TOOL, type FusionOptions } from './fusion-tool.ts';
import { type FusionTeams, outerModels } from './team.ts';

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

    onRequest(request, wish, context) {
      if (!context.serverTools.has(FUSION_TOOL)) throw notRegistered();
      context.stage({ summary: `offered ${FUSION_TOOL} to the model` });
      return { type: 'continue', change: { serverTools: withFusion(request, wish) } };
    },

    onCandidates(targets, request, wish, context) {
      return targets.flatMap((target) =>
        MODELS.includes(target.model) ? resolve(target, request, wish, context, teams) : [target],
      );
    },
  });
}

/** The tool with the plugin's options; what the request's own entry of the tool says wins. */
function withFusion(request: NormalizedRequest, options: FusionPluginOptions): readonly ServerTool[] {
  const own = request.serverTools.find(({ type }) => type === FUSION_TOOL);
  const flash = request.targets.some(({ model }) => model === FUSION_FLASH);
  const preset = options.preset ?? (flash ? 'general-fast' : undefined);
  const wish = { ...options, ...(preset === undefined ? {} : { preset }), on_failure: 'error' };
  const tool: ServerTool = { type: FUSION_TOOL, parameters: { ...wish, ...own?.parameters } };
  return [...request.serverTools.filter((one) => one !== own), tool];
}

function resolve(
  { model, sort, admitTier }: ModelTarget,
  request: NormalizedRequest,
  options: FusionPluginOptions,
  context: PlanContext,
  teams: FusionTeams,
): readonly ModelTarget[] {
  const preset = options.preset ?? (model === FUSION_FLASH ? 'general-fast' : undefined);
  const names = outerModels({ ...options, preset }, { catalog: context.catalog, request, teams });
  return names.map((name) => {
    const found = context.target(name, 'fusion');
    if (found === undefined) throw unknownModel(name, options.model !== undefined);
    return { ...found, sort: found.sort ?? sort, admitTier: found.admitTier ?? admitTier };
  });
}

function unknownModel(name: string, isOfRequest: boolean): RouterError {
  return new RouterError({
    status: isOfRequest ? 400 : 500,
    errorType: isOfRequest ? 'invalid_request' : 'server',
    message: `${name} is not a valid model ID for fusion: it must be a model of this router that somebody serves`,
  });
}

function notRegistered(): RouterError {
  return errorOf(500, 'The plugin "fusion" needs its tool: createRouter({ serverTools: defaultServerTools() })');
}
