import type { Choice } from '../../protocol/chat-result.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { ReportedUsage } from './pieces.ts';

/** A whole answer as a provider gave it, before ids, prices and metadata of ours are added. */
export interface UpstreamResult {
  readonly choices: readonly Choice[];
  readonly usage?: ReportedUsage | undefined;
  readonly systemFingerprint?: string | undefined;
  readonly serviceTier?: string | undefined;
  readonly upstreamId?: string | undefined;
  /** The answer in the words of the dialect that was asked in, where the endpoint speaks it. */
  readonly native?: JsonObject | undefined;
}
