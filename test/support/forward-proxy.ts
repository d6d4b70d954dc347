import { createServer } from 'node:http';
import { type AddressInfo, connect, isIP, type Socket } from 'node:net';

/** A real forward proxy on loopback. */
export interface ForwardProxy extends AsyncDisposable {
  /** Its address, with what it wants to be told. */
  readonly address: string;
  /** The same without user name and password. */
  readonly bareAddress: string;
  /** What it was told to connect to, refused requests included. */
  readonly log: readonly string[];
  /** Status that it answers instead of connecting. */
  refuseWith: number | undefined;
}

/**
 * Starts a proxy that opens connections with CONNECT, for those who have its password. Whatever host it is told, it
 * connects to loopback: names and addresses of tests lead nowhere else.
 */
export async function startForwardProxy(credentials = 'signal:box'): Promise<ForwardProxy> {
  const log: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((_request, response) => response.writeHead(400).end());
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('connect', (request, socket, head) => {
    const client = socket as Socket;
    const told = request.headers['proxy-authorization'];
    const isKnown = told === `Basic ${Buffer.from(credentials).toString('base64')}`;
    log.push(`${request.url}${isKnown ? '' : ' without password'}`);
    client.on('error', () => {});
    const status = isKnown ? proxy.refuseWith : 407;
    if (status !== undefined) {
      client.end(`HTTP/1.1 ${status} Refused\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    const port = Number(/:(\d+)$/.exec(request.url ?? '')?.[1]);
    const upstream = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.write(head);
      upstream.pipe(client);
      client.pipe(upstream);
    });
    sockets.add(upstream);
    upstream.on('error', () => client.destroy());
    client.on('close', () => upstream.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const proxy: ForwardProxy = {
    address: `http://${credentials}@127.0.0.1:${port}`,
    bareAddress: `http://127.0.0.1:${port}`,
    log,
    refuseWith: undefined,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}

/** Hosts of a log, without their ports. */
export function hostsOf({ log }: ForwardProxy): readonly string[] {
  return log.map((one) => one.replace(/:\d+(?= |$)/, '')).map((host) => (isIP(host) === 0 ? host : `address ${host}`));
}
