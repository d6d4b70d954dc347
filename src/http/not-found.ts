import { nearName } from '../protocol/near-name.ts';
import { matchRoute, PATHS } from './routes.ts';

/** What to say of a path at which nothing is served: where the router is mounted, and what may have been meant. */

/** Operations of OpenAI's API that this router does not have, by the first part of their path. */
const NOT_SERVED = new Set([
  'assistants',
  'audio',
  'completions',
  'containers',
  'conversations',
  'evals',
  'fine_tuning',
  'images',
  'moderations',
  'realtime',
  'threads',
  'uploads',
  'vector_stores',
  'videos',
]);

const MOST_SHOWN = 200;

/**
 * The sentence about a path.
 *
 * @param path - As it was called, without the query.
 * @param mount - Where the router is, without a slash at the end.
 */
export function describeMissing(method: string, path: string, mount: string): string {
  const shown = path.length > MOST_SHOWN ? `${path.slice(0, MOST_SHOWN)}…` : path;
  const found = `Nothing is served at ${method} ${shown}`;
  const below = path.startsWith(mount) ? path.slice(mount.length) : path;
  const [, first = ''] = below.replace(/^\/v1(?=\/)/, '').split('/');
  if (NOT_SERVED.has(first)) return `${found}: this router does not serve ${first.replaceAll('_', ' ')}`;
  const where = mount === '' ? 'the root of this server' : mount;
  const meant = meantBy(method, path);
  return meant === undefined
    ? `${found}; the router is at ${where}`
    : `${found}; the router is at ${where}: did you mean ${mount}${meant}?`;
}

/** The end of a path that is one of ours, or the one of ours that is near. */
function meantBy(method: string, path: string): string | undefined {
  for (let at = path.indexOf('/'); at >= 0 && at < MOST_SHOWN; at = path.indexOf('/', at + 1)) {
    const end = path.slice(at);
    if (end.length > 1 && matchRoute(method, end) !== undefined) return end;
  }
  return nearName(path.replace(/^.*\/v1(?=\/)/, ''), PATHS, 3);
}
