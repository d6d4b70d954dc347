import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOutbound } from '../../src/net/outbound.ts';
import { loadFile } from '../../src/plugins/file-parser/load-file.ts';
import { guardedFetcher } from '../../src/plugins/services/pages/guarded-fetcher.ts';
import { guardedDownload } from '../../src/providers/guarded-download.ts';
import type { LookupAddress } from '../../src/net/guarded-connector.ts';
import { createGuardedTransport } from '../../src/net/undici.ts';
import { systemEnvironment } from '../../src/platform/environment.ts';
import { deliverWebhook } from '../../src/runtime/batches/deliver-webhook.ts';
import { SPECIAL_ADDRESSES } from '../support/special-addresses.ts';
import type { Outbound } from '../../src/net/outbound-request.ts';

const { signal } = new AbortController();
/** Name that leads to the server of the test, which the program vouches for; it redirects to where its path says. */
const GOOD = 'good.example';
const FORBIDDEN = /must lead to a host on the public internet|could not be reached/;

/** Everything that dials an address which a user gave. Each rejects, or tells that nothing came back. */
const PLACES: Readonly<Record<string, (url: string, outbound: Outbound) => Promise<unknown>>> = {
  'pages to fetch': (url, outbound) => guardedFetcher({}, outbound).fetch({ url, admit: () => {}, signal }),
  'files to parse': (url, outbound) => {
    const found = { part: { type: 'file', file: { file_data: url } }, path: 'messages[0].content[0].file' } as const;
    const sources = { outbound: () => outbound, store: undefined, maxBytes: 1_000 };
    return loadFile(found, sources, { account: 'one', signal });
  },
  'files for AI SDK models': (url, outbound) => guardedDownload(outbound).download(new URL(url), signal),
  async webhooks(url, outbound) {
    const ports = { outbound, environment: systemEnvironment(), secrets: [], brand: 'router' } as const;
    const event = { url: url.replace('http:', 'https:'), id: 'one', idempotencyKey: 'one', body: '{}' };
    const { status } = await deliverWebhook(event, ports, signal);
    throw new Error(status === undefined ? 'could not be reached' : `answered ${status}`);
  },
};

let server: Server;
let port = 0;
const requests: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    requests.push(request.url ?? '');
    response.writeHead(302, { location: decodeURIComponent(request.url?.slice(1) ?? '') }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as AddressInfo);
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** A door behind which every name but {@link GOOD} leads to these addresses. */
function door(addresses: readonly string[]): Outbound {
  const lookup = (name: string, callback: (error: Error | null, found: readonly LookupAddress[]) => void): void => {
    const found = name === GOOD ? ['127.0.0.1'] : addresses;
    callback(
      null,
      found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  // The port of the server is allowed everywhere, so that only the address decides.
  const options = { ports: [port, 443], allowedHosts: [`${GOOD}:${port}`] };
  return createOutbound(options, systemEnvironment(), (guard) =>
    Promise.resolve(createGuardedTransport(guard, lookup)),
  );
}

function literal(address: string): string {
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}/`;
}

/** How an address can be hidden: the URL to give, and what names lead to. */
const FORMS: Readonly<Record<string, (address: string) => readonly [url: string, addresses: readonly string[]]>> = {
  literally: (address) => [literal(address), []],
  'behind a name': (address) => [`http://name.example:${port}/`, [address]],
  'behind a name beside a public one': (address) => [`http://name.example:${port}/`, ['192.0.1.1', address]],
  'behind a redirect': (address) => [`http://${GOOD}:${port}/${encodeURIComponent(literal(address))}`, []],
  'behind a redirect to a name': (address) => [
    `http://${GOOD}:${port}/${encodeURIComponent(`http://name.example:${port}/`)}`,
    [address],
  ],
};
const CASES = Object.keys(PLACES).flatMap((place) => Object.keys(FORMS).map((form) => [place, form] as const));

describe('an address with a special purpose', () => {
  it.each(CASES)('is not dialled for %s when it stands %s', async (place, form) => {
    requests.length = 0;
    const problems = await Promise.all(
      SPECIAL_ADDRESSES.map(async (address) => {
        const [url, addresses] = FORMS[form]?.(address) ?? ['', []];
        const outbound = door(addresses);
        try {
          await PLACES[place]?.(url, outbound);
          return `${address} was reached`;
        } catch (error) {
          return FORBIDDEN.test(String(error)) ? '' : `${address}: ${String(error)}`;
        } finally {
          await outbound.close();
        }
      }),
    );
    expect(problems.filter((problem) => problem !== '')).toEqual([]);
    // The first leg of a redirect only; webhooks speak TLS, which this server does not.
    const isRedirect = form.startsWith('behind a redirect') && place !== 'webhooks';
    expect(requests).toHaveLength(isRedirect ? SPECIAL_ADDRESSES.length : 0);
  });
});
