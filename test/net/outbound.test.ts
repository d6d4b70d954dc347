import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createOutbound } from '../../src/net/outbound.ts';
import { OutboundError } from '../../src/net/outbound-error.ts';
import { createGuardedTransport } from '../../src/net/undici.ts';
import type { LookupAddress } from '../../src/net/guarded-connector.ts';
import { systemEnvironment } from '../../src/platform/environment.ts';
import { SPECIAL_ADDRESSES } from '../support/special-addresses.ts';
import type { Outbound } from '../../src/net/outbound-request.ts';

const OPTIONS = { maxBytes: 1_000, timeoutMs: 2_000 };

let answer: (request: IncomingMessage, response: ServerResponse) => void;
const seen: IncomingMessage[] = [];
const server = createServer((request, response) => {
  seen.push(request);
  answer(request, response);
});
let port = 0;
const opened: Outbound[] = [];

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});

beforeEach(() => {
  seen.length = 0;
});

afterAll(async () => {
  await Promise.all(opened.map((one) => one.close()));
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** A door whose names are resolved by the test, one answer after the other; the last one stays. */
function door(answers: readonly (readonly string[])[], allowedHosts: readonly string[] = []): Outbound {
  let asked = 0;
  const lookup = (_: string, callback: (error: Error | null, addresses: readonly LookupAddress[]) => void): void => {
    const addresses = answers[Math.min(asked, answers.length - 1)] ?? [];
    asked += 1;
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  const outbound = createOutbound({ ports: [port, 80, 443], allowedHosts }, systemEnvironment(), (guard) =>
    Promise.resolve(createGuardedTransport(guard, lookup)),
  );
  opened.push(outbound);
  return outbound;
}

async function problemOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof OutboundError)) throw new Error(`expected an OutboundError, got ${String(error)}`);
  return `${error.problem}: ${error.message}`;
}

const UNREACHABLE = 'unreachable: The URL could not be reached';

describe('a name', () => {
  it('that leads to an address with a special purpose is not dialled', async () => {
    const told = SPECIAL_ADDRESSES.map(async (address) => {
      const asked = door([[address]]).fetch({ url: `http://name.example:${port}/`, ...OPTIONS });
      return `${address} ${await problemOf(asked)}`;
    });
    expect(await Promise.all(told)).toEqual(SPECIAL_ADDRESSES.map((address) => `${address} ${UNREACHABLE}`));
    expect(seen).toHaveLength(0);
  });

  it('with one address that is not public is not dialled at all', async () => {
    const outbound = door([['8.8.8.8', '127.0.0.1']]);
    expect(await problemOf(outbound.fetch({ url: `http://name.example:${port}/`, ...OPTIONS }))).toBe(UNREACHABLE);
    expect(seen).toHaveLength(0);
  });

  it('is looked up once for each connection, so that a second answer changes nothing', async () => {
    answer = (_, response) => response.end('inside');
    // The second address is one that nobody listens on.
    const outbound = door([['127.0.0.1'], ['127.0.0.2']], [`name.example:${port}`]);
    const { status } = await outbound.fetch({ url: `http://name.example:${port}/`, ...OPTIONS });
    expect(status).toBe(200);
    expect(seen[0]?.socket.remoteAddress).toBe('127.0.0.1');
  });

  it('that the program vouches for is dialled wherever it leads', async () => {
    answer = (_, response) => response.end('inside');
    const outbound = door([['127.0.0.1']], [`name.example:${port}`]);
    const { status, body } = await outbound.fetch({ url: `http://name.example:${port}/`, ...OPTIONS });
    expect([status, new TextDecoder().decode(body)]).toEqual([200, 'inside']);
  });
});

