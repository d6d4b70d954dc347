/** The options of the HTTP API and of outgoing connections. */
import { option, type OptionsOf, type OptionTable, required, type ResolvedOf } from './option.ts';

/** Spelling of names in answers; on input both are always understood. */
export type Brand = (typeof BRANDS)[number];

/** All brands. */
export const BRANDS = ['router', 'openrouter'] as const;

/** When comments keep a quiet stream open. */
export const KEEP_ALIVE = {
  /** Quiet time before the first comment. From it on, errors can only be sent inside the stream. Default 1,000. */
  firstMs: option.ms({ default: 1_000 }),
  /** Time between two comments. Servers and proxies end what is silent for longer: Bun after 10 seconds. Default 5,000. */
  everyMs: option.ms({ default: 5_000 }),
} satisfies OptionTable;

/** When comments keep a quiet stream open, in milliseconds. */
export interface KeepAlive extends ResolvedOf<typeof KEEP_ALIVE> {}

/** A token of HTTP. */
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]{1,100}$/;

/** Which sites' pages may call from a browser. */
export const CORS = {
  /** Origins such as `https://app.example.com`; `'*'` for pages of all sites. */
  origins: required(option.unknown<'*' | readonly string[]>("'*' | string[]")),
  /**
   * Names of more headers that these pages may send, such as `X-Team`. The router's own, and those of the SDKs of OpenAI,
   * Anthropic and Vercel, always may. Default: none.
   */
  headers: option.array(option.stringThat('the name of a header, such as "X-Team"', HEADER_NAME)),
} satisfies OptionTable;

/** Which sites' pages may call from a browser. */
export interface Cors extends OptionsOf<typeof CORS> {}

/** As {@link URL} spells them, because with that they are compared. */
const HOST_AND_PORT = /^(?:\[[\da-f:]+\]|[^\s/:A-Z]+):\d{1,5}$/;

/** A certificate in PEM. */
const PEM = () => option.stringThat('a certificate in PEM, with its BEGIN line', /-----BEGIN CERTIFICATE-----/);

/** Which addresses that users give may be called. */
export const OUTBOUND = {
  /** Ports that may be called. Default 80, 443, 8443. */
  ports: option.array(option.integer(1), { default: [80, 443, 8_443] }),
  /**
   * Hosts that may be called whatever their address, as `host:port`: a search engine in the same network, for example.
   * Default: none.
   */
  allowedHosts: option.array(
    option.stringThat('a host in small letters with its port, such as "wiki.internal:443"', HOST_AND_PORT),
  ),
} satisfies OptionTable;

/** Which addresses that users give may be called, set by the embedding program. */
export interface OutboundOptions extends OptionsOf<typeof OUTBOUND> {}

/** How connections to providers and to addresses of users leave the process. Node only. */
export const NETWORK = {
  /**
   * Address of an HTTP proxy, such as `http://user:password@proxy.example.com:3128`. Connections through it are opened
   * with CONNECT. Hosts of this machine are called without it. Default: `HTTPS_PROXY` and `HTTP_PROXY` of the environment.
   */
  proxy: option.stringThat('the http(s) address of a proxy, without a path', /^https?:\/\/[^\s/]+\/?$/),
  /**
   * Hosts that are called without the proxy, as `NO_PROXY` has them: `example.com` with all below it, `*.example.com` for
   * those below it alone, `10.0.0.5:8000` for one port, `*` for all. Default: `NO_PROXY` of the environment.
   */
  noProxy: option.array(option.string()),
  /** Certificates in PEM of authorities that are trusted besides those that Node trusts. Default: none. */
  ca: option.union(option.array(PEM()), PEM()),
} satisfies OptionTable;

/** How connections leave the process. */
export interface NetworkOptions extends OptionsOf<typeof NETWORK> {}

/** A host as {@link URL} spells it, with or without a port. */
const HOST = /^(?:\[[\da-f:]+\]|[^\s/:A-Z]+)(?::\d{1,5})?$/;

/** The network of a router. */
export const ROUTER_NETWORK = {
  ...NETWORK,
  /**
   * Hosts of your own network that requests may name as the address of a picture, a file or a video, whoever fetches it:
   * `minio.internal`, or with a port `10.0.0.5:9000`. All others that are private, local or link-local are refused.
   * Default: none.
   */
  allowPrivate: option.array(
    option.stringThat('a host in small letters, with or without a port, such as "minio.internal:9000"', HOST),
  ),
} satisfies OptionTable;

/** How connections leave the process, and which hosts of its network requests may name. */
export interface RouterNetworkOptions extends OptionsOf<typeof ROUTER_NETWORK> {}
