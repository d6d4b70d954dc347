/** Finds the operation of a method and path. */
import type { ApiFormatErrors } from '../formats/api-format.ts';
import { API_FORMAT_ERRORS } from '../formats/errors.ts';
import type { Scope } from '../contracts/account.ts';
import { INFERENCE, MANAGEMENT } from './scopes.ts';
import { percentDecoded } from '../platform/data-url.ts';
import type { ApiFormatName } from '../protocol/api-format.ts';

/** What a request requires. */
export type HttpOperation =
  | ModelOperation
  | BatchOperation
  | KeyOperation
  | LedgerOperation
  | StreamOperation
  | FileOperation
  | { readonly name: 'models' }
  | { readonly name: 'models_count' }
  | { readonly name: 'model'; readonly slug: string }
  | { readonly name: 'endpoints'; readonly slug: string }
  | { readonly name: 'endpoints_private' }
  | { readonly name: 'providers' }
  | { readonly name: 'openapi' };

/** Operations that a model answers. */
export type ModelOperation =
  | { readonly name: 'chat'; readonly apiFormat?: ApiFormatName | undefined }
  | { readonly name: 'embeddings' | 'count_tokens' };

/** Operations on batches. */
export type BatchOperation =
  | { readonly name: 'batch_create' | 'batch_list' }
  | { readonly name: 'batch_retrieve' | 'batch_delete' | 'batch_cancel' | 'batch_redeliver'; readonly id: string };

/** Operations on the files of batches. */
export type FileOperation =
  | { readonly name: 'file_create' | 'file_list' }
  | { readonly name: 'file_retrieve' | 'file_content' | 'file_delete'; readonly id: string };

/** Operations that read the ledger. */
export type LedgerOperation = { readonly name: 'generation' | 'ledger' | 'ledger_costs' };

/** Operations on stored API keys. */
export type KeyOperation =
  | { readonly name: 'key_create' | 'key_list' | 'key_current' }
  | { readonly name: 'key_retrieve' | 'key_update' | 'key_delete' | 'key_rotate'; readonly id: string };

/** Operations on streams that are kept. */
export type StreamOperation = { readonly name: 'stream_resume' | 'stream_stop'; readonly id: string };

/** Operations that only read the catalog. */
export type CatalogOperation = Exclude<
  HttpOperation,
  | { name: 'openapi' }
  | ModelOperation
  | BatchOperation
  | FileOperation
  | KeyOperation
  | LedgerOperation
  | StreamOperation
>;

/** Operations that are done for an account. */
export type AccountOperation = Exclude<HttpOperation, CatalogOperation | { name: 'openapi' }>;

/** True for an operation on stored API keys. */
export function isKeys(operation: HttpOperation): operation is KeyOperation {
  return operation.name.startsWith('key_');
}

/** True for an operation that only reads the catalog. */
export function isCatalog(operation: HttpOperation): operation is CatalogOperation {
  return OF_CATALOG.has(operation.name);
}

/**
 * What a key must be for, one of several. A generation may be looked at by whoever made it, and by operators; a key by
 * itself.
 */
export function scopesFor({ name }: AccountOperation): readonly Scope[] | undefined {
  if (name === 'generation' || name === 'key_current') return undefined;
  if (name === 'ledger' || name === 'ledger_costs') return OF_LEDGER;
  return name.startsWith('key_') ? MANAGEMENT : INFERENCE;
}

/** Management keys read the records of their account, operators those of all. */
const OF_LEDGER: readonly Scope[] = ['management', 'operator'];

const OF_CATALOG: ReadonlySet<string> = new Set(
  Object.keys({
    models: true,
    models_count: true,
    model: true,
    endpoints: true,
    endpoints_private: true,
    providers: true,
  } satisfies Record<CatalogOperation['name'], true>),
);

/** A request that is ours, one whose method is wrong, or undefined for one that belongs to the host. */
export type Match =
  | ((
      | { readonly type: 'operation'; readonly operation: HttpOperation }
      | { readonly type: 'wrong_method'; readonly allow: string }
    ) & {
      /** What is spoken at this path, as {@link apiFormatAt} tells. */
      readonly apiFormat?: ApiFormatErrors | undefined;
      /** True for a path that is ours only where API keys are stored. Default false. */
      readonly needsKeys?: boolean | undefined;
    })
  | undefined;

interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly pattern: RegExp;
  readonly operation: (slug: string) => HttpOperation;
}

/** A model id in a path: author and slug, with the slash between them escaped or not. */
const SLUG = '([^/]+(?:/[^/]+)?)';

/** An id in a path. */
const ID = '([^/]+)';

