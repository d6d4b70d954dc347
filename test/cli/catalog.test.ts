import { readFileSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { runCommand } from '../../src/cli/main.ts';
import { readCatalogLock } from '../../src/runtime/catalog/lock-file.ts';
import { readProjectFile } from '../support/source-files.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';

const NOW = Date.UTC(2026, 10, 20, 12);
const FIXTURE = fileURLToPath(new URL('../fixtures/catalog/models-dev.json', import.meta.url));

interface Ran {
  readonly code: number;
  readonly printed: readonly string[];
  readonly complained: readonly string[];
}

/** Runs the program in a folder. */
async function run(folder: TemporaryFolder, ...args: readonly string[]): Promise<Ran> {
  const printed: string[] = [];
  const complained: string[] = [];
  const code = await runCommand(args, {
    print: (line) => printed.push(line),
    complain: (line) => complained.push(line),
    folder: folder.path,
    now: () => NOW,
    progress: () => {},
    wait: () => Promise.resolve(),
    environment: {},
  });
  return { code, printed, complained };
}

function refresh(folder: TemporaryFolder, ...args: readonly string[]): Promise<Ran> {
  return run(folder, 'catalog', 'refresh', ...args);
}

interface Served extends AsyncDisposable {
  readonly url: string;
  /** Answers the next requests like this. */
  answer(status: number, body: string): void;
}

/** A server on loopback that speaks the form of models.dev. */
async function served(): Promise<Served> {
  let [status, body] = [200, readFileSync(FIXTURE, 'utf8')];
  const server = createServer((_request, response) => response.writeHead(status).end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api.json`,
    answer: (nextStatus, nextBody) => ([status, body] = [nextStatus, nextBody]),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const LOCK = 'signalbox.catalog.json';

describe('signalbox catalog refresh', () => {
  afterEach(() => void vi.unstubAllGlobals());

  it.each([
    [[], 'https://models.dev/api.json', 'models-dev.json'],
    [['--source', 'models.dev'], 'https://models.dev/api.json', 'models-dev.json'],
    [
      ['--source', 'litellm'],
      'https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json',
      'litellm.json',
    ],
  ])('needs no address: %j', async (args, address, fixture) => {
    using folder = temporaryFolder();
    const fetched: string[] = [];
    const body = readFileSync(new URL(`../fixtures/catalog/${fixture}`, import.meta.url), 'utf8');
    vi.stubGlobal('fetch', (url: string) => {
      fetched.push(url);
      return Promise.resolve(new Response(body));
    });
    expect(await refresh(folder, ...args)).toMatchObject({ code: 0, complained: [] });
    expect(fetched).toEqual([address]);
  });

  it('fetches what is known, writes the lock file, and says what is new', async () => {
    using folder = temporaryFolder();
    await using source = await served();
    const { code, printed, complained } = await refresh(folder, '--url', source.url);
    expect([code, complained]).toEqual([0, []]);
    expect(printed).toEqual([
      '+ openai/north-1',
      '+ openai/north-embedding-small',
      '+ openai/north-secret',
      '+ openai/north-voice',
      '+ together/acme/south-70b',
      '5 added, 0 removed, 0 with other prices',
      `${LOCK}: 5 models of 2 vendors.`,
    ]);
    const { origins, vendors } = readCatalogLock(folder.file(LOCK));
    expect(origins).toEqual([{ source: 'models.dev', date: '2026-11-20', licence: 'MIT' }]);
    expect(vendors['openai']?.['north-1']?.from).toMatchObject({ price: 0, contextLength: 0 });
    expect(readdirSync(folder.path)).toEqual([LOCK]);
  });

  it('says what is gone and which prices are other ones', async () => {
    using folder = temporaryFolder();
    await using source = await served();
    await refresh(folder, '--url', source.url);
    const changed = JSON.parse(readFileSync(FIXTURE, 'utf8')) as {
      openai: { models: Record<string, { cost?: { input: number; output?: number } }> };
    };
    delete changed.openai.models['north-voice'];
    changed.openai.models['north-1'] = { cost: { input: 1.5, output: 10 } };
    changed.openai.models['north-secret'] = { cost: { input: 3, output: 9 } };
    source.answer(200, JSON.stringify(changed));
    const { printed } = await refresh(folder, '--url', source.url);
    expect(printed[0]).toBe('- openai/north-voice');
    expect(printed[1]).toContain('~ openai/north-1: prompt $2 → $1.5, cacheRead $0.2 → none');
    expect(printed[2]).toBe('~ openai/north-secret: price unknown → known');
    expect(printed[3]).toBe('0 added, 1 removed, 2 with other prices');
  });

  it('reads a copy, which counts as being from the day it was last changed', async () => {
    using folder = temporaryFolder();
    writeFileSync(folder.file('copy.json'), readFileSync(FIXTURE));
    const day = Date.UTC(2026, 8, 1) / 1_000;
    utimesSync(folder.file('copy.json'), day, day);
    const { code } = await refresh(folder, '--file', 'copy.json', '--out', 'other.json');
    expect(code).toBe(0);
    expect(readCatalogLock(folder.file('other.json')).origins[0]?.date).toBe('2026-09-01');
  });

  it('leaves other vendors as they are when some are named', async () => {
    using folder = temporaryFolder();
    await refresh(folder, '--file', FIXTURE);
    const { code } = await refresh(folder, '--source', 'genai-prices', '--vendors', 'groq, openai');
    expect(code).toBe(0);
    const { vendors, origins } = readCatalogLock(folder.file(LOCK));
    expect(Object.keys(vendors).sort()).toEqual(['groq', 'openai', 'together']);
    expect(vendors['openai']).not.toHaveProperty('north-1');
    const price = vendors['together']?.['acme/south-70b']?.from.price ?? -1;
    expect(origins[price]?.source).toBe('models.dev');
  });

  it('merges several sources, the first one first', async () => {
    using folder = temporaryFolder();
    writeFileSync(
      folder.file('copy.json'),
      JSON.stringify({ openai: { models: { 'gpt-5.4': { cost: { input: 7, output: 8 }, limit: { output: 9 } } } } }),
    );
    await refresh(folder, '--file', 'copy.json', '--out', 'first.json');
    await refresh(folder, '--source', 'genai-prices', '--vendors', 'groq', '--out', 'first.json');
    expect(Object.keys(readCatalogLock(folder.file('first.json')).vendors).sort()).toEqual(['groq', 'openai']);
    const both = await refresh(folder, '--source', 'genai-prices', '--source', 'genai-prices', '--vendors', 'openai');
    expect(both.code).toBe(0);
    expect(readCatalogLock(folder.file(LOCK)).origins).toHaveLength(1);
  });

  it.each([
    [500, 'oops', 'answered 500'],
    [200, '<html>', 'did not answer with JSON'],
    [200, '{}', 'has no models of the vendors that are known here'],
    [200, '{"openai":{"models":{}}}', 'has no models'],
  ])('leaves the file as it is when the source answers %d %s', async (status, body, message) => {
    using folder = temporaryFolder();
    await using source = await served();
    await refresh(folder, '--url', source.url);
    const before = readFileSync(folder.file(LOCK), 'utf8');
    source.answer(status, body);
    const { code, complained } = await refresh(folder, '--url', source.url);
    expect([code, complained.length]).toEqual([1, 1]);
    expect(complained[0]).toContain(message);
    expect(readFileSync(folder.file(LOCK), 'utf8')).toBe(before);
  });

  it('says so when nobody answers', async () => {
    using folder = temporaryFolder();
    const source = await served();
    await source[Symbol.asyncDispose]();
    const { code, complained } = await refresh(folder, '--url', source.url);
    expect(code).toBe(1);
    expect(complained[0]).toMatch(/could not be fetched.*--file/);
  });

  it('writes a file anew that could not be used, and says so', async () => {
    using folder = temporaryFolder();
    writeFileSync(folder.file(LOCK), 'broken');
    const { code, complained } = await refresh(folder, '--file', FIXTURE);
    expect(code).toBe(0);
    expect(complained[0]).toContain('could not be used and is written anew');
    expect(Object.keys(readCatalogLock(folder.file(LOCK)).vendors)).toEqual(['openai', 'together']);
  });

  it.each([
    [['--source', 'guesses'], 2, '--source must be models.dev, genai-prices or litellm, not "guesses"'],
    [['--url', 'http://a', '--file', 'b'], 2, 'Give --url or --file, not both'],
    [['--source', 'models.dev,genai-prices', '--file', 'b'], 2, 'give one --source'],
    [['--vendors', ' ,'], 2, '--vendors must name at least one'],
    [['--url', 'ftp://example.com'], 2, 'must be an http(s) address'],
    [['--file', 'nowhere.json'], 1, 'nowhere.json cannot be read'],
    [['--file', FIXTURE, '--vendors', 'openai,mistral'], 1, 'models.dev has no models of mistral'],
    [['--colour', 'red'], 2, '--colour'],
  ])('answers %j with what would be right', async (args, code, message) => {
    using folder = temporaryFolder();
    const ran = await refresh(folder, ...args);
    expect(ran.code).toBe(code);
    expect(ran.complained.join('\n')).toContain(message);
    expect(readdirSync(folder.path)).toEqual([]);
  });
});

describe('signalbox catalog show', () => {
  it('lists sources and vendors', async () => {
    using folder = temporaryFolder();
    await using source = await served();
    await refresh(folder, '--url', source.url);
    const { code, printed } = await run(folder, 'catalog', 'show');
    expect([code, printed]).toEqual([
      0,
      ['from models.dev, 2026-11-20, MIT', 'openai: 4 models, 3 with prices', 'together: 1 models, 1 with prices'],
    ]);
  });

  it('lists the models of a vendor', async () => {
    using folder = temporaryFolder();
    await refresh(folder, '--file', FIXTURE);
    expect((await run(folder, 'catalog', 'show', 'together')).printed).toEqual(['together/acme/south-70b']);
  });

  it('shows each field of a model with its source, date and licence', async () => {
    using folder = temporaryFolder();
    await using source = await served();
    await refresh(folder, '--url', source.url);
    const { printed } = await run(folder, 'catalog', 'show', 'together/acme/south-70b');
    expect(printed[0]).toBe('together/acme/south-70b');
    expect(printed).toContain('  contextLength     1000000  (models.dev, 2026-11-20, MIT)');
    expect(printed.slice(1).every((line) => line.endsWith('(models.dev, 2026-11-20, MIT)'))).toBe(true);
  });

  it('prints JSON for programs', async () => {
    using folder = temporaryFolder();
    const made = await refresh(folder, '--file', FIXTURE, '--json');
    expect(JSON.parse(made.printed.join(''))).toMatchObject({ file: LOCK, removed: [], prices: [] });
    const all = JSON.parse((await run(folder, 'catalog', 'show', '--json')).printed.join('')) as object;
    expect(Object.keys(all)).toEqual(expect.arrayContaining(['origins', 'vendors']));
    const one = await run(folder, 'catalog', 'show', 'together/acme/south-70b', '--json');
    expect(JSON.parse(one.printed.join(''))).toMatchObject({
      'together/acme/south-70b': { endpoint: { contextLength: 1_000_000 } },
    });
  });

  it.each([
    [['nobody'], '"nobody" is not in the file; there are openai, together.'],
    [['openai/south'], '"south" is not among the models of openai'],
    [['--file', 'nowhere.json'], 'nowhere.json, which is not there'],
  ])('answers %j with what is there', async (args, message) => {
    using folder = temporaryFolder();
    await refresh(folder, '--file', FIXTURE);
    const { code, complained } = await run(folder, 'catalog', 'show', ...args);
    expect(code).toBe(1);
    expect(complained.join('\n')).toContain(message);
  });
});

describe('signalbox', () => {
  it.each([['--version'], ['-v'], ['version']])('says its version at %s', async (word) => {
    using folder = temporaryFolder();
    const { version } = JSON.parse(readProjectFile('package.json')) as { version: string };
    expect(await run(folder, word)).toMatchObject({ code: 0, printed: [version] });
  });

  it.each([[['catalog', '--help']], [['catalog', '-h']], [['help', 'catalog']]])(
    'lists the commands of a group at %j',
    async (args) => {
      using folder = temporaryFolder();
      const { code, printed, complained } = await run(folder, ...args);
      expect([code, complained]).toEqual([0, []]);
      expect(printed.filter((line) => line.startsWith('  ')).map((line) => line.trim().split('  ')[0])).toEqual([
        'catalog refresh',
        'catalog show',
      ]);
    },
  );

  it.each([[], ['help'], ['--help'], ['-h']])('lists its commands', async (...args) => {
    using folder = temporaryFolder();
    const { code, printed } = await run(folder, ...args);
    expect(code).toBe(0);
    expect(printed.join('\n')).toMatch(/catalog refresh .*\n.*catalog show /);
  });

  it.each([
    [['catalog', 'refresch'], 'did you mean "catalog refresh"?'],
    [['catalog'], 'catalog show'],
    [['dance'], '"dance" is not a command'],
  ])('does not understand %j, and says what it does', async (args, message) => {
    using folder = temporaryFolder();
    const { code, complained } = await run(folder, ...args);
    expect(code).toBe(2);
    expect(complained.join('\n')).toContain(message);
  });

  it('explains each command', async () => {
    using folder = temporaryFolder();
    for (const [command = '', word = ''] of ['refresh --help', 'show --help', 'show -h'].map((one) => one.split(' '))) {
      const { code, printed } = await run(folder, 'catalog', command, word);
      expect(code).toBe(0);
      expect(printed[0]).toMatch(new RegExp(`^signalbox catalog ${command} .*`));
    }
  });

  it('takes commands of others', async () => {
    const printed: string[] = [];
    const io = {
      print: (line: string) => printed.push(line),
      complain: () => {},
      progress: () => {},
      folder: '.',
      now: () => NOW,
      wait: () => Promise.resolve(),
      environment: {},
    };
    const dance = {
      name: 'dance',
      summary: 'Dance',
      usage: '',
      run: (args: readonly string[]) => Promise.resolve(args.length),
    };
    expect(await runCommand(['dance', 'one', 'two'], io, [dance])).toBe(2);
    expect(printed).toEqual([]);
  });
});
