import type { RouterEvents, RouterListener } from '../runtime/chat/events.ts';
import { type Option, option } from './option.ts';

/** Listeners of a router, by the names of their events. What they throw is ignored. */
export const LISTENERS = {
  /** A request begins: it was understood and is about to be planned or sent. */
  request: option.callable<RouterListener<'request'>>('(event: RequestEvent) => void'),
  /** An upstream call begins. */
  attempt_start: option.callable<RouterListener<'attempt_start'>>('(event: AttemptStartEvent) => void'),
  /** An upstream call ended. */
  attempt: option.callable<RouterListener<'attempt'>>('(event: AttemptEvent) => void'),
  /** A hook of a plugin begins. */
  plugin_start: option.callable<RouterListener<'plugin_start'>>('(event: PluginFacts) => void'),
  /** A hook of a plugin ended. */
  plugin: option.callable<RouterListener<'plugin'>>('(event: PluginEvent) => void'),
  /** A call of a server tool begins. */
  tool_start: option.callable<RouterListener<'tool_start'>>('(event: ToolFacts) => void'),
  /** A call of a server tool ended. */
  tool: option.callable<RouterListener<'tool'>>('(event: ToolEvent) => void'),
  /** An endpoint is left alone for a while, or is tried again. */
  health: option.callable<RouterListener<'health'>>('(event: HealthEvent) => void'),
  /** A request was answered. */
  result: option.callable<RouterListener<'result'>>('(event: ResultEvent) => void'),
  /** A request failed, or its client disconnected. */
  error: option.callable<RouterListener<'error'>>('(event: ErrorEvent) => void'),
  /** The router notices something that its operator should know. */
  warning: option.callable<RouterListener<'warning'>>('(event: WarningEvent) => void'),
  /** Something about a batch changed, in the process that changed it. */
  batch: option.callable<RouterListener<'batch'>>('(event: BatchUpdateEvent) => void'),
  /** `router.update` put another configuration in force. */
  configuration: option.callable<RouterListener<'configuration'>>('(event: ConfigurationEvent) => void'),
} satisfies { readonly [Name in keyof RouterEvents]: Option<RouterListener<Name>> };
