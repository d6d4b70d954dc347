import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createRouter } from 'signalbox';
import { CSV_HEAD } from '../../src/core/ledger/csv.ts';
import { sqliteLedger } from '../../src/storage/sqlite/sqlite-ledger.ts';
import { runIn } from '../support/command.ts';
import { ask, instant } from '../support/simulated.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const MODELS = { 'simulated/small': { price: { prompt: 1, completion: 2 } } };

describe('signalbox ledger export and signalbox replay', () => {
  it('write what a store holds, and decide it again under another configuration', async () => {
    using folder = temporaryFolder();
    const store = sqliteLedger({ file: folder.file('ledger.db') });
    const router = createRouter({ providers: [instant({ models: MODELS })], ledger: { store } });
    const { id } = await router.chat(ask('Hello'));
    await router.chat(ask('Hello again'));
    await router.close();
    const source = JSON.stringify(new URL('../../src/storage/sqlite/sqlite-ledger.ts', import.meta.url).href);
    const file = JSON.stringify(folder.file('ledger.db'));
    writeFileSync(
      folder.file('own.mjs'),
      `import { sqliteLedger } from ${source};\nexport default { ledger: { store: sqliteLedger({ file: ${file} }) } };\n`,
    );
    const exported = await runIn(folder, 'ledger', 'export', '--config', 'own.mjs', '--out', 'ledger.jsonl');
    expect([exported.code, exported.complained]).toEqual([0, []]);
    const lines = readFileSync(folder.file('ledger.jsonl'), 'utf8').trimEnd().split('\n');
    expect((JSON.parse(lines[0] ?? '') as { id: string }).id).toBe(id);
    expect(lines).toHaveLength(2);
    const csv = await runIn(folder, 'ledger', 'export', '--config', 'own.mjs', '--format', 'csv');
    expect(csv.printed.join('\n').split('\r\n')[0]).toBe(CSV_HEAD);

    const providers = [{ use: 'simulated', models: MODELS }];
    writeFileSync(folder.file('same.json'), JSON.stringify({ providers }));
    const same = await runIn(folder, 'replay', 'ledger.jsonl', '--config', 'same.json', '--json');
    expect(JSON.parse(same.printed.join(''))).toMatchObject({ records: 2, decided: 2, identical: true });
    writeFileSync(folder.file('none.json'), JSON.stringify({ providers, policy: { only: ['nobody'] } }));
    const none = await runIn(folder, 'replay', 'ledger.jsonl', '--config', 'none.json');
    expect(none.printed.join('\n')).toContain('2 would find no endpoint');
  });

  it('say what is wrong with what they were given', async () => {
    using folder = temporaryFolder();
    writeFileSync(folder.file('bad.jsonl'), '{"id":"gen-1"}\n');
    writeFileSync(folder.file('plain.json'), JSON.stringify({ providers: [{ use: 'simulated' }] }));
    const said = async (...args: string[]): Promise<string> => (await runIn(folder, ...args)).complained.join('\n');
    expect(await said('replay', 'bad.jsonl', '--config', 'plain.json')).toContain(
      'line 1, is not a record of a ledger',
    );
    expect(await said('replay', 'gone.jsonl')).toContain('gone.jsonl is not there');
    expect(await said('ledger', 'export')).toContain('Give --config, or --url');
    expect(await said('ledger', 'export', '--config', 'plain.json')).toContain('has no option ledger');
    expect(await said('ledger', 'export', '--format', 'xml')).toContain('must be jsonl or csv');
  });
});