const ROUTES: readonly Route[] = [
  { method: 'POST', pattern: /^\/chat\/completions$/, operation: () => ({ name: 'chat' }) },
  { method: 'POST', pattern: /^\/embeddings$/, operation: () => ({ name: 'embeddings' }) },
  ...Object.values(API_FORMAT_ERRORS).map(({ name: apiFormat }): Route => ({
    method: 'POST',
    pattern: new RegExp(`^/${apiFormat}$`),
    operation: () => ({ name: 'chat', apiFormat }),
  })),
  { method: 'POST', pattern: /^\/messages\/count_tokens$/, operation: () => ({ name: 'count_tokens' }) },
  { method: 'POST', pattern: /^\/batches$/, operation: () => ({ name: 'batch_create' }) },
  { method: 'GET', pattern: /^\/batches$/, operation: () => ({ name: 'batch_list' }) },
  { method: 'GET', pattern: new RegExp(`^/batches/${ID}$`), operation: (id) => ({ name: 'batch_retrieve', id }) },
  { method: 'DELETE', pattern: new RegExp(`^/batches/${ID}$`), operation: (id) => ({ name: 'batch_delete', id }) },
  { method: 'POST', pattern: new RegExp(`^/batches/${ID}/cancel$`), operation: (id) => ({ name: 'batch_cancel', id }) },
  { method: 'GET', pattern: /^\/key$/, operation: () => ({ name: 'key_current' }) },
  { method: 'GET', pattern: /^\/keys$/, operation: () => ({ name: 'key_list' }) },
  { method: 'POST', pattern: /^\/keys$/, operation: () => ({ name: 'key_create' }) },
  { method: 'GET', pattern: new RegExp(`^/keys/${ID}$`), operation: (id) => ({ name: 'key_retrieve', id }) },
  { method: 'PATCH', pattern: new RegExp(`^/keys/${ID}$`), operation: (id) => ({ name: 'key_update', id }) },
  { method: 'DELETE', pattern: new RegExp(`^/keys/${ID}$`), operation: (id) => ({ name: 'key_delete', id }) },
  { method: 'POST', pattern: new RegExp(`^/keys/${ID}/rotate$`), operation: (id) => ({ name: 'key_rotate', id }) },
  { method: 'GET', pattern: new RegExp(`^/streams/${ID}$`), operation: (id) => ({ name: 'stream_resume', id }) },
  { method: 'DELETE', pattern: new RegExp(`^/streams/${ID}$`), operation: (id) => ({ name: 'stream_stop', id }) },
  { method: 'GET', pattern: /^\/generation$/, operation: () => ({ name: 'generation' }) },
  { method: 'GET', pattern: /^\/ledger$/, operation: () => ({ name: 'ledger' }) },
  { method: 'GET', pattern: /^\/ledger\/costs$/, operation: () => ({ name: 'ledger_costs' }) },
  {
    method: 'POST',
    pattern: new RegExp(`^/batches/${ID}/redeliver$`),
    operation: (id) => ({ name: 'batch_redeliver', id }),
  },
  { method: 'POST', pattern: /^\/files$/, operation: () => ({ name: 'file_create' }) },
  { method: 'GET', pattern: /^\/files$/, operation: () => ({ name: 'file_list' }) },
  { method: 'GET', pattern: new RegExp(`^/files/${ID}$`), operation: (id) => ({ name: 'file_retrieve', id }) },
  { method: 'DELETE', pattern: new RegExp(`^/files/${ID}$`), operation: (id) => ({ name: 'file_delete', id }) },
  { method: 'GET', pattern: new RegExp(`^/files/${ID}/content$`), operation: (id) => ({ name: 'file_content', id }) },
  { method: 'GET', pattern: /^\/models(?:\/user)?$/, operation: () => ({ name: 'models' }) },
  { method: 'GET', pattern: /^\/models\/count$/, operation: () => ({ name: 'models_count' }) },
  {
    method: 'GET',
    pattern: new RegExp(`^/models/${SLUG}/endpoints$`),
    operation: (slug) => ({ name: 'endpoints', slug }),
  },
  { method: 'GET', pattern: new RegExp(`^/models?/${SLUG}$`), operation: (slug) => ({ name: 'model', slug }) },
  { method: 'GET', pattern: /^\/endpoints\/zdr$/, operation: () => ({ name: 'endpoints_private' }) },
  { method: 'GET', pattern: /^\/providers$/, operation: () => ({ name: 'providers' }) },
  { method: 'GET', pattern: /^\/openapi\.json$/, operation: () => ({ name: 'openapi' }) },
];

/** Paths without an id, such as `/chat/completions`. */
export const PATHS: readonly string[] = [
  '/chat/completions',
  '/embeddings',
  ...Object.keys(API_FORMAT_ERRORS).map((name) => `/${name}`),
  '/messages/count_tokens',
  '/batches',
  '/files',
  '/models',
  '/providers',
  '/openapi.json',
];

/**
 * The API format that is spoken at a path below the mount, whatever the method; undefined where answers have the shape
 * of chat.
 */
export function apiFormatAt(path: string): ApiFormatErrors | undefined {
  return API_FORMATS.get(withoutSlash(path));
}

const API_FORMATS: ReadonlyMap<string, ApiFormatErrors> = new Map([
  ...Object.values(API_FORMAT_ERRORS).map((apiFormat) => [`/${apiFormat.name}`, apiFormat] as const),
  ['/messages/count_tokens', API_FORMAT_ERRORS.messages],
]);

const CHAT: Match = { type: 'operation', operation: { name: 'chat' } };

/** Finds the operation behind a method and a path below the mount. A slash at the end makes no difference. */
export function matchRoute(method: string, path: string): Match {
  if (path === '/chat/completions' && method === 'POST') return CHAT;
  const apiFormat = apiFormatAt(path);
  const trimmed = withoutSlash(path);
  const needsKeys = /^\/keys?(?:$|\/)/.test(trimmed) || undefined;
  const allowed: string[] = [];
  for (const route of ROUTES) {
    const found = route.pattern.exec(trimmed);
    if (found === null) continue;
    if (route.method === method || (route.method === 'GET' && method === 'HEAD')) {
      const [, id = ''] = found;
      return { type: 'operation', operation: route.operation(percentDecoded(id) ?? id), apiFormat, needsKeys };
    }
    allowed.push(route.method === 'GET' ? 'GET, HEAD' : route.method);
  }
  if (allowed.length === 0) return undefined;
  return { type: 'wrong_method', allow: [...new Set(allowed)].join(', '), apiFormat, needsKeys };
}

function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}
