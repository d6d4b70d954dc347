/** Public surface: small state in Cloudflare's Durable Objects. */
export { durableObjectStore, StateObject } from '../storage/durable-objects/state-object.ts';
export type {
  DurableObjectContext,
  DurableObjectStoreOptions,
  StateObjectNamespace,
  StateObjectReply,
} from '../storage/durable-objects/state-object.ts';
