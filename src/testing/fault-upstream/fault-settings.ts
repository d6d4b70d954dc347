/** When in an answer a fault happens. */
export interface FaultSettings {
  /**
   * Content chunks of a stream that come before the fault. Default 0: it comes before any content, so that a router
   * may still fall back.
   */
  readonly afterChunks?: number | undefined;
  /** For `U-15`: bytes of the response body before the cut. Default: right where the fault would happen. */
  readonly cutAt?: number | undefined;
}
