import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findFrameworks } from './frameworks.ts';

const DEBIAN = '/usr/lib/postgresql';

/** Folder of the programs of PostgreSQL; undefined where it is not installed. */
export function findPostgres(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((left, right) => Number(right) - Number(left)) : [];
  const folders = [...searchPath(), ...versions.map((version) => join(DEBIAN, version, 'bin'))];
  return folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')));
}

/** A Redis server that is running, or the program that runs one; undefined where there is neither. */
export function findRedis(): { readonly url: string } | { readonly program: string } | undefined {
  const url = process.env['REDIS_URL'];
  if (url !== undefined && url !== '') return { url };
  const folder = searchPath().find((one) => existsSync(join(one, 'redis-server')));
  return folder === undefined ? undefined : { program: join(folder, 'redis-server') };
}

/** The program of nginx; undefined where it is not installed. */
export function findNginx(): string | undefined {
  // Debian puts it where only administrators look.
  const folder = [...searchPath(), '/usr/sbin'].find((one) => existsSync(join(one, 'nginx')));
  return folder === undefined ? undefined : join(folder, 'nginx');
}

/** The program of PgBouncer; undefined where it, or the PostgreSQL behind it, is not installed. */
export function findPgBouncer(): string | undefined {
  const folder = [...searchPath(), '/usr/sbin'].find((one) => existsSync(join(one, 'pgbouncer')));
  return folder === undefined || findPostgres() === undefined ? undefined : join(folder, 'pgbouncer');
}

/** The program of Chromium; undefined where it is not installed. */
export function findBrowser(): string | undefined {
  const programs = ['chromium', 'chromium-browser', 'google-chrome'];
  const folder = searchPath().flatMap((one) => programs.map((program) => join(one, program)));
  return folder.find((program) => existsSync(program));
}

/** The program of Deno: the one of this project's packages, or one of the machine; undefined where there is neither. */
export function findDeno(): string | undefined {
  const own = fileURLToPath(new URL('../../node_modules/.bin', import.meta.url));
  const folder = [own, ...searchPath()].find((one) => existsSync(join(one, 'deno')));
  return folder === undefined ? undefined : join(folder, 'deno');
}

function searchPath(): readonly string[] {
  return (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
}

/**
 * Servers that some tests need. A test says so by the file's name, which has `tests` in it, and is left out where a
 * server is missing.
 */
export const SERVERS = [
  { name: 'PostgreSQL', tests: 'postgres-', starts: 'startPostgres(', find: findPostgres },
  { name: 'Redis', tests: 'redis-', starts: 'startRedis(', find: findRedis },
  { name: 'PgBouncer', tests: 'pgbouncer-', starts: 'startPgBouncer(', find: findPgBouncer },
  { name: 'nginx', tests: 'nginx-', starts: 'startNginx(', find: findNginx },
  { name: 'Deno', tests: 'deno-', starts: 'findDeno(', find: findDeno },
  {
    name: 'frameworks (FRAMEWORKS=1 fetches them)',
    tests: 'framework-',
    starts: 'installFrameworks(',
    find: findFrameworks,
  },
  { name: 'a browser (Chromium)', tests: 'browser-', starts: 'startBrowser(', find: findBrowser },
] as const;
