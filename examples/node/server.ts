import { createServer } from 'node:http';
import { apiKeys, createRouter, providersFromEnvironment, simulated } from 'signalbox';
import { nodeRouter } from 'signalbox/node';

const router = createRouter({
  providers: [...providersFromEnvironment(), simulated()],
  authenticate: apiKeys([{ key: process.env['ROUTER_KEY'] ?? 'sk-local-development', id: 'team' }]),
});
const handle = nodeRouter(router, { basePath: '/v1' });

const server = createServer((request, response) => {
  if (request.url === '/') response.end('The router is at /v1');
  else handle(request, response);
});
server.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  const address = server.address();
  console.log(`Listening on port ${typeof address === 'object' ? address?.port : address}`);
});

process.once('SIGTERM', async () => {
  server.close();
  await router.close();
});
