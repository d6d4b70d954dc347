import type { InspectedRouter, Inspector } from '../config/inspector.ts';
import { callable, checkShape, type OptionShape } from '../platform/option-kinds.ts';
import type { MaybePromise } from '../platform/wait.ts';
import type { InspectorServer } from './serve.ts';

/** Options of {@link inspector}. */
export interface InspectorOptions {
  /**
   * The host's own check, for hosts that know their users by a cookie or a header of their own: true for a request that
   * may see everything. Asked before the other rules, which apply where it says false. What it throws refuses.
   * Default: none.
   */
  readonly allow?: ((request: InspectorRequest) => MaybePromise<boolean>) | undefined;
}

/** What the host's own check may look at. */
export interface InspectorRequest {
  /** A header by its lower-case name. */
  readonly header: (name: string) => string | undefined;
}

const OPTIONS: OptionShape<InspectorOptions> = { allow: callable };

/**
 * A page that shows what a router decides, what becomes of it and what it costs. Every mount of the router serves it
 * below `<base>/inspector`. It shows no prompts and no answers.
 *
 * Who may see it: whom the host's own check lets in; clients on this machine, as long as the router has no
 * `authenticate` and is not in production; otherwise callers with an API key that has the scope `management`.
 *
 * Nothing of it is loaded before somebody asks for it, and it listens to the router only while a page is open.
 *
 * @example
 * ```ts
 * const router = createRouter({ inspector: inspector() });
 * ```
 * @throws {@link ConfigError} when an option is not what it should be.
 */
export function inspector(options: InspectorOptions = {}): Inspector {
  checkShape(OPTIONS, options, 'inspector');
  const servers = new WeakMap<InspectedRouter, Promise<InspectorServer>>();
  return {
    async answer(router, call) {
      if (call.path !== '/inspector' && !call.path.startsWith('/inspector/')) return undefined;
      let server = servers.get(router);
      if (server === undefined) {
        server = import('./serve.ts').then((loaded) => new loaded.InspectorServer(router, options.allow));
        servers.set(router, server);
      }
      return (await server).answer(call);
    },
  };
}
