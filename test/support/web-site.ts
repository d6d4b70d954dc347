import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A local web site. */
export interface WebSite extends AsyncDisposable {
  /** Address without a slash at the end. */
  readonly origin: string;
  /** `host:port`, for lists of allowed hosts. */
  readonly host: string;
  /** Paths that were asked for. */
  readonly visits: string[];
}

/** Starts a site on a free port of loopback. */
export async function startWebSite(
  serve: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<WebSite> {
  const visits: string[] = [];
  const server: Server = createServer((request, response) => {
    visits.push(request.url ?? '');
    serve(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const host = `127.0.0.1:${port}`;
  return {
    origin: `http://${host}`,
    host,
    visits,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
