import { describe, expect, it } from 'vitest';
import { apiPage, type ApiItem, exportedNames } from '../scripts/docs-site/api-page.ts';

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
