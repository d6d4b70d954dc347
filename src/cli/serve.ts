/** The commands `signalbox serve` and `signalbox demo`. */
import process from 'node:process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { nodeRouter } from '../../adapters/node.ts';
import { inspector } from '../entries/inspector.ts';
import { createRouter, simulated } from '../index.ts';
import type { Router } from '../router/router.ts';
import { StorageError } from '../contracts/storage-error.ts';
import { batchesIn } from './batch-file.ts';
import { type Command, CommandError, MisuseError } from './command.ts';
import { CONFIG_HELP, loadConfig, reloadConfiguration } from './load-config.ts';

/** Port of a command that serves, where none is named. */
const DEFAULT_PORT = 8787;
/** Address that only this machine reaches. */
const LOCAL = '127.0.0.1';
/** Milliseconds that requests under way may take when the command is stopped. */
const GRACE_MS = 10_000;

const SERVE_USAGE = `[options]

Serves a router over HTTP under /v1 until it is stopped. Requests under way then get ${GRACE_MS / 1_000} seconds to end.
The configuration file is read again when it changes and at SIGHUP; a faulty one changes nothing.

${CONFIG_HELP}
  --port <number>  Default: the variable PORT, or ${DEFAULT_PORT}; 0 for any that is free
  --host <name>    Default: ${LOCAL}. Callers on other machines need credentials: see "authenticate".
  --batches <file> SQLite file that keeps batches, where the configuration names no storage. Default: signalbox.db in
                   this folder; "memory" keeps them only while this runs.`;

/** `signalbox serve`: serves a router. */
export const serve: Command = {
  name: 'serve',
  summary: 'Serve a router over HTTP',
  usage: SERVE_USAGE,
  async run(args, io) {
    const { values } = parseArgs({
      args: [...args],
      options: {
        config: { type: 'string' },
        port: { type: 'string' },
        host: { type: 'string' },
        batches: { type: 'string' },
      },
    });
    const port = portOf(values.port ?? process.env['PORT'] ?? String(DEFAULT_PORT));
    const host = values.host ?? LOCAL;
    const { config, from, path } = await loadConfig(io, values.config);
    const { batches, kept } = batchesIn(config.batches, values.batches, io);
    const router = createRouter({ inspector: inspector(), ...config, batches });
    router.on('warning', ({ message }) => io.complain(message));
    const server = createServer(nodeRouter(router, { basePath: '/v1' }));
    const url = await listen(server, port, host);
    await startBatches(router, server);
    // Before anything is printed: who reads it may change the file at once, or send SIGHUP.
    const stopReloading = reloadConfiguration(router, io, { named: values.config, path });
    for (const line of greeting(router, url, { from, kept })) io.print(line);
    await stopped(io.stop);
    stopReloading();
    await close(server, router);
    io.print('Stopped.');
    return 0;
  },
};

const DEMO_MODEL = 'demo/small';
/** Share of the calls that fail at the cheaper provider. */
const FAILURE_RATE = 0.4;

const DEMO_USAGE = `[options]

Serves two simulated providers of one model under /v1 until it is stopped. The cheaper one, "flaky", fails
${FAILURE_RATE * 100} % of its calls, and "steady" answers in its place. No API key and no configuration is read, nothing is
sent to another machine, nothing is written.

  --port <number>  Default: the variable PORT, or ${DEFAULT_PORT}; 0 for any that is free`;

