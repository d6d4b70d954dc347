import fastify from 'fastify';
import { createRouter, providersFromEnvironment, simulated } from 'signalbox';
import { fastifyRouter } from 'signalbox/fastify';

const router = createRouter({ providers: [...providersFromEnvironment(), simulated()] });
const app = fastify();

app.get('/', () => 'The router is at /v1');
await app.register(fastifyRouter, { router, prefix: '/v1' });

const address = await app.listen({ port: Number(process.env['PORT'] ?? 3000), host: '127.0.0.1' });
console.log(`Listening on port ${new URL(address).port}`);
