import { ConfigError } from '../protocol/router-error.ts';

/** What every mount checks when it is made, so that a mistake is found at start-up and not by the first caller. */

/**
 * Checks what a mount was given, and gives the base path without a slash at its end.
 *
 * @param mount - Name of its function, for example `expressRouter`.
 * @throws {@link ConfigError} for anything but a router, and for a base path that no request can begin with.
 */
export function checkMount(mount: string, router: unknown, basePath = ''): string {
  if (typeof router !== 'object' || router === null || !('internals' in router)) {
    const given = router === undefined ? 'nothing' : typeof router === 'object' ? 'options' : typeof router;
    throw new ConfigError([
      { path: mount, problem: `must be given a router, as createRouter(options) makes one, not ${given}` },
    ]);
  }
  if (typeof basePath !== 'string' || (basePath !== '' && !basePath.startsWith('/'))) {
    const problem = `must begin with a slash, such as "/v1", not ${JSON.stringify(basePath)}`;
    throw new ConfigError([{ path: `${mount}.basePath`, problem }]);
  }
  return basePath.replace(/\/+$/, '');
}
