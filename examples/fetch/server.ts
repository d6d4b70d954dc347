import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createRouter, providersFromEnvironment, simulated } from 'signalbox';
import { fetchRouter } from 'signalbox/fetch';

const router = createRouter({
  providers: [...providersFromEnvironment(), simulated()],
  // A Web request does not tell who is at the other end, so a router without keys has to say that anybody may call.
  allowAnonymous: true,
});
const signalbox = fetchRouter(router, { basePath: '/v1' });
const app = new Hono();

app.get('/', (context) => context.text('The router is at /v1'));
app.all('/v1/*', (context) => signalbox(context.req.raw));

serve({ fetch: app.fetch, port: Number(process.env['PORT'] ?? 3000), hostname: '127.0.0.1' }, ({ port }) => {
  console.log(`Listening on port ${port}`);
});
