/** Runs in a process of its own: it replaces the module that loads undici. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';

const server = createServer((_, response) => response.end('from the server'));
let origin = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
beforeEach(() => vi.resetModules());
afterAll(() => server.close());

async function textThrough(): Promise<string> {
  const { loadTransport } = await import('../../src/net/load-transport.ts');
  const { readText } = await import('../../src/net/transport.ts');
  const transport = await loadTransport(undefined);
  const { signal } = new AbortController();
  const response = await transport.send({ method: 'GET', url: new URL(origin), headers: [], signal, maxBytes: 1_000 });
  const text = await readText(response);
  await transport.close();
  return text;
}

describe('the transport of this platform', () => {
  it('is loaded without a warning', async () => {
    const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    expect(await textThrough()).toBe('from the server');
    expect(warnings).not.toHaveBeenCalled();
    warnings.mockRestore();
  });

  it('is fetch, with a warning that says what to do, where undici cannot be loaded', async () => {
    vi.doMock('#transport', () => {
      throw new Error('Dynamic require of "net" is not supported');
    });
    const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    expect(await textThrough()).toBe('from the server');
    expect(warnings).toHaveBeenCalledOnce();
    const [text, options] = warnings.mock.calls[0] ?? [];
    expect(text).toContain('Leave the package signalbox out of the bundle');
    expect(options).toEqual({ code: 'SIGNALBOX_FETCH' });
    warnings.mockRestore();
    vi.doUnmock('#transport');
  });
});
