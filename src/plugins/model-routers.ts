/** What the default entry exports of the model routers. */
export { autoBetaRouter, autoRouter } from './auto-router/auto-router.ts';
export type { AutoRouterOptions } from './auto-router/auto-router.ts';
export { localClassifier } from './auto-router/classifier.ts';
export type { Classification, TaskClassifier } from './auto-router/classifier.ts';
export type { Prompt } from './auto-router/prompt-text.ts';
export { catalogScores } from './auto-router/ranking.ts';
export type { RankingSource } from './auto-router/ranking.ts';
export type { TaskType } from './auto-router/task-types.ts';
export type { Candidate } from './model-choice/candidates.ts';
export { paretoRouter } from './pareto-router/pareto-router.ts';
export type { ParetoRouterOptions } from './pareto-router/pareto-router.ts';
