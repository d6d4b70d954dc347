/** Decides whether a call comes from the same machine. */
import type { Cors } from '../config/router.ts';
import type { CallOrigin } from '../contracts/exchange.ts';

/**
 * True when the caller is a program or a page on this machine, as far as the request can tell: it came over loopback, by
 * HTTP/1.1 or newer, to a name of this machine, past no proxy, and from no page of another site (contract:
 * authentication). A proxy that hides all of this looks the same; see docs/security.md.
 */
export function isLocalCaller(call: CallOrigin, cors: Cors | undefined): boolean {
  const { remoteAddress, header } = call;
  return (
    remoteAddress !== undefined &&
    isLoopback(remoteAddress) &&
    isModern(call) &&
    namesLoopback(header('host')) &&
    !isForwarded(call) &&
    isLocalPage(header('origin'), cors)
  );
}

function isForwarded({ header, headerNames }: CallOrigin): boolean {
  if (headerNames !== undefined) return headerNames().some((name) => OF_PROXIES.has(name));
  return PROXY_HEADERS.some((name) => header(name) !== undefined);
}

/**
 * nginx speaks HTTP/1.0 to what is behind it unless it is told otherwise. Hosts that do not tell the version show it by
 * the header that nginx sends with it.
 */
function isModern({ httpVersion, header }: CallOrigin): boolean {
  if (httpVersion === undefined) return header('connection')?.toLowerCase() !== 'close';
  return httpVersion === '1.1' || Number.parseFloat(httpVersion) >= 1.1;
}

/**
 * Any other name was sent by a proxy that keeps it, or by a browser that was told that a foreign name is this machine
 * (DNS rebinding).
 */
function namesLoopback(host: string | undefined): boolean {
  // Nearly every request comes to the name of the one before.
  if (host !== latest.host) latest = { host, isLocal: isLoopbackName(host) };
  return latest.isLocal;
}

let latest: { readonly host: string | undefined; readonly isLocal: boolean } = { host: undefined, isLocal: false };

function isLoopbackName(host: string | undefined): boolean {
  const name = /^(?:(\[::1\])|([^:]*))(?::\d{0,5})?$/.exec(host ?? '');
  if (name === null) return false;
  return name[1] !== undefined || name[2]?.toLowerCase() === 'localhost' || isLoopback(name[2] ?? '');
}

function isLoopback(address: string): boolean {
  return address === '127.0.0.1' || address === '::1' || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/.test(address);
}

/** Pages of any site can make a browser on this machine call; only its own pages may, and those of named sites. */
function isLocalPage(origin: string | undefined, cors: Cors | undefined): boolean {
  if (origin === undefined || (cors !== undefined && cors.origins !== '*' && cors.origins.includes(origin)))
    return true;
  const host = URL.canParse(origin) ? new URL(origin).hostname : '';
  return host === 'localhost' || host === '[::1]' || host.endsWith('.localhost') || isLoopback(host);
}

/**
 * Headers that reverse proxies, load balancers, content networks and tunnels add, and programs that call by themselves
 * do not: behind one of them, the nearest address says nothing about the caller.
 */
export const PROXY_HEADERS: readonly string[] = [
  // The standard ones, and what most proxies send.
  'forwarded',
  'via',
  'cdn-loop',
  'x-forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-port',
  'x-forwarded-server',
  'x-forwarded-by',
  'x-forwarded-scheme',
  'x-forwarded-ssl',
  'x-forwarded-prefix',
  'x-forwarded-path',
  'x-forwarded-uri',
  'x-forwarded-method',
  'x-forwarded-user',
  'x-forwarded-client-cert',
  'x-forwarded-tls-client-cert',
  'x-original-forwarded-for',
  'x-original-host',
  'x-original-uri',
  'x-original-url',
  'x-real-ip',
  'x-real-port',
  'x-scheme',
  'x-url-scheme',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-remote-ip',
  'x-remote-addr',
  'x-proxyuser-ip',
  'x-host',
  'x-nginx-proxy',
  'x-varnish',
  'client-ip',
  'true-client-ip',
  'proxy-client-ip',
  'wl-proxy-client-ip',
  'front-end-https',
  'ssl-client-verify',
  'surrogate-capability',
  // Cloudflare.
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'cf-pseudo-ipv4',
  'cf-ray',
  'cf-visitor',
  'cf-ipcountry',
  'cf-worker',
  'cf-access-jwt-assertion',
  // Amazon: load balancers and CloudFront.
  'x-amzn-trace-id',
  'x-amz-cf-id',
  'cloudfront-viewer-address',
  'cloudfront-forwarded-proto',
  'x-amzn-oidc-data',
  // Google.
  'x-cloud-trace-context',
  'x-appengine-remote-addr',
  'x-appengine-user-ip',
  'x-goog-iap-jwt-assertion',
  'x-goog-authenticated-user-email',
  // Azure: Front Door, App Service.
  'x-azure-clientip',
  'x-azure-socketip',
  'x-azure-fdid',
  'x-azure-ref',
  'x-arr-ssl',
  'x-arr-log-id',
  'x-arr-clientip',
  'x-ms-client-principal',
  'x-client-port',
  // Envoy and what is made of it.
  'x-envoy-external-address',
  'x-envoy-expected-rq-timeout-ms',
  'x-envoy-internal',
  'x-envoy-original-path',
  // Akamai, Fastly, Imperva, Sucuri.
  'akamai-origin-hop',
  'x-akamai-edgescape',
  'fastly-client-ip',
  'fastly-ssl',
  'fastly-ff',
  'incap-client-ip',
  'x-sucuri-clientip',
  // Tunnels, and proxies that sign people in: Tailscale, ngrok, Pomerium, oauth2-proxy.
  'tailscale-user-login',
  'tailscale-user-name',
  'tailscale-headers-info',
  'tailscale-funnel-request',
  'ngrok-trace-id',
  'ngrok-auth-user-email',
  'x-pomerium-jwt-assertion',
  'x-auth-request-user',
  'x-auth-request-email',
  // DigitalOcean, Fly, Netlify, Railway, Render, Vercel.
  'do-connecting-ip',
  'fly-client-ip',
  'fly-forwarded-port',
  'fly-region',
  'x-nf-client-connection-ip',
  'x-railway-edge',
  'rndr-id',
  'x-vercel-id',
  'x-vercel-forwarded-for',
  'x-vercel-ip-country',
];

const OF_PROXIES: ReadonlySet<string> = new Set(PROXY_HEADERS);
