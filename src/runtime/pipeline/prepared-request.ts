import type { NormalizedRequest } from '../../contracts/request.ts';
import type { ActivePlugin } from '../../core/pipeline/choose-plugins.ts';
import type { OfferedTool } from '../../core/pipeline/offer-tools.ts';

/** A request that has passed all checks, and who takes part in it. */
export interface PreparedRequest {
  readonly request: NormalizedRequest;
  readonly plugins: readonly ActivePlugin[];
  /** Server tools that the caller offers, by function name. */
  readonly tools: ReadonlyMap<string, OfferedTool>;
  /** Types of the server tools whose work the provider does by itself. */
  readonly nativeTools: readonly string[];
  /** As its caller sent it, in whatever API format: faults name its paths. */
  readonly body: unknown;
}
