/** The entry point `signalbox/webhooks`: verifies webhooks without the rest of the package. */

// What receives webhooks needs, and nothing of the router.
export { WebhookVerificationError, verifyWebhook } from '../runtime/batches/verify-webhook.ts';
export type { WebhookDelivery } from '../runtime/batches/verify-webhook.ts';
export type { BatchEnd, BatchWebhookEvent } from '../protocol/batch.ts';
