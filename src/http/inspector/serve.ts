/** Serves the page of the inspector and its data. */
import type { InspectedRouter, InspectorCall, InspectorReply } from '../../config/inspector.ts';
import { invalid } from '../body.ts';
import { errorReply } from '../error-reply.ts';
import { percentDecoded } from '../../platform/data-url.ts';
import { RouterError } from '../../protocol/router-error.ts';
import { batchErrors, cancelBatch, listBatches } from './batches.ts';
import { endpointList, planNow } from './endpoints.ts';
import { budgetList } from './budgets.ts';
import { overviewOf, suggestionsOf, timelineOf, type KeptWarning } from './overview.ts';
import { LiveHub } from './live-hub.ts';
import { LiveStream } from './live-stream.ts';
import { coldList, costList, ledgerPage, recordPage, requestPage } from './requests.ts';
import { filterOf, rowFilter } from './live-row.ts';
import type { ContentView, InspectorFacts } from './wire.ts';
import { authorize } from '../authorize.ts';
import { OPERATOR } from '../scopes.ts';
import { isLocalCaller } from '../local-caller.ts';
import { warn } from '../../runtime/events/events.ts';
import type { MaybePromise } from '../../platform/wait.ts';

/** Headers of everything that is answered here: nothing may be embedded, guessed, kept or told to other sites. */
const HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const;

const STREAM_HEADERS = {
  ...HEADERS,
  'content-type': 'text/event-stream; charset=utf-8',
  // Compression and proxies would hold events back.
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
} as const;

/** Views have addresses of their own, so that they can be shared and survive a reload. All are the same page. */
const VIEWS =
  /^\/inspector(?:\/|\/(?:overview|live|requests|endpoints|cost|batches|budgets|try)\/?|\/requests\/[^/]+\/?)?$/;

/** What the inspector keeps besides what its router does. */
interface KeptForPage extends Pick<InspectorOptions, 'allow'> {
  readonly warnings: readonly KeptWarning[];
  readonly contents: ReadonlyMap<string, string> | undefined;
}

/** Serves the inspector of one router. */
export class InspectorServer {
  readonly #router: InspectedRouter;
  readonly #kept: KeptForPage;
  readonly #hub: LiveHub;

  constructor(router: InspectedRouter, kept: KeptForPage) {
    this.#router = router;
    this.#kept = kept;
    this.#hub = new LiveHub(router);
  }

