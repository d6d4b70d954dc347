/** Runs in a process of its own: it starts Bun. */
import { fileURLToPath } from 'node:url';
import { describeRuntime } from '../support/foreign-runtime.ts';

const program = fileURLToPath(new URL('../../node_modules/.bin/bun', import.meta.url));

describeRuntime({ name: 'Bun', program, args: ['run'], server: 'bun-server.ts' });
