import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Answers a path of the site. */
export type SitePage = (response: ServerResponse, request: IncomingMessage) => void;

/** A real web site on loopback. */
export interface WebSite extends AsyncDisposable {
  /** `http://127.0.0.1:port`, without a slash at the end. */
  readonly origin: string;
  /** `127.0.0.1:port`, as the guarded door lists hosts that it may ask. */
  readonly host: string;
  /** Paths that were asked for. */
  readonly asked: string[];
  /** Connections that are open at this moment. */
  readonly connections: number;
}

/** Starts a site; what is not among its pages is a 404. */
export async function startSite(pages: Readonly<Record<string, SitePage>>): Promise<WebSite> {
  const asked: string[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    const page = pages[path.split('?')[0] ?? ''];
    if (page === undefined) response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not here</h1>');
    else page(response, request);
  });
  server.on('connection', (socket) => {
    connections += 1;
    socket.on('close', () => (connections -= 1));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    asked,
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A page of one type that says the same to everybody. */
export function says(type: string, body: string | Uint8Array): SitePage {
  return (response) => response.writeHead(200, { 'content-type': type }).end(body);
}

/** A page that sends its readers on. */
export function leadsTo(location: string): SitePage {
  return (response) => response.writeHead(302, { location }).end();
}
