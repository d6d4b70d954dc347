import { describe, expect, it } from 'vitest';
import { withMarkdownPictures, withoutComments } from '../scripts/docs-site/page-text.ts';
import { apiPage, type ApiItem, apiTaskPages, exportedNames } from '../scripts/docs-site/api-page.ts';

const text = (written: string): NonNullable<ApiItem['excerptTokens']> => [{ text: written }];

function pageOf(...members: readonly ApiItem[]): string {
  return apiPage('signalbox/one', { kind: 'Package', members: [{ kind: 'EntryPoint', members }] });
}

describe('a page of the API reference', () => {
  it('shows an export with its comment, its declaration and its members', () => {
    const page = pageOf({
      kind: 'Interface',
      name: 'Options',
      docComment: '/**\n * Options of {@link one}.\n */\n',
      excerptTokens: text('export interface Options '),
      members: [
        {
          kind: 'PropertySignature',
          name: 'port',
          docComment: '/**\n * Default 0.\n */\n',
          excerptTokens: text('readonly port?: number;'),
        },
      ],
    });
    expect(page).toContain('# signalbox/one');
    expect(page).toContain(
      '## Options\n\nOptions of one.\n\n```ts\nexport interface Options {\n  /**\n   * Default 0.\n   */\n  readonly port?: number;\n}\n```',
    );
  });

  it('is listed with what a program can call', () => {
    const members = [
      { kind: 'Function', name: 'one' },
      { kind: 'Function', name: 'one' },
      { kind: 'Interface', name: 'Options' },
      { kind: 'Class', name: 'Two' },
    ];
    expect(exportedNames({ kind: 'Package', members: [{ kind: 'EntryPoint', members }] })).toEqual(['one', 'Two']);
  });

  it('has one heading for what has one name', () => {
    const one = { name: 'one', excerptTokens: text('one') };
    const page = pageOf({ ...one, kind: 'Function' }, { ...one, kind: 'Function' }, { ...one, kind: 'TypeAlias' });
    expect(page.match(/^## one$/gm)).toHaveLength(1);
    expect(page.match(/```ts/g)).toHaveLength(3);
  });

  it('shows tags of a comment in words, and code as it is', () => {
    const page = pageOf({
      kind: 'Function',
      name: 'one',
      docComment:
        '/**\n * A `{{ x }}` and a {{ y }}.\n *\n * @param port - Its port.\n * @throws {@link ConfigError} if <b>.\n */\n',
      excerptTokens: text('export function one(port: number): void;'),
    });
    expect(page).toContain('A `{{ x }}` and a &#123;&#123; y }}.');
    expect(page).toContain('- **port**: Its port.');
    expect(page).toContain('**Throws** ConfigError if &lt;b>.');
  });
});

describe('the pages of an entry point with many exports', () => {
  it('are one for each task, by the folder that an export comes from, and every export is on one', () => {
    const from = (name: string, fileUrlPath: string): ApiItem => ({ kind: 'Function', name, fileUrlPath });
    const many = Array.from({ length: 70 }, (_, index) => from(`vendor${index}`, 'dist/types/src/providers/a.d.ts'));
    const others = [
      from('definePlugin', 'dist/types/src/plugins/define.d.ts'),
      from('createRouter', 'dist/types/src/entries/create-router.d.ts'),
    ];
    const model = { kind: 'Package', members: [{ kind: 'EntryPoint', members: [...many, ...others] }] };
    const pages = apiTaskPages('signalbox', model);
    expect(pages.map(({ name, names }) => [name, names.length])).toEqual([
      ['routers', 1],
      ['plugins-and-server-tools', 1],
      ['providers', 70],
    ]);
    expect(pages[0]?.text).toContain('# signalbox: routers\n\n## createRouter');
  });

  it('are none where one page has room for all', () => {
    const model = { kind: 'Package', members: [{ kind: 'EntryPoint', members: [{ kind: 'Function', name: 'one' }] }] };
    expect(apiTaskPages('signalbox/one', model)).toEqual([]);
  });
});

describe('a page of the site', () => {
  it('shows no comments, but those in code', () => {
    expect(withoutComments('# One\n\n<!-- made by a script -->\n\nTwo\n\n```html\n<!-- kept -->\n```\n')).toBe(
      '# One\n\nTwo\n\n```html\n<!-- kept -->\n```\n',
    );
  });

  it('has the picture of each theme', () => {
    const picture =
      '<picture><source media="(prefers-color-scheme: dark)" srcset="a-dark.png"><img alt="The page" src="a-light.png"></picture>';
    expect(withMarkdownPictures(picture)).toBe(
      '![The page](a-light.png){.only-light}![The page](a-dark.png){.only-dark}',
    );
  });
});
