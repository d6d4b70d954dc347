/** Mounts the inspector: a page that shows what a router decides and what it costs. */
import type { InspectedRouter, Inspector } from '../../config/inspector.ts';
import { callable, type OptionShape } from '../../options/values.ts';
import { checkShape } from '../../platform/check-options.ts';
import { boolean } from '../../schema/scalars.ts';
import type { LedgerContent } from '../../contracts/ledger.ts';
import type { InspectorServer, InspectorOptions } from './serve.ts';
import type { KeptWarning } from './overview.ts';

/** The last warnings of a router. */
const MOST_WARNINGS = 50;
/** Requests whose prompts and answers are kept: the latest. */
const MOST_CONTENTS = 200;

/** Characters of a prompt with its answer; longer ones, such as those with images, are not kept. */
const MOST_CHARACTERS = 200_000;

function keepContent(contents: Map<string, string>, { id, messages, choices }: LedgerContent): void {
  const text = JSON.stringify({ messages, choices });
  contents.set(id, text.length <= MOST_CHARACTERS ? text : TOO_LONG);
  const [eldest] = contents.keys();
  if (contents.size > MOST_CONTENTS && eldest !== undefined) contents.delete(eldest);
}

const TOO_LONG = JSON.stringify({ messages: [], choices: [], too_long: true });

const OPTIONS: OptionShape<InspectorOptions> = { allow: callable, content: boolean };

/**
 * A page that shows what a router decides, what becomes of it and what it costs. Every mount of the router serves it
 * below `<base>/inspector`. It shows no prompts and no answers, unless `content` says so.
 *
 * Who may see it: whom the host's own check lets in; clients on this machine, as long as the router has no
 * `authenticate` and is not in production; otherwise callers with an API key that has the scope `operator`.
 *
 * Nothing of it is loaded before it is requested, and it listens to the router only while a page is open.
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
  const kept: KeptWarning[] = [];
  const contents = options.content === true ? new Map<string, string>() : undefined;
  return {
    warned({ code, message }) {
      kept.push({ code, message, at: Date.now() });
      if (kept.length > MOST_WARNINGS) kept.shift();
    },
    content: contents && ((content) => keepContent(contents, content)),
    async answer(router, call) {
      if (call.path !== '/inspector' && !call.path.startsWith('/inspector/')) return undefined;
      let server = servers.get(router);
      if (server === undefined) {
        server = import('./serve.ts').then(
          (loaded) => new loaded.InspectorServer(router, { allow: options.allow, warnings: kept, contents }),
        );
        servers.set(router, server);
      }
      return (await server).answer(call);
    },
  };
}