/** `signalbox demo`: serves a router whose providers are simulated, to see a fallback. */
export const demo: Command = {
  name: 'demo',
  summary: 'Serve two simulated providers, one of which fails from time to time',
  usage: DEMO_USAGE,
  async run(args, io) {
    const { values } = parseArgs({ args: [...args], options: { port: { type: 'string' } } });
    const port = portOf(values.port ?? io.environment['PORT'] ?? String(DEFAULT_PORT));
    const model = (prompt: number, completion: number) => ({ [DEMO_MODEL]: { price: { prompt, completion } } });
    const router = createRouter({
      inspector: inspector(),
      providers: [
        simulated({ slug: 'flaky', name: 'Flaky', models: model(0.1, 0.4), failureRate: FAILURE_RATE }),
        simulated({ slug: 'steady', name: 'Steady', models: model(0.2, 0.8) }),
      ],
    });
    const server = createServer(nodeRouter(router, { basePath: '/v1' }));
    const url = await listen(server, port, LOCAL);
    const body = JSON.stringify({ model: DEMO_MODEL, messages: [{ role: 'user', content: 'Hello' }] });
    io.print(`Inspector: ${url}/inspector`);
    io.print(`Signalbox listens at ${url}, with simulated providers`);
    io.print(`"flaky" costs half and fails ${FAILURE_RATE * 100} % of its calls; "steady" answers in its place.`);
    io.print(`Try: curl ${url}/chat/completions -H 'content-type: application/json' -d '${body}'`);
    io.print(`Send it a few times, and see in the inspector which requests needed a second attempt.`);
    await stopped(io.stop);
    await close(server, router);
    io.print('Stopped.');
    return 0;
  },
};

/**
 * Reads a port.
 *
 * @throws {@link CommandError} when the text is no number that a port can have.
 */
function portOf(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port < 65_536) return port;
  throw new MisuseError(`The port must be a number from 0 to 65535, not "${text}".`);
}

/**
 * Starts to listen; gives the base URL of the API.
 *
 * @throws {@link CommandError} when that cannot be.
 */
async function listen(server: Server, port: number, host: string): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason = error.code === 'EADDRINUSE' ? 'another program listens there' : error.message;
      reject(new CommandError(`Cannot listen at ${host}:${port}: ${reason}. Choose another --port or --host.`));
    });
    server.listen(port, host, resolve);
  });
  const { port: actual } = server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${actual}/v1`;
}

/** Runs batches, also those that an earlier process left. */
async function startBatches(router: Router, server: Server): Promise<void> {
  try {
    await router.batches.start();
  } catch (error) {
    await close(server, router);
    throw StorageError.isInstance(error) ? new CommandError(`Batches cannot be kept: ${error.message}`) : error;
  }
}

function greeting(
  router: Router,
  url: string,
  { from, kept }: { readonly from: string; readonly kept: string },
): readonly string[] {
  const { config } = router.internals;
  const providers = config.providers.map(({ slug }) => slug).join(', ');
  const model = config.simulatedByDefault ? 'simulated/small' : firstModel(router);
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] });
  const credentials = config.authenticate === undefined ? '' : " -H 'authorization: Bearer <API key>'";
  return [
    `Inspector: ${url}/inspector`,
    `Signalbox listens at ${url}`,
    `Configuration: ${from}`,
    `Providers: ${providers}`,
    `Batches: ${kept}`,
    ...(config.simulatedByDefault ? ['Answers are simulated: set a key such as OPENAI_API_KEY for real ones.'] : []),
    ...(config.authenticate === undefined && config.anonymous === 'local'
      ? ['Callers: this machine only, without credentials']
      : []),
    `Try: curl ${url}/chat/completions${credentials} -H 'content-type: application/json' -d '${body}'`,
  ];
}

/** A model to try: the first that is declared, or one of a provider that takes any. */
function firstModel(router: Router): string {
  const { catalog } = router.internals.services.facts;
  const [first] = catalog.models.keys();
  return first ?? `${router.internals.config.providers[0]?.slug ?? 'provider'}/<model>`;
}

/** Resolves when the command should stop. */
function stopped(stop: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (stop?.aborted === true) return resolve();
    if (stop !== undefined) return stop.addEventListener('abort', () => resolve(), { once: true });
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
}

/** Takes no new requests, lets those under way end, and then lets go of the connections to providers. */
async function close(server: Server, router: Router): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), GRACE_MS);
  await closed;
  clearTimeout(timer);
  await router.close();
}
