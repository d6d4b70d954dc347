import { type FileLibrary, defaultServerTools, filesTool, memoryFileLibrary } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { toolResults } from '../support/fusion.ts';
import { hello, pluginBench } from '../support/plugins.ts';
import { call, turns } from '../support/tools.ts';

const FILES = { tools: [{ type: 'router:files' }] } as const;
const never = new AbortController().signal;

/** Has a model make calls one after the other, and gives their results. */
async function run(library: FileLibrary, account: string, ...calls: readonly object[]): Promise<readonly unknown[]> {
  const model = turns(...calls.map((args) => ({ toolCalls: [call('files', JSON.stringify(args))] })), 'Done.');
  const bench = pluginBench(model.script, { serverTools: defaultServerTools([filesTool({ library })]) });
  const answer = await bench.router.chat(hello(FILES), { account: { id: account } });
  return toolResults(answer.choices[0]?.message.reasoning_details ?? []);
}

const idIn = (result: unknown): string => (result as { result: { file_id: string } }).result.file_id;

describe('router:files', () => {
  it('writes, lists, reads and edits the files of the account', async () => {
    const library = memoryFileLibrary({ now: () => 1_700_000_000_000 });
    const [written] = await run(library, 'ada', { operation: 'write', filename: 'notes.md', content: 'one two' });
    expect(written).toEqual({
      result: {
        file_id: expect.stringMatching(/^file_\w{32}$/) as string,
        filename: 'notes.md',
        media_type: 'text/markdown',
        size_bytes: 7,
        created: 1_700_000_000,
      },
    });
    const id = idIn(written);
    const [read, edited, list, again] = await run(
      library,
      'ada',
      { operation: 'read', file_id: id },
      { operation: 'edit', file_id: id, old_text: 'two', new_text: '$& three' },
      { operation: 'list' },
      { operation: 'read', file_id: id },
    );
    expect(read).toEqual({ result: { file_id: id, filename: 'notes.md', content: 'one two' } });
    // An edit is a new file.
    expect(again).toEqual(read);
    expect(idIn(edited)).not.toBe(id);
    expect(list).toMatchObject({ result: { files: [{ file_id: idIn(edited) }, { file_id: id }] } });
    const [changed] = await run(library, 'ada', { operation: 'read', file_id: idIn(edited) });
    expect(changed).toMatchObject({ result: { content: 'one $& three' } });
  });

  it('knows nothing of the files of another account', async () => {
    const library = memoryFileLibrary();
    const [written] = await run(library, 'ada', { operation: 'write', filename: 'a.txt', content: 'secret' });
    const [list, read, edit, unknown] = await run(
      library,
      'bob',
      { operation: 'list' },
      { operation: 'read', file_id: idIn(written) },
      { operation: 'edit', file_id: idIn(written), old_text: 's', new_text: 't' },
      { operation: 'read', file_id: 'file_0' },
    );
    expect(list).toEqual({ result: { files: [] } });
    expect(read).toEqual({ error: 'There is no file of that id; list tells which there are' });
    expect([edit, unknown]).toEqual([read, read]);
  });

  it.each<readonly [object, string]>([
    [{}, 'operation must be list, read, write or edit'],
    [{ operation: 'delete' }, 'operation must be list, read, write or edit'],
    [{ operation: 'read' }, 'file_id must be the id of a file'],
    [{ operation: 'read', file_id: ['x'] }, 'file_id must be the id of a file'],
    [{ operation: 'write', content: 'x' }, 'filename must be a non-empty string'],
    [
      { operation: 'write', filename: '../../etc/passwd', content: 'x' },
      'filename must not hold slashes or control characters',
    ],
    [{ operation: 'write', filename: 'a\nb', content: 'x' }, 'filename must not hold slashes or control characters'],
    [{ operation: 'write', filename: 'n'.repeat(256), content: 'x' }, 'filename must have at most 255 characters'],
    [{ operation: 'write', filename: 'a', content: 7 }, 'content must be a string'],
    [
      { operation: 'write', filename: 'a', content: 'x'.repeat(200_001) },
      'content must have at most 200000 characters',
    ],
    [{ operation: 'edit', file_id: 'x', old_text: '', new_text: 'y' }, 'old_text must be a non-empty string'],
    [{ operation: 'edit', file_id: 'x', old_text: 'a' }, 'new_text must be a string'],
  ])('tells the model what is wrong with %j', async (args, error) => {
    expect(await run(memoryFileLibrary(), 'ada', args)).toEqual([{ error }]);
  });

  it('edits a passage only where it is clear which', async () => {
    const library = memoryFileLibrary();
    const [written] = await run(library, 'ada', { operation: 'write', filename: 'a', content: 'aaa b' });
    const edit = { operation: 'edit', file_id: idIn(written), new_text: 'x' };
    expect(await run(library, 'ada', { ...edit, old_text: 'aa' }, { ...edit, old_text: 'c' })).toEqual([
      { error: 'old_text is in the file more than once; give more of it' },
      { error: 'old_text is not in the file' },
    ]);
  });

  it('shows text and nothing else, and long text in part', async () => {
    const library = memoryFileLibrary();
    const add = async (data: Uint8Array): Promise<string> =>
      (await library.add({ account: 'ada', signal: never, file: { data } })).id;
    const ids = [
      await add(new Uint8Array([0xff, 0xfe, 0x41])),
      await add(new Uint8Array(5_000_000)),
      await add(new TextEncoder().encode('x'.repeat(200_005))),
    ];
    const results = await run(library, 'ada', ...ids.map((id) => ({ operation: 'read', file_id: id })));
    const noText = { error: 'This file is not text, or too large to be read here' };
    expect(results.slice(0, 2)).toEqual([noText, noText]);
    expect(results[2]).toMatchObject({ result: { truncated: true, characters: 200_005 } });
  });

  it('has room for so much and no more', async () => {
    const write = (content: string): object => ({ operation: 'write', filename: 'a', content });
    const bytes = memoryFileLibrary({ maxBytes: 10 });
    expect(await run(bytes, 'ada', write('12345678'), write('123'))).toMatchObject([
      { result: {} },
      { error: 'All files together may have 10 bytes' },
    ]);
    const files = memoryFileLibrary({ maxFiles: 1, maxAccounts: 1 });
    expect(await run(files, 'ada', write('1'), write('2'))).toMatchObject([
      { result: {} },
      { error: 'There may be 1 files' },
    ]);
    expect(await run(files, 'bob', write('1'))).toEqual([{ error: 'There is no room for more files' }]);
  });

  it('is refused with what to configure where there are no files', async () => {
    const bench = pluginBench('Hi');
    await expect(bench.router.chat(hello(FILES))).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('filesTool({ library })') as string,
    });
  });

  it('lets the library go when the router is closed', async () => {
    const library = memoryFileLibrary();
    const { id } = await library.add({ account: 'ada', signal: never, file: { data: new Uint8Array(1) } });
    await pluginBench('Hi', { serverTools: [filesTool({ library })] }).router.close();
    expect(await library.find({ account: 'ada', id, signal: never })).toBeUndefined();
  });
});
