import { type ChildProcess, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Agent } from 'undici';
import type { Workload } from './workloads.ts';

/** Servers under test, each a process of its own, and the load on them. */
export interface Running {
  readonly name: string;
  readonly child: ChildProcess;
  readonly port: number;
  readonly agent: Agent;
}

function script(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

/** The next message of a process. */
export async function message<Value>(child: ChildProcess): Promise<Value> {
  const [value] = (await once(child, 'message')) as [Value];
  return value;
}

/** Servers get a core of their own where there is more than one; upstream and load share the other. */
function pin(child: ChildProcess, core: number): void {
  if (availableParallelism() < 2 || process.platform !== 'linux') return;
  fork(script('./pin.ts'), [String(child.pid), String(core)]);
}

/** Starts a server under test; `modules` are loaded into it before its own. */
export async function start(name: string, upstream: number, modules: readonly string[] = []): Promise<Running> {
  const execArgv = modules.map((module) => `--import=${new URL(module, import.meta.url).href}`);
  const child = fork(script(`./servers/${name}.ts`), [String(upstream)], { execArgv });
  const { port } = await message<{ port: number }>(child);
  pin(child, 1);
  return { name, child, port, agent: new Agent({ connections: 16 }) };
}

/** Microseconds of CPU that a server has used so far. */
export async function cpuOf({ child }: Running): Promise<number> {
  child.send('cpu');
  return (await message<{ cpu: number }>(child)).cpu;
}

function request({ agent, port }: Running, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0;
    let status = 0;
    agent.dispatch(
      {
        origin: `http://127.0.0.1:${port}`,
        path: '/v1/chat/completions',
        method: 'POST',
        headers: ['content-type', 'application/json', 'authorization', 'Bearer bench-key-0123456789'],
        body,
      },
      {
        onRequestStart() {},
        onResponseStart(_controller, code) {
          status = code;
        },
        onResponseData(_controller, chunk) {
          bytes += chunk.length;
        },
        onResponseEnd() {
          if (status === 200) resolve(bytes);
          else reject(new Error(`${port} answered ${status}`));
        },
        onResponseError(_controller, error) {
          reject(error);
        },
      },
    );
  });
}

/** Sends requests, several at a time, and waits for their answers. */
export async function load(server: Running, { body, concurrency }: Workload, requests: number): Promise<void> {
  let left = requests;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await request(server, body);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

/** Starts the upstream that all servers under test talk to. */
export async function startUpstream(): Promise<{ readonly child: ChildProcess; readonly port: number }> {
  const child = fork(script('./upstream.ts'));
  const { port } = await message<{ port: number }>(child);
  pin(child, 0);
  return { child, port };
}
