import type { ResolvedConfig } from '../config/resolve-config.ts';
import type { RequestFacts } from '../runtime/chat/events.ts';
import type { LiveRow } from './wire.ts';

/** Members of a request's metadata that the option `ledger.tags` names: the others may be private. */
export function tagsOf(_config: ResolvedConfig, _metadata: RequestFacts['metadata']): LiveRow['tags'] {
  return undefined;
}
