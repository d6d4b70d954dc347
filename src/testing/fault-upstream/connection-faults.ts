import type { Fault } from './fault.ts';
import type { FaultExchange } from './exchange.ts';

/** Faults of the connection itself, before or instead of an answer. */
export const CONNECTION_FAULTS = {
  'U-06-self-signed': { does: 'shows a certificate that nobody vouches for', ...secured('self-signed') },
  'U-06-expired': { does: 'shows a certificate that has expired', ...secured('expired') },
  'U-06-wrong-host': { does: 'shows a certificate for another host', ...secured('wrong-host') },
  'U-07': {
    does: 'takes the connection and never takes part in the TLS handshake',
    secure: true,
    onConnection: (socket) => void socket.resume(),
  },
  'U-08': { does: 'speaks plain HTTP where TLS is expected', secure: true, play: answer },
  'U-09': {
    does: 'takes the connection and closes it without a byte',
    onConnection: (socket) => void socket.end(),
  },
  'U-10': { does: 'resets the connection before it sends headers', play: (exchange) => exchange.reset() },
  'U-11': {
    does: 'answers the first request of a connection and resets it at the second',
    play: (exchange) => (exchange.requestOnConnection === 1 ? exchange.answer() : exchange.reset()),
  },
  'U-26': {
    does: 'is gone without a trace: neither reads nor writes nor closes any more',
    async play(exchange) {
      if (exchange.streaming && exchange.afterChunks > 0) await exchange.begin();
      exchange.socket.pause();
      await exchange.silence();
    },
  },
} as const satisfies Record<string, Fault>;

function secured(certificate: NonNullable<Fault['certificate']>): Pick<Fault, 'secure' | 'certificate' | 'play'> {
  return { secure: true, certificate, play: answer };
}

function answer(exchange: FaultExchange): void {
  exchange.answer();
}
