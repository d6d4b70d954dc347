import type { OutboundRules } from './outbound-url.ts';
import type { AddressGuard, Transport } from './transport.ts';

/** One request to a URL that a user gave: a webhook, a page, a picture, a document. */
export interface OutboundRequest {
  readonly url: string;
  /** Default `GET`. */
  readonly method?: 'GET' | 'POST' | 'DELETE' | undefined;
  /** Names and values in turn. Those that authorise are dropped when a redirect leaves the origin. */
  readonly headers?: readonly string[] | undefined;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** `https` refuses plain HTTP. Default `any`. */
  readonly schemes?: OutboundRules['schemes'] | undefined;
  /** Bytes of the body that are kept, after decompression; the rest is cut off. */
  readonly maxBytes: number;
  /** Milliseconds for everything together. */
  readonly timeoutMs: number;
  /** Redirects that are followed. Default 0: a redirect is an answer like any other. */
  readonly maxRedirects?: number | undefined;
  /** Called with every URL before it is called, redirects included; throws to refuse one. */
  readonly admit?: ((url: URL) => void) | undefined;
}

/** What came back. */
export interface OutboundResponse {
  readonly status: number;
  /** The URL that answered, after redirects. */
  readonly url: URL;
  /** A header by its lower-case name. */
  readonly header: (name: string) => string | undefined;
  readonly body: Uint8Array;
  /** True when there was more than is kept. */
  readonly truncated: boolean;
}

/** What comes back, while it comes. Its body must be read to the end or cancelled. */
export interface OutboundStream extends Pick<OutboundResponse, 'status' | 'url' | 'header'> {
  /**
   * The bytes that arrived since the last call; undefined at the end.
   *
   * @throws {@link OutboundError}, also when there are more than `maxBytes`.
   */
  read(): Promise<readonly Uint8Array[] | undefined>;
  /** Drops the rest and frees the connection. */
  cancel(): void;
}

/** The one entry point to URLs that users give. */
export interface Outbound {
  /**
   * Calls a URL.
   *
   * @throws {@link OutboundError}, whose text is fit for the user who gave the URL.
   */
  fetch(request: OutboundRequest): Promise<OutboundResponse>;
  /**
   * The same for an answer that is read as it comes. Its time, size and signal hold until its end.
   *
   * @throws {@link OutboundError}
   */
  open(request: OutboundRequest): Promise<OutboundStream>;
  /**
   * Says early what {@link Outbound.fetch} would say about the URL itself. What its name leads to shows later.
   *
   * @throws {@link OutboundError} with the problem `refused`.
   */
  check(url: string, schemes: OutboundRules['schemes']): Promise<void>;
  close(): Promise<void>;
}

/** Makes the transport behind the entry point. */
export type GuardedTransportFactory = (guard: AddressGuard) => Promise<Transport>;
