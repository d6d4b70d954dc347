/** Public surface: small state in Cloudflare's Durable Objects. */
export { durableObjectStore } from '../storage/durable-objects/durable-object-store.ts';
export type {
  DurableObjectStoreOptions,
  StateObjectNamespace,
  StateObjectReply,
} from '../storage/durable-objects/durable-object-store.ts';
export { StateObject } from '../storage/durable-objects/state-object.ts';
export type { DurableObjectContext } from '../storage/durable-objects/state-object.ts';
