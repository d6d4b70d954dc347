import { describe, expect, it } from 'vitest';
import { guardedOutbound } from '../../src/net/guarded-outbound.ts';
import type { OutboundRequest } from '../../src/net/outbound-request.ts';
import type { Transport, TransportRequest } from '../../src/net/transport.ts';
import { systemEnvironment } from '../../src/platform/environment.ts';

interface Scripted {
  readonly status: number;
  readonly location?: string;
}

/** A door to a transport that answers by script, and what was sent through it. */
function doorTo(...answers: readonly Scripted[]) {
  const sent: TransportRequest[] = [];
  let cancelled = 0;
  const transport = {
    send(request: TransportRequest) {
      const answer = answers[sent.length] ?? { status: 200 };
      sent.push(request);
      let chunks: readonly Uint8Array[] | undefined = [new TextEncoder().encode('0123456789')];
      return Promise.resolve({
        status: answer.status,
        header: (name: string) => (name === 'location' ? answer.location : undefined),
        read() {
          const read = chunks;
          chunks = undefined;
          return Promise.resolve(read);
        },
        cancel: () => (cancelled += 1),
      });
    },
    close: () => Promise.resolve(),
  } as unknown as Transport;
  const outbound = guardedOutbound({}, systemEnvironment(), () => Promise.resolve(transport));
  return { outbound, sent, cancelled: () => cancelled };
}

const BOUNDS = { maxBytes: 100, timeoutMs: 1_000 };
const SECRET: Partial<OutboundRequest> = {
  method: 'POST',
  body: '{}',
  headers: ['authorization', 'Bearer secret', 'accept', '*/*'],
};

describe('a redirect', () => {
  it('to another origin takes no credentials along, and becomes a GET without a body', async () => {
    const { outbound, sent } = doorTo({ status: 302, location: 'https://other.example/b' });
    await outbound.fetch({ url: 'https://one.example/a', ...BOUNDS, ...SECRET, maxRedirects: 1 });
    expect(sent.map(({ method, url, headers, body }) => [method, url.href, headers, body])).toEqual([
      ['POST', 'https://one.example/a', SECRET.headers, '{}'],
      ['GET', 'https://other.example/b', ['accept', '*/*'], undefined],
    ]);
  });

  it('within an origin keeps credentials, and 307 and 308 keep method and body', async () => {
    const { outbound, sent } = doorTo({ status: 307, location: '/b' }, { status: 308, location: '/c' });
    await outbound.fetch({ url: 'https://one.example/a', ...BOUNDS, ...SECRET, maxRedirects: 2 });
    expect(sent.map(({ method, url, headers, body }) => [method, url.pathname, headers, body])).toEqual(
      ['/a', '/b', '/c'].map((path) => ['POST', path, SECRET.headers, '{}']),
    );
  });

  it('is refused behind as many as are allowed, and each answer on the way is given up', async () => {
    const again = { status: 301, location: '/again' };
    const { outbound, sent, cancelled } = doorTo(again, again, again);
    await expect(outbound.fetch({ url: 'https://one.example/', ...BOUNDS, maxRedirects: 1 })).rejects.toMatchObject({
      problem: 'redirects',
    });
    expect([sent.length, cancelled()]).toEqual([2, 2]);
  });

  it('is an answer like any other where none is allowed', async () => {
    const { outbound } = doorTo({ status: 302, location: 'https://other.example/' });
    expect((await outbound.fetch({ url: 'https://one.example/', ...BOUNDS })).status).toBe(302);
  });

  it('to an address of this machine is refused before it is sent', async () => {
    const { outbound, sent } = doorTo({ status: 302, location: 'http://127.0.0.1/metadata' });
    await expect(outbound.fetch({ url: 'https://one.example/', ...BOUNDS, maxRedirects: 3 })).rejects.toThrow();
    expect(sent).toHaveLength(1);
  });
});

describe('a body', () => {
  it('is cut where it is collected, and fails where it is read piece by piece', async () => {
    const small = { url: 'https://one.example/', timeoutMs: 1_000, maxBytes: 4 };
    const { body, truncated } = await doorTo().outbound.fetch(small);
    expect([new TextDecoder().decode(body), truncated]).toEqual(['0123', true]);
    const stream = await doorTo().outbound.open(small);
    await expect(stream.read()).rejects.toMatchObject({ problem: 'too_large' });
  });
});
