import { type RouterConfig, apiKeys, createRouter } from 'signalbox';
import { Agent, request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { fedProvider } from '../support/fed-provider.ts';
import { HOSTS } from '../support/hosts.ts';
import type { Mounted } from '../support/mounts.ts';
import { chatHead, connectRaw } from '../support/raw-http.ts';
import { type Constants, withConstants } from '../support/constants.ts';

const KEY = 'key-of-ada-0123456789';
const GOOD = JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] });

/** Hosts that leave bodies to the router; where a parser of the host comes first, its own rules apply. */
const UNPARSED = Object.entries(HOSTS).filter(([name]) => !name.includes('behind'));

async function mounted(name: string, config: Partial<RouterConfig> = {}, constants: Constants = {}): Promise<Mounted> {
  const router = createRouter({
    providers: [fedProvider({ script: (call) => call.answer('Hi') })],
    authenticate: apiKeys([{ key: KEY, id: 'ada' }]),
    ...config,
  });
  const mount = HOSTS[name];
  if (mount === undefined) throw new Error(`no host ${name}`);
  return mount(withConstants(router, constants));
}

const authorized = { authorization: `Bearer ${KEY}` };

describe.each(UNPARSED)('%s', (name) => {
  it('answers a body that comes too slowly with a 408, and does not wait for the rest', async () => {
    await using mount = await mounted(name, { limits: { bodyTimeoutMs: 60 } });
    await using client = await connectRaw(mount);
    client.write(`${chatHead(1_000, authorized)}${GOOD.slice(0, 10)}`);
    expect(await client.until('arrived too slowly')).toBe(true);
    expect(client.text()).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('answers a file that stalls with a 408 and one that ends early with a 400, and warns of neither', async () => {
    const warnings: string[] = [];
    const on = {
      warning: ({ code }: { code: string }) => void (code === 'batches_not_durable' || warnings.push(code)),
    };
    await using mount = await mounted(name, { limits: { bodyTimeoutMs: 60 }, on });
    const head = (more: string): string =>
      `POST /v1/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEY}\r\nconnection: close\r\n` +
      `content-type: multipart/form-data; boundary=b\r\n${more}\r\n\r\n`;
    const form =
      '--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n' +
      '--b\r\ncontent-disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n{"custom_id"';
    for (const cut of [form.length, 60, 10]) {
      await using stalled = await connectRaw(mount);
      stalled.write(`${head('content-length: 100000')}${form.slice(0, cut)}`);
      expect(await stalled.until('arrived too slowly')).toBe(true);
      expect(stalled.text()).toMatch(/^HTTP\/1\.1 408 /);
      await using short = await connectRaw(mount);
      const part = form.slice(0, cut);
      short.write(`${head('transfer-encoding: chunked')}${part.length.toString(16)}\r\n${part}\r\n0\r\n\r\n`);
      expect(await short.until('The form ended before it was complete')).toBe(true);
      expect(short.text()).toMatch(/^HTTP\/1\.1 400 /);
      await using broken = await connectRaw(mount);
      broken.write(`${head('content-length: 100000')}${part}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
      broken.socket.destroy();
      await broken.closed;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(warnings).toEqual([]);
  });

  it('waits for a body however long its time is', async () => {
    await using mount = await mounted(name, { limits: { bodyTimeoutMs: 2 ** 31 } });
    await using client = await connectRaw(mount);
    client.write(`${chatHead(GOOD.length, authorized)}${GOOD.slice(0, 10)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    client.write(GOOD.slice(10));
    expect(await client.until('Hi')).toBe(true);
    expect(client.text()).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('takes many small batches and files at once', async () => {
    await using mount = await mounted(name, {}, { batches: { uploads: 2, uploadsPerAccount: 2 } });
    const batch = { endpoint: '/v1/chat/completions', model: 'acme/one' };
    const create = async (index: number): Promise<number> => {
      const requests = [{ custom_id: `r${index}`, body: { messages: [{ role: 'user', content: 'Hello' }] } }];
      const answer = await fetch(`${mount.baseURL}/batches`, {
        method: 'POST',
        headers: { ...authorized, 'content-type': 'application/json' },
        body: JSON.stringify({ ...batch, requests }),
      });
      await answer.text();
      return answer.status;
    };
    const upload = async (): Promise<number> => {
      const form = new FormData();
      form.set('purpose', 'batch');
      form.set('file', new Blob(['{}']), 'a.jsonl');
      const answer = await fetch(`${mount.baseURL}/files`, { method: 'POST', headers: authorized, body: form });
      await answer.text();
      return answer.status;
    };
    const statuses = await Promise.all(
      Array.from({ length: 30 }, (_, index) => (index % 2 === 0 ? create(index) : upload())),
    );
    expect(statuses.filter((status) => status === 503)).toEqual([]);
  });

  it('answers a body that grows over the limit with a 413 while it still comes', async () => {
    await using mount = await mounted(name, { limits: { bodyBytes: 10_000 } });
    await using client = await connectRaw(mount);
    client.write(chatHead('chunked', authorized));
    const chunk = `1000\r\n${'x'.repeat(0x1000)}\r\n`;
    for (let sent = 0; sent < 4; sent += 1) client.write(chunk);
    expect(await client.until('must not be larger than 10,000 bytes')).toBe(true);
    expect(client.text()).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('answers a body that says it is too large before it comes', async () => {
    await using mount = await mounted(name, { limits: { bodyBytes: 10_000 } });
    await using client = await connectRaw(mount);
    client.write(chatHead(10_001, authorized));
    expect(await client.until('must not be larger than 10,000 bytes')).toBe(true);
  });

  it('answers strangers before their body comes', async () => {
    await using mount = await mounted(name);
    await using client = await connectRaw(mount);
    client.write(chatHead(100_000_000));
    expect(await client.until('Missing Authentication header')).toBe(true);
    expect(client.text()).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('shows its answer also to a client that first sends everything and then reads', async () => {
    await using mount = await mounted(name);
    await using client = await connectRaw(mount);
    client.socket.pause();
    client.write(chatHead(8_000_000));
    for (let sent = 0; sent < 80; sent += 1) {
      if (!client.socket.write(Buffer.alloc(100_000, 'x'))) await once(client.socket, 'drain');
    }
    client.socket.resume();
    expect(await client.until('Missing Authentication header')).toBe(true);
    expect(client.errors).toEqual([]);
  });

  it('is not led astray by a body that is shorter than it says', async () => {
    await using mount = await mounted(name);
    const client = await connectRaw(mount);
    client.write(`${chatHead(GOOD.length + 10, authorized)}${GOOD}`);
    client.socket.end();
    await client.closed;
    expect(client.text()).not.toMatch(/^HTTP\/1\.1 200 /);
    expect((await goodCall(mount)).status).toBe(200);
  });

  it('reads no more of a body than it says, and then the next request', async () => {
    await using mount = await mounted(name);
    await using client = await connectRaw(mount);
    const head = chatHead(GOOD.length, authorized);
    client.write(`${head}${GOOD}${head}${GOOD}`);
    expect(await client.until(/HTTP\/1\.1 200 [^]*HTTP\/1\.1 200 [^]*"content":"Hi"/)).toBe(true);
  });

  it('keeps a connection after a body that was read, and closes it after one that was not', async () => {
    await using mount = await mounted(name);
    await using client = await connectRaw(mount);
    client.write(`${chatHead(1, authorized)}{`);
    expect(await client.until('it ends too early')).toBe(true);
    client.write(`${chatHead(GOOD.length, authorized)}${GOOD}`);
    expect(await client.until('"content":"Hi"')).toBe(true);
    client.write(chatHead(50_000_000, authorized));
    expect(await client.until('must not be larger')).toBe(true);
    client.socket.end();
    await client.closed;
    expect((await goodCall(mount)).status).toBe(200);
  });
});

describe.each(Object.entries(HOSTS))('%s', (name) => {
  it('serves a hundred requests over one connection, good and bad by turns', async () => {
    await using mount = await mounted(name);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set<unknown>();
    const call = (body: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const headers = {
          ...authorized,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        };
        const sent = request(`${mount.baseURL}/chat/completions`, { method: 'POST', agent, headers }, (response) => {
          sockets.add(response.socket);
          response.resume().on('end', () => resolve(response.statusCode ?? 0));
        });
        sent.on('error', reject).end(body);
      });
    for (let round = 0; round < 50; round += 1) {
      expect(await call('{"model":')).toBe(400);
      expect(await call(GOOD)).toBe(200);
    }
    agent.destroy();
    expect(sockets.size).toBe(1);
  });
});

async function goodCall({ baseURL }: Mounted): Promise<Response> {
  const response = await fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers: { ...authorized, 'content-type': 'application/json' },
    body: GOOD,
  });
  await response.text();
  return response;
}

function once(emitter: NodeJS.EventEmitter, event: string): Promise<void> {
  return new Promise((resolve) => {
    emitter.once(event, () => resolve());
    emitter.once('close', () => resolve());
  });
}
