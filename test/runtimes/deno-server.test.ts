/** Runs in a process of its own: it starts Deno. */
import { describeRuntime } from '../support/foreign-runtime.ts';
import { findDeno } from '../support/servers.ts';

const program = findDeno() ?? 'deno';
const args = ['run', '--node-modules-dir=manual', '--no-remote', '--allow-net', '--allow-env', '--allow-read'];

describeRuntime({ name: 'Deno', program, args, server: 'deno-server.ts' });
