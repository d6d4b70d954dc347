import { readFileSync } from 'node:fs';
import { createRouter, simulated } from '../../src/index.ts';

/**
 * What the model routers choose of seven public pools of models.
 *
 * `pools.json` has facts of others, read on 2026-11-27: the accuracy (greedy) of 30 models in six benchmarks of
 * WildEval/ZeroEval (`result_dirs/*.summary.json`, 2025-04-14, Apache-2.0) and their length-controlled win rate in
 * AlpacaEval 2 (tatsu-lab/alpaca_eval, `docs/data_AlpacaEval_2`, 2025-08-09, Apache-2.0); prices in USD per million
 * tokens and context lengths of AgentOps-AI/tokencost (`tokencost/model_prices.json`, 2025-09-05, MIT); months of
 * release as their makers announced them.
 */
interface PublicModel {
  readonly id: string;
  readonly prompt: number;
  readonly completion: number;
  readonly context: number;
  /** Year and month. */
  readonly released: string;
  /** In percent, by pool. */
  readonly scores: Readonly<Record<string, number>>;
}

const MODELS = JSON.parse(readFileSync(new URL('pools.json', import.meta.url), 'utf8')) as readonly PublicModel[];
const POOLS = [...new Set(MODELS.flatMap(({ scores }) => Object.keys(scores)))].sort();

const WISHES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'no setting': { id: 'auto-router' },
  'cost_tier low': { id: 'auto-router', cost_tier: 'low' },
  'cost_tier medium': { id: 'auto-router', cost_tier: 'medium' },
  'cost_tier high': { id: 'auto-router', cost_tier: 'high' },
  'cost_tier max': { id: 'auto-router', cost_tier: 'max' },
  'tradeoff 0': { id: 'auto-router', cost_quality_tradeoff: 0 },
  'min_coding_score 1': { id: 'pareto-router', min_coding_score: 1 },
  'min_coding_score 0.4': { id: 'pareto-router', min_coding_score: 0.4 },
};

/** Prints, for each pool, what is chosen with scores, by wish, and what without any. */
export async function tellPools(): Promise<void> {
  let beaten = 0;
  let choices = 0;
  for (const pool of POOLS) {
    const models = MODELS.filter(({ scores }) => pool in scores);
    const mean = models.reduce((sum, model) => sum + scoreIn(pool, model), 0) / models.length;
    const best = Math.max(...models.map((model) => scoreIn(pool, model)));
    const said: string[] = [];
    for (const [wish, entry] of Object.entries(WISHES)) {
      const taken = await choice(models, entry, pool);
      const better = models.filter((other) => scoreIn(pool, other) > scoreIn(pool, taken));
      if (better.some((other) => costOf(other) <= costOf(taken))) beaten += 1;
      choices += 1;
      said.push(`${wish} ${scoreIn(pool, taken)} at ${costOf(taken).toFixed(2)}`);
    }
    const blind = scoreIn(pool, await choice(models, { id: 'auto-router' }));
    const below = blind < mean ? ', below the mean' : '';
    console.log(`pool ${pool}, ${models.length} models, mean ${mean.toFixed(1)}, best ${best}: ${said.join(', ')}`);
    console.log(`pool ${pool} without scores: ${blind}${below}`);
  }
  console.log(`pools: ${beaten} of ${choices} choices are beaten by a better model that costs no more`);
}

async function choice(
  models: readonly PublicModel[],
  entry: Readonly<Record<string, unknown>>,
  pool?: string,
): Promise<PublicModel> {
  const own = Object.fromEntries(
    models.map(({ id, prompt, completion, context }) => [
      id,
      { price: { prompt, completion }, contextLength: context },
    ]),
  );
  const infos = Object.fromEntries(
    models.map((model) => [
      model.id,
      {
        created: Date.parse(`${model.released}-01T00:00:00Z`) / 1_000,
        ...(pool === undefined ? {} : { scores: scoresOf(scoreIn(pool, model) / 100) }),
      },
    ]),
  );
  const router = createRouter({ models: infos, providers: [simulated({ models: own })] });
  const { steps } = await router.explain({
    model: entry['id'] === 'pareto-router' ? 'router/pareto-code' : 'router/auto',
    messages: [{ role: 'user', content: 'Which of these is right?' }],
    plugins: [entry as { id: string }],
  });
  await router.close();
  const taken = models.find(({ id }) => id === steps[0]?.model);
  if (taken === undefined) throw new Error(`nothing was chosen of ${pool}`);
  return taken;
}

function scoresOf(score: number): Readonly<Record<string, number>> {
  return { general: score, coding: score };
}

function scoreIn(pool: string, { scores }: PublicModel): number {
  return scores[pool] ?? 0;
}

function costOf({ prompt, completion }: PublicModel): number {
  return prompt + completion;
}
