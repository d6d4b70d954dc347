import { readFileSync } from 'node:fs';

/** Hosts that show a file of a repository below another path than the repository itself. */
const REPOSITORIES: readonly (readonly [host: RegExp, files: string])[] = [
  [/^https:\/\/github\.com\/[^/]+\/[^/]+$/, '/blob/HEAD'],
  [/^https:\/\/gitlab\.com\/[^/]+\/.+$/, '/-/blob/HEAD'],
];

/**
 * Where the pages of `docs` are, by the `homepage` of package.json: below it, or among the files where it is a repository.
 * Undefined without one: then addresses in errors begin with the folder, which the package brings.
 */
export function documentationAt(homepage: string | undefined): string | undefined {
  if (homepage === undefined) return undefined;
  const base = homepage.replace(/#.*$/, '').replace(/\/+$/, '');
  const [, files = ''] = REPOSITORIES.find(([host]) => host.test(base)) ?? [];
  return `${base}${files}/docs`;
}

/** What the build puts in the place of names in the sources, from package.json. */
export function documentationDefine(): Readonly<Record<string, string>> {
  const { homepage, version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly homepage?: string;
    readonly version: string;
  };
  return {
    SIGNALBOX_DOCUMENTATION: JSON.stringify(documentationAt(homepage)) ?? 'undefined',
    SIGNALBOX_VERSION: JSON.stringify(version),
  };
}
