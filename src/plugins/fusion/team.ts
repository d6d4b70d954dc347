/** Chooses the panel and the analyst of fusion. */
import type { Catalog } from '../../catalog/catalog.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { FusionPreset } from '../../protocol/inner-model-options.ts';
import type { SortKey } from '../../protocol/provider-preferences.ts';
import { ECONOMICAL, type ModelRule, SMALL, STRONG, rankModels } from '../services/inner-call/rank-models.ts';

/** A panel and its analyst by name, in the place of those that are picked from the catalog. */
export interface FusionTeam {
  /** One to eight models, aliases or presets. Default: picked from the catalog. */
  readonly analysisModels?: readonly string[] | undefined;
  /** Who compares and, for `router/fusion`, writes the answer. Default: picked from the catalog. */
  readonly model?: string | undefined;
}

/** Teams of the program's own, by preset. */
export type FusionTeams = Readonly<Partial<Record<FusionPreset, FusionTeam>>>;

/** Who works on one call. */
export interface ChosenTeam {
  readonly panel: readonly string[];
  readonly analyst: string;
  /** How endpoints are chosen; undefined for the usual way. */
  readonly sort?: SortKey | undefined;
}

/** What choosing depends on. */
export interface TeamContext {
  readonly catalog: Catalog;
  readonly request: NormalizedRequest;
  readonly teams: FusionTeams;
}

/** What a request may say about its team. */
interface RequestedTeam {
  readonly analysis_models?: readonly string[] | undefined;
  readonly model?: string | undefined;
  readonly preset?: FusionPreset | undefined;
}

/** Which models each preset means where the program names none. */
const RULES: Readonly<Record<FusionPreset, ModelRule>> = {
  'general-high': STRONG,
  'general-budget': ECONOMICAL,
  'general-fast': SMALL,
};

/** Models on a panel that nobody named. */
const PANEL_SIZE = 3;

/** The preset of requests that name none. */
export const DEFAULT_PRESET: FusionPreset = 'general-high';

/** Finds out who answers and who compares. What the request names wins over its preset. */
export function chooseTeam(requestedOptions: RequestedTeam, context: TeamContext): ChosenTeam {
  const { catalog, request, teams } = context;
  const preset = requestedOptions.preset ?? DEFAULT_PRESET;
  const own = request.targets.find((target) => target.endpoints.length > 0)?.model;
  const ranked = rankModels(catalog, request, RULES[preset]);
  const named = requestedOptions.analysis_models ?? teams[preset]?.analysisModels;
  // A router of a single model still gets a second look at the question.
  const panel = named ?? (ranked.length > 0 ? ranked.slice(0, PANEL_SIZE) : own === undefined ? [] : [own]);
  const ofPreset = teams[preset]?.model ?? ranked[0];
  const analyst =
    requestedOptions.model ??
    (requestedOptions.preset === undefined ? (own ?? ofPreset) : (ofPreset ?? own)) ??
    panel[0] ??
    '';
  return { panel, analyst, ...(preset === 'general-fast' ? { sort: 'throughput' } : {}) };
}

/** The models that may write the answer of a request for `router/fusion`, best first; they must be able to call tools. */
export function outerModels(
  requestedOptions: RequestedTeam,
  { catalog, request, teams }: TeamContext,
): readonly string[] {
  const preset = requestedOptions.preset ?? DEFAULT_PRESET;
  const named = requestedOptions.model ?? teams[preset]?.model;
  return named === undefined
    ? rankModels(catalog, request, RULES[preset], { needsTools: true }).slice(0, PANEL_SIZE)
    : [named];
}

/** Type of the tool. */
export const FUSION_TOOL = 'router:fusion';
