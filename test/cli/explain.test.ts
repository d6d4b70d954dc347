import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runIn, runWith } from '../support/command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const PRICES = { price: { prompt: 1, completion: 2 } };
const CONFIG = {
  providers: [
    { use: 'simulated', slug: 'one', models: { 'acme/a': PRICES } },
    { use: 'simulated', slug: 'two', models: { 'acme/a': { ...PRICES, contextLength: 1 } } },
  ],
};
const REQUEST = { model: 'acme/a', messages: [{ role: 'user', content: 'Hello there' }], max_tokens: 10 };

describe('signalbox explain', () => {
  it('shows who would be asked, at what price, and who is left out and why', async () => {
    using folder = temporaryFolder();
    writeFileSync(folder.file('signalbox.config.json'), JSON.stringify(CONFIG));
    writeFileSync(folder.file('request.json'), JSON.stringify({ ...REQUEST, plugins: [{ id: 'response-healing' }] }));
    const { code, printed, complained } = await runIn(folder, 'explain', 'request.json');
    expect([code, complained]).toEqual([0, []]);
    const text = printed.join('\n');
    expect(text).toContain('Requested: acme/a');
    expect(text).toMatch(/1 +one +acme\/a +\$0\.0000\d\d +\$1 \/ \$2 +- +only endpoint/);
    expect(text).toMatch(/- +two +acme\/a +left out: context_length/);
    expect(text).toMatch(/Plugin response-healing: .*\(request\)/);
  });

  it('shows what plugins noted while they chose models', async () => {
    using folder = temporaryFolder();
    writeFileSync(folder.file('signalbox.config.json'), JSON.stringify(CONFIG));
    writeFileSync(folder.file('request.json'), JSON.stringify({ ...REQUEST, model: 'router/auto' }));
    const { printed } = await runIn(folder, 'explain', 'request.json');
    const line = printed.findIndex((one) => one.startsWith('Plugin auto-router: onCandidates (model)'));
    expect(printed[line + 1]).toMatch(/^ {2}\S/);
  });

  it('tells the rules, splits and mirrors that take part', async () => {
    using folder = temporaryFolder();
    const mirror = { model: 'acme/b', share: 1, budget: { limitUsd: 1 }, by: 'account' };
    const aliases = {
      fast: { model: 'divided', mirror },
      divided: { split: [{ model: 'acme/a', weight: 1 }] },
    };
    const rules = [{ id: 'cheap', preferences: { sort: 'price' } }];
    writeFileSync(
      folder.file('signalbox.config.json'),
      JSON.stringify({ providers: CONFIG.providers.slice(0, 1), aliases, rules }),
    );
    writeFileSync(folder.file('request.json'), JSON.stringify({ ...REQUEST, model: 'fast' }));
    const { printed } = await runIn(folder, 'explain', 'request.json');
    expect(printed.slice(0, 4)).toEqual([
      'Requested: fast',
      'Rule cheap applied',
      'Alias divided stands for acme/a (by session)',
      'Alias fast sends a copy to acme/b (by account)',
    ]);
  });

  it('reads the request from standard input', async () => {
    using folder = temporaryFolder();
    writeFileSync(folder.file('signalbox.config.json'), JSON.stringify(CONFIG));
    const readInput = () => Promise.resolve(JSON.stringify(REQUEST));
    const { code, printed } = await runWith({ readInput }, folder, 'explain', '-', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(printed.join('\n'))).toMatchObject({ requested: 'acme/a' });
  });

  it('prints JSON for programs', async () => {
    using folder = temporaryFolder();
    writeFileSync(folder.file('signalbox.config.json'), JSON.stringify(CONFIG));
    writeFileSync(folder.file('request.json'), JSON.stringify(REQUEST));
    const { printed } = await runIn(folder, 'explain', 'request.json', '--json');
    expect(JSON.parse(printed.join('\n'))).toMatchObject({ requested: 'acme/a', steps: [{ provider: 'one' }] });
  });

  it.each([
    [undefined, 2, 'Name one file with a request, or - for standard input. Try "npx signalbox explain --help".'],
    ['{', 1, 'request.json is not JSON'],
    ['{"model":"acme/a","messages":[]}', 1, 'request.json: messages'],
  ])('says in one line what is wrong: %s', async (text, exitCode, expected) => {
    using folder = temporaryFolder();
    writeFileSync(folder.file('signalbox.config.json'), JSON.stringify(CONFIG));
    if (text !== undefined) writeFileSync(folder.file('request.json'), text);
    const { code, complained } = await runIn(folder, 'explain', ...(text === undefined ? [] : ['request.json']));
    expect([code, complained.length]).toEqual([exitCode, 1]);
    expect(complained[0]).toContain(expected);
  });
});

describe('signalbox', () => {
  it('lists its commands and explains each', async () => {
    using folder = temporaryFolder();
    const { code, printed } = await runIn(folder, '--help');
    expect(code).toBe(0);
    for (const name of ['serve', 'check', 'explain']) {
      expect(printed.join('\n')).toMatch(new RegExp(`^ {2}${name} +[A-Z]`, 'm'));
      const help = await runIn(folder, name, '--help');
      expect(help.printed.join('\n')).toContain(`signalbox ${name} `);
      expect(help.printed.join('\n')).toContain('--config <path>');
    }
  });

  it.each([
    ['serv', 'serve'],
    ['chek', 'check'],
    ['explan', 'explain'],
  ])('suggests the near command for %s', async (word, near) => {
    using folder = temporaryFolder();
    const { code, complained } = await runIn(folder, word);
    expect(code).toBe(2);
    expect(complained[0]).toBe(`signalbox: "${word}" is not a command; did you mean "${near}"?`);
  });

  it('says that an option is not known, and how to find those that are', async () => {
    using folder = temporaryFolder();
    const { code, complained } = await runIn(folder, 'check', '--ofline');
    expect([code, complained.length]).toEqual([2, 1]);
    expect(complained[0]).toContain('Try "npx signalbox check --help".');
  });
});
