import type { CandidatesContext } from '../../core/pipeline/candidates-context.ts';
import { type Candidate, stickyCandidate, withFirst } from '../model-choice/candidates.ts';
import { type CostBand, withinBand } from './cost-band.ts';
import { type RankedBy, ranked } from './ranking.ts';

/** What decides among the candidates. */
export interface ChoosingRules {
  readonly scoreOf: (candidate: Candidate) => number | undefined;
  readonly defaultModels: readonly string[];
  readonly maxModels: number;
  readonly band: CostBand;
  /** Model that comes first wherever it is a candidate, whatever it costs. */
  readonly pinned?: string | undefined;
  readonly context: CandidatesContext;
}

/** What was chosen, and why. */
export interface Choice {
  /** The first choice and its fallbacks. */
  readonly chosen: readonly Candidate[];
  /** How many models the request could have used. */
  readonly candidates: number;
  /** How many of those were in the cost band. */
  readonly inBand: number;
  readonly band: CostBand;
  readonly by: RankedBy;
  /** Why the first is the first. */
  readonly first: 'rank' | 'session' | 'pin_model';
}

/** Orders candidates: the pinned one, that of the session, the cost band by rank, and stand-ins by price. */
export function chooseModels(candidates: readonly Candidate[], rules: ChoosingRules): Choice {
  const { band, context, maxModels, pinned } = rules;
  const { inside, reserve } = withinBand(candidates, band);
  const { ranking, by } = ranked(inside, rules.scoreOf, rules.defaultModels);
  const chain = [...ranking, ...reserve];
  const kept = pinned === undefined ? undefined : candidates.find(({ model }) => model.id === pinned);
  const sticky = kept === undefined ? stickyCandidate(chain, context) : undefined;
  const chosen = withFirst(kept ?? sticky, chain).slice(0, maxModels);
  const isChosen = new Set(chosen);
  const isRanked = new Set(chain);
  for (const one of candidates) {
    if (isChosen.has(one)) continue;
    context.leaveOut(
      one.target,
      isRanked.has(one) ? `ranked below the first ${maxModels}` : 'outside of the cost band',
    );
  }
  return {
    chosen,
    candidates: candidates.length,
    inBand: inside.length,
    band,
    by,
    first: kept !== undefined ? 'pin_model' : sticky !== undefined ? 'session' : 'rank',
  };
}
