import type { AddressInfo, Socket } from 'node:net';

/** An address that leads nowhere, for a provider's `baseURL`. */
export interface DeadAddress extends AsyncDisposable {
  readonly baseURL: string;
}

/** A host that no name server knows, by agreement of all of them. */
export const UNKNOWN_HOST_URL = 'https://signalbox-fault.invalid/v1';

/**
 * An address that refuses every connection. It is the near end of a connection that is kept open: nobody listens
 * there, and nobody else can be given the port meanwhile. Runs on Node only.
 */
export async function refusingAddress(): Promise<DeadAddress> {
  const { connect, createServer } = await import('node:net');
  const accepted: Socket[] = [];
  const server = createServer((socket) => accepted.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const holder = await new Promise<Socket>((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => resolve(socket));
  });
  return {
    baseURL: `http://127.0.0.1:${holder.localPort ?? port}/v1`,
    async [Symbol.asyncDispose]() {
      holder.destroy();
      for (const socket of accepted) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