describe('a redirect', () => {
  const fetchOf = (outbound: Outbound, maxRedirects = 3) =>
    outbound.fetch({
      url: `http://good.example:${port}/`,
      ...OPTIONS,
      maxRedirects,
      headers: ['authorization', 'Bearer key', 'x-plain', 'kept'],
    });

  it.each([
    ['http://127.0.0.1/', 'refused: The URL must lead to a host on the public internet'],
    ['http://[::1]/', 'refused: The URL must lead to a host on the public internet'],
    ['http://0x7f000001/', 'refused: The URL must lead to a host on the public internet'],
    ['ftp://good.example/', 'refused: The URL must begin with https://'],
    ['http://evil.example/', UNREACHABLE],
  ])('to %s is not followed', async (location, expected) => {
    answer = (_, response) => response.writeHead(302, { location }).end();
    const outbound = door([['127.0.0.1']], [`good.example:${port}`]);
    expect(await problemOf(fetchOf(outbound))).toBe(expected);
    expect(seen).toHaveLength(1);
  });

  it('is followed a few times, without the headers that authorise once it leaves the origin', async () => {
    answer = ({ url }, response) => {
      if (url === '/end') response.end('there');
      else response.writeHead(301, { location: `http://other.example:${port}/end` }).end();
    };
    const outbound = door([['127.0.0.1']], [`good.example:${port}`, `other.example:${port}`]);
    const { url, body } = await fetchOf(outbound);
    expect([url.href, new TextDecoder().decode(body)]).toEqual([`http://other.example:${port}/end`, 'there']);
    expect(seen.map(({ headers }) => [headers.authorization, headers['x-plain']])).toEqual([
      ['Bearer key', 'kept'],
      [undefined, 'kept'],
    ]);
  });

  it('ends the chase when there are too many', async () => {
    answer = (_, response) => response.writeHead(302, { location: '/again' }).end();
    const outbound = door([['127.0.0.1']], [`good.example:${port}`]);
    expect(await problemOf(fetchOf(outbound, 3))).toBe('redirects: The URL redirects too often');
    expect(seen).toHaveLength(4);
  });

  it('is asked about like the first URL', async () => {
    answer = (_, response) => response.writeHead(302, { location: '/secret' }).end();
    const outbound = door([['127.0.0.1']], [`good.example:${port}`]);
    const admit = ({ pathname }: URL): void => {
      if (pathname === '/secret') throw new OutboundError('refused', 'Not this page');
    };
    const request = { url: `http://good.example:${port}/`, ...OPTIONS, maxRedirects: 3, admit };
    expect(await problemOf(outbound.fetch(request))).toBe('refused: Not this page');
  });

  it('is an answer where none are followed', async () => {
    answer = (_, response) => response.writeHead(302, { location: 'http://127.0.0.1/' }).end();
    const outbound = door([['127.0.0.1']], [`good.example:${port}`]);
    const { status } = await outbound.fetch({ url: `http://good.example:${port}/`, ...OPTIONS });
    expect(status).toBe(302);
  });
});

describe('an answer', () => {
  const ask = (timeoutMs = 2_000) =>
    door([['127.0.0.1']], [`good.example:${port}`]).fetch({
      url: `http://good.example:${port}/`,
      maxBytes: 1_000,
      timeoutMs,
    });

  it('is cut where it is longer than is kept', async () => {
    answer = (_, response) => response.end('x'.repeat(1_001));
    const { body, truncated } = await ask();
    expect([body.byteLength, truncated]).toEqual([1_000, true]);
  });

  it('is whole where it is exactly as long', async () => {
    answer = (_, response) => response.end('x'.repeat(1_000));
    const { body, truncated } = await ask();
    expect([body.byteLength, truncated]).toEqual([1_000, false]);
  });

  it('is cut by what it is when unpacked', async () => {
    answer = (_, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync('x'.repeat(5_000_000)));
    const { body, truncated } = await ask();
    expect([body.byteLength, truncated]).toEqual([1_000, true]);
  });

  it('that never ends is cut too', async () => {
    answer = (_, response) => {
      const timer = setInterval(() => response.write('x'.repeat(500)), 1);
      response.on('close', () => clearInterval(timer));
    };
    expect((await ask()).truncated).toBe(true);
  });

  it('that does not come ends the wait', async () => {
    answer = () => undefined;
    expect(await problemOf(ask(50))).toBe('timeout: The URL did not answer in time');
  });
});

describe('a failure to connect', () => {
  it('sounds and lasts the same whether the port is closed or the address is forbidden', async () => {
    const closed = door([['127.0.0.1']], ['shut.example:1']);
    const forbidden = door([['10.0.0.1']]);
    for (const [outbound, url] of [
      [closed, 'http://shut.example:1/'],
      [forbidden, `http://name.example:${port}/`],
    ] as const) {
      const startedAt = performance.now();
      expect(await problemOf(outbound.fetch({ url, ...OPTIONS }))).toBe(UNREACHABLE);
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(249);
    }
  });

  it('ends when the caller goes away', async () => {
    answer = () => undefined;
    const controller = new AbortController();
    const outbound = door([['127.0.0.1']], [`good.example:${port}`]);
    const asked = outbound.fetch({ url: `http://good.example:${port}/`, ...OPTIONS, signal: controller.signal });
    controller.abort();
    expect(await problemOf(asked)).toBe('aborted: The request was given up');
  });
});

describe('a host that the program vouches for', () => {
  it('may be an IPv6 address', async () => {
    const own = createServer((_, response) => response.end('reached'));
    await new Promise<void>((resolve) => own.listen(0, '::1', resolve));
    const { port: free } = own.address() as AddressInfo;
    const outbound = createOutbound(
      { ports: [80, 443], allowedHosts: [`[::1]:${free}`] },
      systemEnvironment(),
      (guard) => Promise.resolve(createGuardedTransport(guard)),
    );
    const reply = await outbound.fetch({ url: `http://[::1]:${free}/`, ...OPTIONS });
    expect(reply.status).toBe(200);
    const other = createOutbound({ ports: [free], allowedHosts: [`[::1]:${free + 1}`] }, systemEnvironment(), (guard) =>
      Promise.resolve(createGuardedTransport(guard)),
    );
    await expect(other.fetch({ url: `http://[::1]:${free}/`, ...OPTIONS })).rejects.toThrow();
    await Promise.all([outbound.close(), other.close()]);
    own.closeAllConnections();
    await new Promise((resolve) => own.close(resolve));
  });
});
