import type { ReportedUsage } from '../stream/pieces.ts';

/** Vectors as a provider gave them, before ids, prices and metadata of ours are added. */
export interface UpstreamEmbeddings {
  /** One for each input, in their order. */
  readonly vectors: readonly (Float32Array | readonly number[])[];
  readonly usage?: ReportedUsage | undefined;
}
