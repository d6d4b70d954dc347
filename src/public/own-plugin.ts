/** Public surface: what a plugin or a server tool of your own is made of. */
export { definePlugin } from '../core/pipeline/plugin.ts';
export type { Plugin, PluginAnswer, Verdict } from '../core/pipeline/plugin.ts';
export type { CandidatesContext } from '../core/pipeline/candidates-context.ts';
export type { UsableTarget } from '../core/selection/usable.ts';
export type { PluginDefault } from '../core/pipeline/plugin-default.ts';
export type {
  Awaitable,
  InnerCallOptions,
  PlanContext,
  PluginCause,
  PluginContext,
  ServiceUse,
  StageRecord,
} from '../core/pipeline/plugin-context.ts';
export type { RequestChange } from '../core/pipeline/request-change.ts';
export type { ChunkTransform } from '../core/pipeline/chunk-transform.ts';
export { defineServerTool } from '../core/pipeline/server-tool.ts';
export type { ServerToolDefinition, ToolContext, ToolFunction, ToolOutcome } from '../core/pipeline/server-tool.ts';
export { textAnswer } from '../core/pipeline/text-answer.ts';
export type { OptionsCheck, OptionsParser } from '../protocol/options.ts';
