import type { Endpoint } from '../../catalog/endpoint.ts';
import {
  type AcceptedConversation,
  type Accepts,
  acceptsOf,
  type VendorAccepts,
  withDifferences,
} from '../../core/accepts.ts';
import { LISTS } from '../accepts/usual.ts';
import type { Dialect } from './dialect.ts';

/** What an endpoint accepts. */
export type AcceptsOfEndpoint = (endpoint: Endpoint) => Accepts;

/**
 * Folds the record of a vendor for each endpoint once: for the model behind it, and with what the program says of its
 * server.
 */
export function foldAccepts(vendor: VendorAccepts, dialect: Dialect): AcceptsOfEndpoint {
  const folded = new WeakMap<Endpoint, Accepts>();
  const conversation = conversationOf(dialect);
  const { efforts, maxTemperature } = dialect;
  const reasoning = efforts === undefined ? {} : { efforts };
  const parameters = maxTemperature === undefined ? {} : { maxTemperature };
  return (endpoint) => {
    const known = folded.get(endpoint);
    if (known !== undefined) return known;
    const accepts = withDifferences(acceptsOf(vendor, endpoint.upstreamModel), { conversation, reasoning, parameters });
    folded.set(endpoint, accepts);
    return accepts;
  };
}

/** Marks of a cache are on parts, so a server that has them takes lists. */
function conversationOf({ conversation, cacheMarks, toolCallIds }: Dialect): Partial<AcceptedConversation> {
  return {
    ...(cacheMarks === undefined ? {} : { lists: LISTS }),
    ...(toolCallIds === undefined ? {} : { toolIds: toolCallIds }),
    ...conversation,
  };
}
