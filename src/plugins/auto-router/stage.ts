import type { StageRecord } from '../../core/pipeline/plugin-context.ts';
import type { Choice } from './choose-models.ts';
import type { RankedBy } from './ranking.ts';
import type { SafeClassification } from './classify-safely.ts';

const RANKED_BY: Readonly<Record<RankedBy, string>> = {
  scores: 'ranked by scores',
  default_models: 'in the default order, because no candidate has a score for this task',
  price: 'ranked by price, because no candidate has a score for this task',
};

const FIRST: Readonly<Record<Choice['first'], string>> = {
  rank: '',
  session: '; the session keeps its model',
  pin_model: '; the conversation keeps its model',
};

/** The entry of `router_metadata.pipeline` that explains a choice (gaps 6.5: router stage, `task_type`). */
export function describeChoice(
  id: string,
  { task, confidence }: SafeClassification,
  { chosen, candidates, inBand, band, by, first }: Choice,
  degraded: readonly string[],
): StageRecord {
  const [best] = chosen;
  const found = `${task}: ${best?.model.id ?? 'no model'}`;
  const broken = degraded.length === 0 ? '' : `; went on without ${degraded.join(' and ')}`;
  return {
    type: 'router',
    name: id,
    summary: `${found} of ${candidates}, ${inBand} in the cost band, ${RANKED_BY[by]}${FIRST[first]}${broken}`,
    data: {
      task_type: task,
      confidence: Math.round(confidence * 100) / 100,
      ranking: by,
      first_by: first,
      cost_band: [band.from, band.to],
      candidates,
      in_cost_band: inBand,
      models: chosen.map(({ model }) => model.id),
      ...(degraded.length === 0 ? {} : { degraded: [...degraded] }),
    },
  };
}
