import { isIP, type Socket } from 'node:net';
import * as tls from 'node:tls';
import { buildConnector, Pool } from 'undici';
import type { NetworkOptions } from '../options/http.ts';
import { readEnvironment } from '../platform/environment.ts';
import { connectionFailure } from './connection-failure.ts';
import { TransportError } from './transport.ts';
import { type AttemptFailure, failure } from '../contracts/failure.ts';

/**
 * Connections through an HTTP proxy, and to servers whose certificates a company's own authority signs. A connection is
 * opened with CONNECT and then is as any other, so pools, limits and repetitions above it stay as they are.
 */

/** Where a connection is to lead, as undici says it. */
type Target = buildConnector.Options;

/** The host that the proxy is to connect to: a name, or an address that was looked at. */
export type HostOfTarget = (target: Target) => Promise<string>;

/** Options of TLS that trust the authorities of a network besides those that Node trusts. */
export function trusting({ ca }: NetworkOptions = {}): { readonly ca?: string[] } {
  if (ca === undefined) return {};
  // A list takes the place of Node's own, in which those of NODE_EXTRA_CA_CERTS are.
  return { ca: [...tls.getCACertificates('default'), ...[ca].flat()] };
}

/**
 * A connector that goes through the proxy of a network, and through another connector for hosts that it is not for.
 *
 * @param direct - Connects without a proxy.
 * @param hostOf - What the proxy is told. Default: the name, which the proxy then looks up.
 */
export function proxiedConnector(
  network: NetworkOptions | undefined,
  options: buildConnector.BuildOptions,
  direct: buildConnector.connector,
  hostOf: HostOfTarget = ({ hostname }) => Promise.resolve(hostname),
): buildConnector.connector {
  const proxyOf = proxyRules(network);
  if (proxyOf === undefined) return direct;
  const secure = buildConnector({ ...options, ...trusting(network) });
  const pools = new Map<string, Pool>();

  function poolOf({ origin }: URL): Pool {
    let pool = pools.get(origin);
    if (pool === undefined) pools.set(origin, (pool = new Pool(origin, { connect: secure, headersTimeout: 0 })));
    return pool;
  }

  async function tunnel(proxy: URL, target: Target): Promise<Socket> {
    const host = await hostOf(target);
    const path = `${isIP(host) === 6 ? `[${host}]` : host}:${portOf(target)}`;
    const headers = { host: path, ...credentialsOf(proxy) };
    const signal = AbortSignal.timeout(options.timeout ?? MAX_CONNECT_MS);
    const opened = await poolOf(proxy)
      .connect({ path, headers, signal })
      .catch((error: unknown) => {
        throw new TransportError(unreachableProxy(error));
      });
    const { statusCode } = opened;
    const socket = opened.socket as Socket;
    if (statusCode === 200) return socket;
    socket.on('error', () => {}).destroy();
    throw new TransportError(refusalOf(statusCode));
  }

  return (target, callback) => {
    const proxy = proxyOf(target);
    if (proxy === undefined) return direct(target, callback);
    tunnel(proxy, target).then(
      (socket) => {
        if (target.protocol !== 'https:') return callback(null, socket);
        const name = target.hostname.replace(/^\[(.*)\]$/, '$1');
        const servername = target.servername || (isIP(name) === 0 ? name : '');
        secure({ ...target, servername, httpSocket: socket }, callback);
      },
      (error: unknown) => callback(error instanceof Error ? error : new Error('no connection'), null),
    );
  };
}

const MAX_CONNECT_MS = 60_000;

function portOf({ port, protocol }: Target): string {
  return port || (protocol === 'https:' ? '443' : '80');
}

function credentialsOf({ username, password }: URL): { readonly 'proxy-authorization'?: string } {
  if (username === '') return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
}

function unreachableProxy(error: unknown): AttemptFailure {
  const { kind, message } = connectionFailure(error);
  return failure(kind, message.replace('The provider', 'The proxy').replace('to the provider', 'to the proxy'));
}

/** Texts of a proxy are pages for people, and may name what is behind it. */
function refusalOf(status: number): AttemptFailure {
  if (status === 407) {
    return failure(
      'unreachable',
      'The proxy requires a user name and a password, or refuses those in its address (407)',
    );
  }
  return failure(status >= 500 ? 'connection' : 'unreachable', `The proxy did not open a connection (${status})`);
}

/** A host that is called without the proxy; of a port alone where it says one. */
interface DirectHost {
  readonly name: string;
  readonly port: string | undefined;
  /** True: the hosts below it, and not itself. */
  readonly below: boolean;
}

/** The proxy for a target; undefined where no network and no variable of the environment names one. */
function proxyRules(network: NetworkOptions | undefined): ((target: Target) => URL | undefined) | undefined {
  const configured = network?.proxy;
  const plain = configured ?? either('http_proxy');
  const secure = configured ?? either('https_proxy') ?? plain;
  if (plain === undefined && secure === undefined) return undefined;
  const [forPlain, forSecure] = [plain, secure].map((address) =>
    address === undefined ? undefined : proxyAt(address),
  );
  const direct = (network?.noProxy ?? (either('no_proxy') ?? '').split(/[\s,]+/)).flatMap(directHost);
  return (target) => {
    const name = target.hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();
    if (isLoopback(name) || direct.some((one) => isOf(one, name, portOf(target)))) return undefined;
    return target.protocol === 'https:' ? forSecure : forPlain;
  };
}

/** A variable of the environment; as everywhere, its name in small letters comes first. */
function either(name: string): string | undefined {
  return readEnvironment(name) ?? readEnvironment(name.toUpperCase());
}

function proxyAt(address: string): URL {
  const url = address.includes('://') ? address : `http://${address}`;
  if (URL.canParse(url) && /^https?:/.test(url)) return new URL(url);
  throw new TransportError(failure('adapter', 'HTTPS_PROXY or HTTP_PROXY is not an http(s) address'));
}

function directHost(entry: string): readonly DirectHost[] {
  const [, below, name = '', port] = /^(\*?\.|(?=\*))?(\[[\da-f:]+\]|[^:]+|[\da-f:]+)(?::(\d+))?$/i.exec(entry) ?? [];
  if (name === '') return [];
  return [{ name: name.replace(/^\[(.*)\]$/, '$1').toLowerCase(), port, below: below === '*.' }];
}

function isOf({ name, port, below }: DirectHost, host: string, ofPort: string): boolean {
  if (port !== undefined && port !== ofPort) return false;
  return name === '*' || (!below && host === name) || host.endsWith(`.${name}`);
}

/** What runs on this machine is never behind a proxy. */
function isLoopback(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || /^127\.\d+\.\d+\.\d+$/.test(name);
}
