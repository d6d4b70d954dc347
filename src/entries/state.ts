/** Public surface: where state lives, and what happens. */
export { memoryStore } from '../storage/memory.ts';
export type { MemoryStoreOptions } from '../storage/memory.ts';
export type { ChangedCounters, ChangeName, CounterChange, StateStore } from '../contracts/state-store.ts';
export type { MaybePromise } from '../platform/wait.ts';
export { withLocalFallback } from '../storage/local-fallback.ts';
export type { LocalFallbackOptions } from '../storage/local-fallback.ts';
export { memoryStorage } from '../storage/memory-storage.ts';
export type { MemoryStorageOptions } from '../storage/memory-storage.ts';
export { StorageError } from '../contracts/storage-error.ts';
export type { StorageErrorReason } from '../contracts/storage-error.ts';
export { DuplicateCustomIdError } from '../contracts/batch-store.ts';
export type {
  BatchListQuery,
  BatchStore,
  BatchTask,
  ClaimedItem,
  ClaimedTask,
  IdempotencyKey,
  ItemOutcome,
  NewItem,
  PublishOutcome,
  StoredItem,
  StoredOutcome,
} from '../contracts/batch-store.ts';
export type { BatchFileListQuery, BatchFileRecord, BatchFileStore, ListPage } from '../contracts/batch-file-store.ts';
export type { TraceContext } from '../contracts/trace-context.ts';
export { logSink } from '../observe/log-sink.ts';
export type { Logger } from '../observe/log-sink.ts';
export type { Environment } from '../platform/environment.ts';

/** Public surface: batches and webhooks. */
export type { BatchesOptions, WebhooksOptions } from '../config/batches.ts';
export type { BatchOptions, Batches, ListBatchesOptions } from '../runtime/batches/batches.ts';
export type { BatchFiles, FileOptions, ListFilesOptions, NewFile } from '../runtime/batches/files.ts';
export type { DeletedFile, FileList, FileObject } from '../protocol/batch.ts';
export type { CreateBatchOptions, NewBatch } from '../runtime/batches/create-batch.ts';
export type { BatchLimits } from '../options/limits.ts';
export { localQueue } from '../queue/local.ts';
export type { LocalQueueOptions } from '../queue/local.ts';
export type { TaskPumpOptions } from '../queue/task-pump.ts';
export type {
  QueuePorts,
  TaskHandler,
  TaskQueue,
  TaskQueueFactory,
  TaskResult,
  TaskSignals,
} from '../contracts/task-queue.ts';
export { WebhookVerificationError, verifyWebhook } from '../runtime/batches/verify-webhook.ts';
export type { WebhookDelivery } from '../runtime/batches/verify-webhook.ts';
export type {
  NativeBatches,
  NativeCall,
  NativeItem,
  NativeJob,
  NativeJobCall,
  NativeLookup,
  NativeReply,
  NativeResult,
  NativeState,
  NativeSubmission,
} from '../contracts/native-batches.ts';
export type { BatchPreferences, BatchRecord, BatchEffect } from '../contracts/batch-record.ts';
export type {
  AttemptEvent,
  AttemptFacts,
  AttemptStartEvent,
  FirstTokenEvent,
  BatchUpdateEvent,
  ConfigurationEvent,
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
  ContentEvent,
  RouterListener,
  RouterListeners,
  StageCosts,
  StageFacts,
  ToolCallOutcome,
  ToolEvent,
  ToolFacts,
  WarningEvent,
} from '../contracts/events.ts';
