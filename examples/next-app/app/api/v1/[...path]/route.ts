import { createRouter, providersFromEnvironment, simulated } from 'signalbox';
import { nextRouter } from 'signalbox/next';

const router = createRouter({
  providers: [...providersFromEnvironment(), simulated()],
  // Next does not tell who is at the other end, so a router without keys has to say that anybody may call.
  allowAnonymous: true,
});

export const { GET, POST, DELETE, PUT, PATCH } = nextRouter(router, { basePath: '/api/v1' });
