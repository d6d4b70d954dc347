import { option, type OptionsOf, type OptionTable } from '../option.ts';

/** Which addresses that users give may be called. */
export const OUTBOUND = {
  /** Ports that may be called. Default 80, 443, 8443. */
  ports: option.list(option.whole(1), { default: [80, 443, 8_443] }),
  /**
   * Hosts that may be called whatever their address, as `host:port`: a search engine in the same network, for example.
   * Default: none.
   */
  allowedHosts: option.list(option.text()),
} satisfies OptionTable;

/** Which addresses that users give may be called, set by the embedding program. */
export interface OutboundOptions extends OptionsOf<typeof OUTBOUND> {}
