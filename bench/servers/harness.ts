import type { Server } from 'node:http';

/** Port of the upstream that all servers under test talk to. */
export const UPSTREAM = `http://127.0.0.1:${process.argv[2] ?? ''}`;

/** Tells the parent the port, and the CPU time used so far whenever it asks. */
export function report(server: Server): void {
  process.on('message', (message) => {
    if (message === 'cpu') {
      const { user, system } = process.cpuUsage();
      process.send?.({ cpu: user + system, rss: process.memoryUsage.rss() });
    }
  });
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as { port: number }).port }));
}
