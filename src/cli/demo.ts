import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { nodeRouter } from '../../adapters/node.ts';
import { inspector } from '../entries/inspector.ts';
import { createRouter, simulated } from '../index.ts';
import type { Command } from './command.ts';
import { close, DEFAULT_PORT, listen, LOCAL, portOf, stopped } from './serve.ts';

const MODEL = 'demo/small';
/** Share of the calls that fail at the cheaper provider. */
const FAILURE_RATE = 0.4;

const USAGE = `[options]

Serves two simulated providers of one model under /v1 until it is stopped. The cheaper one, "flaky", fails
${FAILURE_RATE * 100} % of its calls, and "steady" answers in its place. No API key and no configuration is read, nothing is
sent to another machine, nothing is written.

  --port <number>  Default: the variable PORT, or ${DEFAULT_PORT}; 0 for any that is free`;

/** `signalbox demo`: serves a router whose providers are simulated, to see a fallback. */
export const demo: Command = {
  name: 'demo',
  summary: 'Serve two simulated providers, one of which fails from time to time',
  usage: USAGE,
  async run(args, io) {
    const { values } = parseArgs({ args: [...args], options: { port: { type: 'string' } } });
    const port = portOf(values.port ?? io.environment['PORT'] ?? String(DEFAULT_PORT));
    const model = (prompt: number, completion: number) => ({ [MODEL]: { price: { prompt, completion } } });
    const router = createRouter({
      inspector: inspector(),
      providers: [
        simulated({ slug: 'flaky', name: 'Flaky', models: model(0.1, 0.4), failureRate: FAILURE_RATE }),
        simulated({ slug: 'steady', name: 'Steady', models: model(0.2, 0.8) }),
      ],
    });
    const server = createServer(nodeRouter(router, { basePath: '/v1' }));
    const url = await listen(server, port, LOCAL);
    const body = JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'Hello' }] });
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
