import {
  checkShape,
  group,
  listOf,
  milliseconds,
  type OptionKind,
  type OptionShape,
  text,
} from '../../platform/option-kinds.ts';
import type { ServerToolDefinition } from '../../contracts/server-tool.ts';
import { defineServerTool } from '../../core/pipeline/define-plugin.ts';
import { type FusionToolOptions, parseFusionToolOptions } from '../../protocol/inner-model-options.ts';
import type { FusionTeam, FusionTeams } from './team.ts';

/** Options of `fusion` and {@link fusionTool}. Give both the same. */
export interface FusionOptions {
  /**
   * Who the presets are. Default: three models picked from the router's catalog by price and benchmark scores, of
   * different authors where possible: the dearer half without the dearest for `general-high`, the cheaper half without
   * the cheapest for `general-budget`, the cheapest third, at their fastest providers, for `general-fast`.
   */
  readonly presets?: FusionTeams | undefined;
  /** Milliseconds that each member of a panel may take; who takes longer is lost. Default 120,000. */
  readonly memberTimeoutMs?: number | undefined;
  /** Milliseconds that the analyst may take. Default 90,000. */
  readonly analystTimeoutMs?: number | undefined;
}

const teamKind: OptionKind = group<FusionTeam>({ analysisModels: listOf(text), model: text });

/** Options of `fusion` and `fusionTool`. */
export const FUSION_OPTIONS: OptionShape<FusionOptions> = {
  presets: group<FusionTeams>({ 'general-high': teamKind, 'general-budget': teamKind, 'general-fast': teamKind }),
  memberTimeoutMs: milliseconds,
  analystTimeoutMs: milliseconds,
};

/** Type of the tool. */
export const FUSION_TOOL = 'router:fusion';

const DEFAULT_MEMBER_MS = 120_000;
const DEFAULT_ANALYST_MS = 90_000;

/**
 * The server tool `router:fusion` (gaps 5.10): a panel of models answers at the same time, an analyst compares what
 * they say, and the model that asked writes the answer. Members that fail are told in `failed_models`; an analyst that
 * fails leaves the answers without an `analysis`. One call a request, and none within a panel.
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

    async execute(args, wish, context) {
      const { deliberate } = await import('./deliberation.ts');
      return deliberate(args, wish, context, { teams, memberTimeoutMs, analystTimeoutMs });
    },
  });
}
