import express from 'express';
import { createRouter, providersFromEnvironment, simulated } from 'signalbox';
import { expressRouter } from 'signalbox/express';

const router = createRouter({ providers: [...providersFromEnvironment(), simulated()] });
const app = express();

app.get('/', (_request, response) => {
  response.send('The router is at /v1');
});
app.use('/v1', expressRouter(router));

const server = app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  const address = server.address();
  console.log(`Listening on port ${typeof address === 'object' ? address?.port : address}`);
});
