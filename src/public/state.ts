/** Public surface: where state lives, and what happens. */
export { memoryStore } from '../storage/memory.ts';
export type { MemoryStoreOptions } from '../storage/memory.ts';
export type { ChangedCounters, CounterChange, MaybePromise, StateStore } from '../storage/state-store.ts';
export { withLocalFallback } from '../storage/local-fallback.ts';
export type { LocalFallbackOptions } from '../storage/local-fallback.ts';
export { memoryStorage } from '../storage/memory-storage.ts';
export type { MemoryStorageOptions } from '../storage/memory-storage.ts';
export { StorageError } from '../storage/storage-error.ts';
export type { StorageErrorReason } from '../storage/storage-error.ts';
export { DuplicateCustomIdError } from '../storage/batch-store.ts';
export type {
  BatchListQuery,
  BatchStore,
  BatchTask,
  ClaimedItem,
  ClaimedTask,
  IdempotencyKey,
  ItemOutcome,
  PublishOutcome,
  StoredItem,
  StoredOutcome,
} from '../storage/batch-store.ts';
export type { BatchPreferences, BatchRecord } from '../core/batch/batch-record.ts';
export type { BatchEffect } from '../core/batch/machine.ts';
export type {
  AttemptEvent,
  AttemptFacts,
  AttemptStartEvent,
  BatchUpdateEvent,
  ErrorEvent,
  HealthEvent,
  NumericParameter,
  PluginEvent,
  PluginFacts,
  PluginOutcome,
  RequestEvent,
  RequestFacts,
  ResultEvent,
  RouterEventSource,
  RouterEvents,
  RouterListener,
  RouterListeners,
  StageCosts,
  StageFacts,
  ToolCallOutcome,
  ToolEvent,
  ToolFacts,
  WarningEvent,
} from '../runtime/events.ts';
export type { TraceContext } from '../core/trace-context.ts';
export { logSink } from '../observe/log-sink.ts';
export type { Logger } from '../observe/log-sink.ts';
export type { Environment } from '../runtime/environment.ts';
