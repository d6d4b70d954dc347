import { EventEmitter, once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../src/cli/main.ts';
import { runIn } from '../support/command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** The demo, under way on a free port. */
async function startDemo(): Promise<{ readonly lines: readonly string[]; readonly stop: () => Promise<number> }> {
  const lines: string[] = [];
  const stopping = new AbortController();
  const events = new EventEmitter();
  const ready = once(events, 'ready');
  const code = runCommand(['demo', '--port', '0'], {
    print(line) {
      lines.push(line);
      if (line.startsWith('Try: ')) events.emit('ready');
    },
    complain: (line) => events.emit('error', new Error(line)),
    progress: () => {},
    wait: () => Promise.resolve(),
    // A key in the environment must make no difference: the demo calls nobody.
    environment: { OPENAI_API_KEY: 'sk-unused' },
    folder: '/nowhere',
    now: () => 0,
    stop: stopping.signal,
  });
  await ready;
  return {
    lines,
    stop() {
      stopping.abort();
      return code;
    },
  };
}

describe('signalbox demo', () => {
  it('answers every request although one of its two providers fails from time to time', async () => {
    const { lines, stop } = await startDemo();
    const [, url = '', body = ''] =
      /^Try: curl (\S+) .* -d '(.*)'$/.exec(lines.find((line) => line.startsWith('Try')) ?? '') ?? [];
    const ask = async (): Promise<string> => {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...(JSON.parse(body) as object), max_tokens: 2, stream: false }),
      });
      expect(response.status).toBe(200);
      return ((await response.json()) as { readonly provider: string }).provider;
    };
    const providers = new Set<string>();
    for (let sent = 0; sent < 30 && providers.size < 2; sent += 1) providers.add(await ask());
    expect(providers).toEqual(new Set(['Flaky', 'Steady']));
    const models = await (await fetch(url.replace('/chat/completions', '/models'))).text();
    expect(models).toContain('demo/small');
    expect(models).not.toContain('openai/');
    const page = /^Inspector: (\S+)$/.exec(lines[0] ?? '')?.[1] ?? '';
    expect((await fetch(page)).headers.get('content-type')).toContain('text/html');
    expect(await stop()).toBe(0);
    expect(lines.at(-1)).toBe('Stopped.');
  });

  it('says what a port can be', async () => {
    using folder = temporaryFolder();
    const { code, complained } = await runIn(folder, 'demo', '--port', 'many');
    expect(code).toBe(2);
    expect(complained).toEqual([
      'signalbox demo: The port must be a number from 0 to 65535, not "many". Try "npx signalbox demo --help".',
    ]);
  });
});

describe('signalbox without arguments', () => {
  it('says what it is, and how to start', async () => {
    using folder = temporaryFolder();
    const { code, printed } = await runIn(folder);
    expect(code).toBe(0);
    expect(printed.join('\n')).toMatch(/model router.*\n.*"npx signalbox serve".*"npx signalbox demo"/);
    expect(printed.some((line) => /^ {2}demo +\S/.test(line))).toBe(true);
  });
});
