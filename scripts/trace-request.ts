import { once } from 'node:events';
import { type Server, createServer } from 'node:http';
import { Session } from 'node:inspector/promises';
import type { AddressInfo } from 'node:net';
import { useSources } from './sources.ts';

/**
 * What one warm plain chat passes through, non-streaming and streaming: every file and function of ours in the order of
 * their first calls, and how often each was called. The request goes over loopback to a Node mount and from there to an
 * upstream on loopback, all in this process, on the sources.
 *
 * V8's coverage tells which functions were called and how often, but not in which order. So the request is made once
 * more with a breakpoint in each of them whose condition notes the call and is never true.
 *
 * Usage: npm run trace [-- --files]
 */
const WARM_UP = 20;
const ONLY_FILES = process.argv.includes('--files');
const OURS = /^file:\/\/.*\/((?:src|adapters)\/[^?]*)$/;
const NOTES = '__calledFunctions';
/** Where the lines of scripts begin. */
const lineStarts = new Map<string, readonly number[]>();

interface Called {
  readonly scriptId: string;
  readonly file: string;
  readonly name: string;
  readonly offset: number;
  readonly end: number;
  readonly count: number;
}

useSources();
const { createRouter, openaiCompatible } = await import('signalbox');
const { nodeRouter } = await import('signalbox/node');

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Debugger.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

const upstream = await listen(createUpstream());
const router = createRouter({
  providers: [
    openaiCompatible({ slug: 'local', baseURL: upstream.url, apiKey: 'none', models: { 'local/model': {} } }),
  ],
  allowAnonymous: true,
});
const mount = await listen(createServer(nodeRouter(router, { basePath: '/v1' })));

for (const stream of [false, true]) await trace(stream);

await router.close();
for (const { server } of [mount, upstream]) {
  server.closeAllConnections();
  server.close();
}
session.disconnect();

async function trace(stream: boolean): Promise<void> {
  for (let round = 0; round < WARM_UP; round += 1) await ask(stream);
  await calledFunctions();
  await ask(stream);
  const called = await calledFunctions();
  const order = await orderOf(called, stream);
  const sorted = called.toSorted((left, right) => order.indexOf(left) - order.indexOf(right));
  print(stream ? 'streaming' : 'non-streaming', sorted);
}

async function ask(stream: boolean): Promise<void> {
  const response = await fetch(`${mount.url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'local/model',
      messages: [{ role: 'user', content: 'Which signal means go?' }],
      stream,
    }),
  });
  const text = await response.text();
  if (response.status !== 200 || !text.includes('Green')) throw new Error(`The request failed: ${text}`);
}

/** Functions of ours that were called since the last time. */
async function calledFunctions(): Promise<readonly Called[]> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result.flatMap(({ scriptId, url, functions }) => {
    const file = OURS.exec(url)?.[1];
    if (file === undefined) return [];
    return functions.flatMap(({ functionName, ranges: [range] }) =>
      range === undefined || range.count === 0 || range.startOffset === 0
        ? []
        : [
            {
              scriptId,
              file,
              name: functionName === '' ? '(anonymous)' : functionName,
              offset: range.startOffset,
              end: range.endOffset,
              count: range.count,
            },
          ],
    );
  });
}

/** The functions in the order in which another request calls them first. */
async function orderOf(called: readonly Called[], stream: boolean): Promise<readonly Called[]> {
  const notes: number[] = [];
  Object.assign(globalThis, { [NOTES]: notes });
  const breakpoints: string[] = [];
  for (const [index, one] of called.entries()) {
    const start = await positionOf(one.scriptId, await afterSuper(one));
    const end = await positionOf(one.scriptId, one.end);
    const { locations } = await session.post('Debugger.getPossibleBreakpoints', {
      start,
      end,
      restrictToFunction: true,
    });
    const [location] = locations;
    if (location === undefined) continue;
    const condition = `(globalThis.${NOTES}.push(${index}), false)`;
    // Two functions may begin at the same place, of which only one can have a breakpoint.
    const set = await session.post('Debugger.setBreakpoint', { location, condition }).catch(() => undefined);
    if (set !== undefined) breakpoints.push(set.breakpointId);
  }
  await ask(stream);
  for (const breakpointId of breakpoints) await session.post('Debugger.removeBreakpoint', { breakpointId });
  await calledFunctions();
  const first = [...new Set(notes)].flatMap((index) => called[index] ?? []);
  return [...first, ...called.filter((one) => !first.includes(one))];
}

/** Where a breakpoint may be: a condition that is asked before `super()` makes V8 miss the call of it. */
async function afterSuper({ scriptId, offset, end }: Called): Promise<number> {
  const { scriptSource } = await session.post('Debugger.getScriptSource', { scriptId });
  const found = /^constructor\b[^]*?\bsuper\([^)]*\);/.exec(scriptSource.slice(offset, end));
  return offset + (found?.[0].length ?? 0);
}

async function positionOf(scriptId: string, offset: number) {
  let starts = lineStarts.get(scriptId);
  if (starts === undefined) {
    const { scriptSource } = await session.post('Debugger.getScriptSource', { scriptId });
    starts = [0, ...[...scriptSource.matchAll(/\n/g)].map(({ index }) => index + 1)];
    lineStarts.set(scriptId, starts);
  }
  const lineNumber = starts.findLastIndex((start) => start <= offset);
  return { scriptId, lineNumber, columnNumber: offset - (starts[lineNumber] ?? 0) };
}

function print(what: string, called: readonly Called[]): void {
  const files = new Map<string, Called[]>();
  for (const one of called) files.set(one.file, [...(files.get(one.file) ?? []), one]);
  const calls = called.reduce((sum, { count }) => sum + count, 0);
  console.log(`\n${what}: ${files.size} files, ${called.length} functions, ${calls} calls`);
  for (const [file, functions] of files) {
    console.log(`  ${file}`);
    if (ONLY_FILES) continue;
    for (const { name, count } of functions) console.log(`    ${name}${count > 1 ? ` × ${count}` : ''}`);
  }
}

async function listen(server: Server): Promise<{ readonly server: Server; readonly url: string }> {
  // Longer than it takes to set all breakpoints: no request is to meet a connection that is being closed.
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

/** Answers like an OpenAI-compatible server. */
function createUpstream(): Server {
  const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
  const head = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'model' };
  return createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      if (!body.includes('"stream":true')) {
        const message = { role: 'assistant', content: 'Green.' };
        const choices = [{ index: 0, message, finish_reason: 'stop' }];
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ ...head, object: 'chat.completion', choices, usage }));
        return;
      }
      const chunk = (delta: object, finish: string | null, more: object = {}): string => {
        const choices = [{ index: 0, delta, finish_reason: finish }];
        return `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
      };
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const words = ['Green', ' means', ' go', '.'].map((content) => chunk({ content }, null));
      response.end([...words, chunk({}, 'stop', { usage }), 'data: [DONE]\n\n'].join(''));
    });
  });
}
