import { readFileSync } from 'node:fs';

/** What is read of package.json. */
interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly homepage?: string;
  readonly repository?: string | { readonly url: string };
}

/** Hosts that show a file of a repository below another path than the repository itself. */
const REPOSITORIES: readonly (readonly [host: RegExp, files: string])[] = [
  [/^https:\/\/github\.com\/[^/]+\/[^/]+$/, '/blob/HEAD'],
  [/^https:\/\/gitlab\.com\/[^/]+\/.+$/, '/-/blob/HEAD'],
];

/**
 * Where the pages of `docs` are: below an address, or among the files where it is that of a repository.
 *
 * @param address - Homepage of the package, or its repository.
 */
export function documentationAt(address: string): string {
  const base = address.replace(/#.*$/, '').replace(/\/+$/, '');
  const [, files = ''] = REPOSITORIES.find(([host]) => host.test(base)) ?? [];
  return `${base}${files}/docs`;
}

/** The address of the repository, without `git+` and `.git`: that of the variable, or of package.json; if any. */
export function repositoryAddress({ repository }: Pick<Manifest, 'repository'>): string | undefined {
  const named = process.env['SIGNALBOX_REPOSITORY'] || (typeof repository === 'object' ? repository.url : repository);
  return named?.replace(/^git\+/, '').replace(/\.git$|\/+$/g, '');
}

/**
 * Where the pages are that errors of this version lead to. Always absolute: below the homepage or in the repository
 * that a maintainer has named, else among the files of this very version as npm has them, which are there from the
 * moment in which the version is published, under whatever name.
 */
export function documentationOf(manifest: Manifest): string {
  const named = manifest.homepage ?? repositoryAddress(manifest);
  return named === undefined ? documentationOnNpm(manifest) : documentationAt(named);
}

/** The pages among the files of a version, as npm has them. */
export function documentationOnNpm({ name, version }: Manifest): string {
  return `https://unpkg.com/${name}@${version}/docs`;
}

/** What the build puts in the place of names in the sources, from package.json. */
export function documentationDefine(): Readonly<Record<string, string>> {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as Manifest;
  return {
    SIGNALBOX_DOCUMENTATION: JSON.stringify(documentationOf(manifest)),
    SIGNALBOX_VERSION: JSON.stringify(manifest.version),
  };
}
