import express from 'express';
import { createServer } from 'node:http';
import { createRouter, providersFromEnvironment, simulated } from 'signalbox';
import { findCatalog } from 'signalbox/catalog';
import { expressRouter } from 'signalbox/express';
import { inspector } from 'signalbox/inspector';
import { sqliteStorage } from 'signalbox/sqlite';

const NO_KEYS = 'Set OPENAI_API_KEY, ANTHROPIC_API_KEY or GROQ_API_KEY and start again for real answers.';

const real = providersFromEnvironment();
// The simulated provider is there in any case, so that the lines printed below work with and without keys.
// Models and prices that are known: those of a lock file ("npx signalbox catalog refresh"), or of genai-prices.
const router = createRouter({
  providers: [...real, simulated()],
  catalog: await findCatalog(),
  // A page that shows what is decided; this machine only, until authenticate says who else may look.
  inspector: inspector(),
  // Batches survive whatever happens to this process.
  batches: { storage: sqliteStorage({ file: process.env['BATCHES_FILE'] ?? 'signalbox.db' }) },
});
const app = express();
app.use('/v1', expressRouter(router));

const server = createServer(app);
server.on('error', (error) => {
  console.error(`Cannot listen: ${error.message}. Choose another port with PORT=3000 npm start.`);
  process.exitCode = 1;
});
server.listen(Number(process.env['PORT'] ?? 8787), '127.0.0.1', () => {
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : address;
  const url = `http://127.0.0.1:${port}/v1`;
  const curl = (body: object, flags = ''): string =>
    `curl ${flags}${url}/chat/completions -H 'content-type: application/json' -d '${JSON.stringify(body)}'`;
  const request = {
    model: 'simulated/small',
    messages: [{ role: 'user', content: 'How do lighthouses and foghorns help ships?' }],
  };
  console.log(`
Inspector: ${url}/inspector/try (press Send there, and see why this endpoint answered)

Signalbox listens at ${url}

Providers: ${[...real.map((provider) => provider.name), 'Simulated'].join(', ')}
${real.length > 0 ? `For real answers, use a model such as "${real[0]?.slug}/<model>".` : NO_KEYS}

A response:
  ${curl(request)}

A stream:
  ${curl({ ...request, stream: true }, '-N ')}

All models: curl ${url}/models
`);
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close());

/** Takes no new requests, ends those under way, and lets the process come to its end. */
async function close(): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  await router.close();
  server.closeIdleConnections();
  await closed;
}
