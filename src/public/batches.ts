/** Public surface: batches and webhooks. */
export type { BatchesOptions, WebhooksOptions } from '../config-batches.ts';
export type { BatchOptions, Batches, ListBatchesOptions } from '../runtime/batches/batches.ts';
export type { CreateBatchOptions, NewBatch } from '../runtime/batches/create-batch.ts';
export type { BatchLimits } from '../runtime/batches/limits.ts';
export { FAIL_POINTS } from '../runtime/batches/fail-point.ts';
export type { FailPoint, ReachFailPoint } from '../runtime/batches/fail-point.ts';
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
} from '../queue/task-queue.ts';
export { WebhookVerificationError, verifyWebhook } from '../runtime/webhooks/verify-webhook.ts';
export type { WebhookDelivery } from '../runtime/webhooks/verify-webhook.ts';
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
} from '../providers/native-batches.ts';
