import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { runIn } from '../support/command.ts';
import { listen } from '../support/mounts.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const NAME = 'signalbox.config.json';

afterEach(() => vi.unstubAllEnvs());

describe('signalbox check', () => {
  it('prints everything that is wrong with the configuration, with paths, and no secret', async () => {
    using folder = temporaryFolder();
    const config = {
      providers: [{ use: 'groq', apiKey: 'a secret key', basURL: 'x' }, { use: 'opnai' }, 'ollama'],
      apiKeys: [{ id: 'me', key: 'env:SIGNALBOX_TEST_NOT_SET' }],
    };
    writeFileSync(folder.file(NAME), JSON.stringify(config));
    const { code, printed, complained } = await runIn(folder, 'check');
    expect([code, printed]).toEqual([1, []]);
    expect(complained[0]).toBe('5 problems:');
    expect(complained.join('\n')).toContain('providers.groq.basURL is not an option; did you mean "baseURL"?');
    expect(complained.join('\n')).toContain('providers.groq.apiKey must be one line');
    expect(complained.join('\n')).toContain('providers[1] must name its provider in "use"');
    expect(complained.join('\n')).toContain('did you mean "openai"?');
    expect(complained.join('\n')).toContain('apiKeys[0].key needs the variable SIGNALBOX_TEST_NOT_SET');
    expect(complained.join('\n')).not.toContain('secret');
  });

  it('prints JSON for programs, whether something is wrong or not', async () => {
    using folder = temporaryFolder();
    writeFileSync(folder.file(NAME), JSON.stringify({ providers: [{ use: 'opnai' }] }));
    const wrong = await runIn(folder, 'check', '--json');
    expect([wrong.code, wrong.complained]).toEqual([1, []]);
    expect(JSON.parse(wrong.printed.join('\n'))).toMatchObject({ problems: [{ path: 'providers[0]' }] });
    writeFileSync(folder.file(NAME), JSON.stringify({ providers: ['simulated'] }));
    const right = await runIn(folder, 'check', '--json');
    expect(right.code).toBe(0);
    expect(JSON.parse(right.printed.join('\n'))).toMatchObject({
      configuration: NAME,
      providers: [{ provider: 'simulated', state: 'has no check' }],
      models: expect.arrayContaining(['simulated/small']) as string[],
      problems: [],
    });
  });

  it('says of each provider whether it can be reached and takes the key', async () => {
    using folder = temporaryFolder();
    const seen: string[] = [];
    await using upstream = await listen(
      createServer((request, response) => {
        seen.push(`${request.method} ${request.url}`);
        const isKnown = request.headers.authorization === 'Bearer right-key';
        response.writeHead(request.url?.startsWith('/v1/broken') === true ? 500 : isKnown ? 200 : 401).end('{}');
      }),
    );
    const at = { use: 'openaiCompatible', baseURL: upstream.baseURL, apiKey: 'right-key', models: { 'a/b': {} } };
    const config = {
      providers: [
        { ...at, slug: 'good' },
        { ...at, slug: 'locked', apiKey: 'wrong-key' },
        { ...at, slug: 'broken', baseURL: `${upstream.baseURL}/broken` },
        { ...at, slug: 'gone', baseURL: 'http://127.0.0.1:9/v1' },
        'simulated',
      ],
    };
    writeFileSync(folder.file(NAME), JSON.stringify(config));
    const { code, printed, complained } = await runIn(folder, 'check');
    expect([code, complained]).toEqual([1, []]);
    const text = printed.join('\n');
    expect(text).toContain(`Configuration: ${NAME}`);
    expect(text).toMatch(/good +1 +reachable/);
    expect(text).toMatch(/locked +1 +refuses the key \(401\)/);
    expect(text).toMatch(/broken +1 +answers 500/);
    expect(text).toMatch(/gone +1 +cannot be reached: /);
    expect(text).toMatch(/simulated +\d+ +has no check/);
    expect(text).toContain('\n  a/b');
    expect(seen.sort()).toEqual(['GET /v1/broken/models', 'GET /v1/models', 'GET /v1/models']);
    seen.length = 0;
    expect(await runIn(folder, 'check', '--offline')).toMatchObject({ code: 0 });
    expect(seen).toEqual([]);
  });

  it('takes a module, or a function in one, and the variables of the environment', async () => {
    using folder = temporaryFolder();
    vi.stubEnv('SIGNALBOX_TEST_URL', 'http://127.0.0.1:9/v1');
    writeFileSync(folder.file('one.mjs'), `export default () => ({ aliases: { mine: 'simulated/small' } });`);
    writeFileSync(
      folder.file('two.json'),
      JSON.stringify({ providers: [{ use: 'ollama', baseURL: 'env:SIGNALBOX_TEST_URL' }] }),
    );
    expect((await runIn(folder, 'check', '--config', 'one.mjs')).printed).toContain('Configuration: one.mjs');
    expect((await runIn(folder, 'check', '--offline', '--config', 'two.json')).printed.join('\n')).toMatch(
      /ollama +any +not called/,
    );
  });

  it.each([
    ['none.json', undefined, 'none.json is not there.'],
    ['bad.json', '{', 'bad.json is not JSON'],
    ['list.json', '[]', 'list.json must hold a JSON object.'],
    ['bad.mjs', 'export default {', 'bad.mjs cannot be loaded'],
    ['throws.mjs', 'export default () => { throw new Error("no"); }', 'The function in throws.mjs failed: no'],
    ['empty.mjs', 'export const x = 1;', 'empty.mjs must export the options of createRouter'],
  ])('says in one line what is wrong with %s', async (name, text, expected) => {
    using folder = temporaryFolder();
    if (text !== undefined) writeFileSync(folder.file(name), text);
    const { code, complained } = await runIn(folder, 'check', '--config', name);
    expect([code, complained.length]).toEqual([1, 1]);
    expect(complained[0]).toContain(expected);
    expect(complained[0]).not.toMatch(/\n +at /);
  });
});
