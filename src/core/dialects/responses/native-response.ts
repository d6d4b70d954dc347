import { type JsonObject, isJsonObject } from '../../../protocol/json.ts';
import type { RouterMetadata } from '../../../protocol/metadata.ts';
import type { Usage } from '../../../protocol/usage.ts';
import type { DialectContext } from '../dialect.ts';
import { responseId } from './ids.ts';
import { metadataMember } from './response-object.ts';
import { costOf } from './usage.ts';

/** What this router knows of an answer that a provider gave in its own words. */
export interface NativeFacts {
  readonly model: string;
  readonly provider?: string | undefined;
  readonly usage?: Usage | undefined;
  readonly metadata?: RouterMetadata | undefined;
}

/** Members whose value at the provider is not the one the caller gave. */
const CALLERS_OWN = ['metadata', 'user', 'safety_identifier'];

/**
 * A provider's own answer with what the caller must see of this router: id, model, what it cost, and the caller's own
 * words where the provider got others.
 */
export function adoptResponse(response: JsonObject, context: DialectContext, facts: NativeFacts): JsonObject {
  const { body, generationId } = context;
  const own = CALLERS_OWN.flatMap((name) =>
    name in response || body[name] != null ? [[name, body[name] ?? (name === 'metadata' ? {} : null)] as const] : [],
  );
  const usage = response['usage'];
  return {
    ...response,
    id: responseId(generationId),
    model: facts.model,
    ...(facts.provider === undefined ? {} : { provider: facts.provider }),
    ...Object.fromEntries(own),
    store: false,
    ...(isJsonObject(usage) && facts.usage !== undefined ? { usage: { ...usage, ...costOf(facts.usage) } } : {}),
    ...metadataMember(context, facts.metadata),
  };
}