  /** Answers a request; undefined for an address that is not one of the inspector's. Never rejects. */
  async answer(call: InspectorCall): Promise<InspectorReply | undefined> {
    try {
      const isRead = call.method === 'GET' || call.method === 'HEAD';
      // The page itself holds nothing that is worth protecting, and is where keys are entered.
      if (isRead && VIEWS.test(call.path)) return await pageReply();
      const [, path] = /^\/inspector\/api\/(.*)$/.exec(call.path) ?? [];
      if (path === undefined) return undefined;
      const [, requested] = /^requests\/([^/]+)\/content$/.exec(path) ?? [];
      if (requested !== undefined && isRead) {
        // Whom the host's own check lets in may see everything but this.
        await admit(this.#router, call, undefined);
        return json(this.#content(unescape(requested)));
      }
      await admit(this.#router, call, this.#kept.allow);
      if (!isRead) return json(await this.#change(path, call));
      if (path === 'live') return this.#live(call);
      return json(await this.#read(path, new URLSearchParams(call.query)));
    } catch (error) {
      return errorReply(error, { spelling: SPELLING, wantsMetadata: false, headers: HEADERS });
    }
  }

  #live(call: InspectorCall): InspectorReply {
    const { environment, limits } = this.#router.internals.config;
    const filter = rowFilter(filterOf(new URLSearchParams(call.query)));
    const frames = new LiveStream(this.#hub, filter, environment.wallClock, call.header('last-event-id'));
    call.signal.addEventListener('abort', () => void frames.return());
    return { type: 'stream', status: 200, headers: STREAM_HEADERS, frames, stallMs: limits.writeStallMs };
  }

  #read(path: string, query: URLSearchParams): Promise<object> | object {
    const [, id, part] = /^(?:requests|batches)\/([^/]+)(\/errors)?$/.exec(path) ?? [];
    if (id !== undefined && path.startsWith('requests/') && part === undefined)
      return requestPage(this.#router, unescape(id));
    if (id !== undefined && path.startsWith('batches/') && part !== undefined) {
      return batchErrors(this.#router, unescape(id), accountOf(query));
    }
    switch (path) {
      case 'overview':
        return overviewOf(this.#router, this.#kept.warnings);
      case 'timeline':
        return timelineOf(this.#router, query);
      case 'suggestions':
        return suggestionsOf(this.#router);
      case 'budgets':
        return budgetList(this.#router);
      case 'facts':
        return this.#facts();
      case 'requests':
        return ledgerPage(this.#router, query);
      case 'records':
        return recordPage(this.#router, query);
      case 'endpoints':
        return endpointList(this.#router, query.get('q') ?? '');
      case 'plan':
        return planNow(this.#router, query.get('model') ?? '');
      case 'costs':
        return costList(this.#router, query);
      case 'cold':
        return coldList(this.#router);
      case 'batches':
        return listBatches(this.#router);
      default:
        throw nothingHere();
    }
  }

  async #change(path: string, call: InspectorCall): Promise<object> {
    const [, id] = /^batches\/([^/]+)\/cancel$/.exec(path) ?? [];
    if (id === undefined || call.method !== 'POST') throw nothingHere();
    refuseForeignPages(call);
    return cancelBatch(this.#router, unescape(id), accountOf(new URLSearchParams(call.query)));
  }

  #content(id: string): object {
    const content = this.#kept.contents?.get(id);
    if (content !== undefined) return JSON.parse(content) as ContentView;
    const message =
      this.#kept.contents === undefined
        ? 'Prompts and answers are not kept: inspector({ content: true }) keeps those of the last requests'
        : 'The prompt and the answer of this request are not kept, or not any more';
    throw new RouterError({ status: 404, errorType: 'not_found', message });
  }

  #facts(): InspectorFacts {
    const { config, services } = this.#router.internals;
    const { catalog } = services.facts;
    return {
      providers: [...catalog.providers.values()].map(({ slug, name }) => ({ slug, name })),
      models: [...catalog.models.keys()].filter((id) => catalog.endpoints(id).some(isForChat)),
      strategy: config.strategy,
      ledger: services.ledger !== undefined,
      content: this.#kept.contents !== undefined,
    };
  }
}

function isForChat({ outputModalities }: { readonly outputModalities?: ReadonlySet<string> | undefined }): boolean {
  return outputModalities?.has('text') !== false;
}

const SPELLING = { metadataField: 'router_metadata', processing: '', headers: 'x-router' } as const;

/** The page, which is built ahead, with the hashes of what in it may run. */
async function pageReply(): Promise<InspectorReply> {
  const { page, policy } = await import('#inspector-page');
  const headers = { ...HEADERS, 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy };
  return { type: 'whole', status: 200, headers, body: page };
}

function json(body: object): InspectorReply {
  return {
    type: 'whole',
    status: 200,
    headers: { ...HEADERS, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
}

function accountOf(query: URLSearchParams): string {
  const account = query.get('account');
  if (account === null) throw invalid('account is missing: whose batch is meant?');
  return account;
}

function unescape(text: string): string {
  return percentDecoded(text) ?? text;
}

function nothingHere(): RouterError {
  return new RouterError({ status: 404, errorType: 'not_found', message: 'The inspector has nothing at this path' });
}

/**
 * Lets in whoever may see requests of all accounts: by the host's own check, from this machine where the router has no
 * authentication (`allowAnonymous` is about models, and does not open this), or by a key with the scope `operator`.
 *
 * @throws {@link RouterError} 401 or 403 for everybody else.
 */
async function admit(
  { internals }: InspectedRouter,
  call: InspectorCall,
  allow: InspectorOptions['allow'],
): Promise<void> {
  if (allow !== undefined && (await isAllowed(internals, call, allow))) return;
  const { authenticate, anonymous, cors } = internals.config;
  if (authenticate !== undefined) {
    await authorize(call, OPERATOR, internals);
    return;
  }
  if (anonymous !== 'nobody' && isLocalCaller(call, cors)) return;
  throw new RouterError({
    status: 401,
    errorType: 'authentication',
    message:
      'The inspector answers this machine only, and none behind a proxy. For others, give createRouter authenticate, ' +
      'and use a key with the scope operator; or give inspector() a check of your own: allow.',
  });
}

async function isAllowed(
  { services }: InspectedRouter['internals'],
  { header }: InspectorCall,
  allow: NonNullable<InspectorOptions['allow']>,
): Promise<boolean> {
  try {
    // Programs in JavaScript may give anything; only a plain yes lets somebody in.
    const allowed: unknown = await allow({ header });
    return allowed === true;
  } catch (error) {
    const reason = error instanceof Error ? error.name : typeof error;
    warn(services.events, { code: 'inspector_allow', message: `allow of inspector() failed (${reason})` });
    return false;
  }
}

/** Set by the page on everything that changes something; no other site can make a browser send it. */
const PAGE_HEADER = 'x-signalbox-inspector';

/** @throws {@link RouterError} 403 when a change was not requested by the page itself. */
function refuseForeignPages({ header }: InspectorCall): void {
  if (header(PAGE_HEADER) !== undefined) return;
  const message = `Changes need the header ${PAGE_HEADER}, which only the inspector's own page sends`;
  throw new RouterError({ status: 403, errorType: 'permission_denied', message });
}

/** Options of {@link inspector}. */
export interface InspectorOptions {
  /**
   * The host's own check, for hosts that know their users by a cookie or a header of their own: true for a request that
   * may see everything. Called before the other rules, which apply where it says false. What it throws refuses.
   * Default: none.
   */
  readonly allow?: ((request: InspectorRequest) => MaybePromise<boolean>) | undefined;
  /**
   * True: the page shows prompts and answers of the last 200 chat requests that were answered. They are kept in the
   * memory of this process and nowhere else, and are shown to clients on this machine, where the router has no
   * `authenticate`, and to API keys with the scope `operator`: whom `allow` lets in does not see them. Default false:
   * nothing of them is kept.
   */
  readonly content?: boolean | undefined;
}

/** What the host's own check may look at. */
export interface InspectorRequest {
  /** A header by its lower-case name. */
  readonly header: (name: string) => string | undefined;
}
