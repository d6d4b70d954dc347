import type { Dialect, NativeRequest } from '../../core/dialects/dialect.ts';
import type { DialectName } from '../../protocol/dialect.ts';
import type { MaybePromise } from '../../platform/wait.ts';
import { errorOfFault } from './router-errors.ts';
import type { RuntimeServices } from './services.ts';

const LOADERS: Readonly<Record<DialectName, () => Promise<Dialect>>> = {
  messages: async () => (await import('../../core/dialects/messages/messages.ts')).MESSAGES,
  responses: async () => (await import('../../core/dialects/responses/responses.ts')).RESPONSES,
};

/** Loads a dialect. Most routers only get chat completions, so each is loaded by the first request in it. */
export function loadDialect(name: DialectName): Promise<Dialect> {
  const load = LOADERS[name];
  if (load === undefined) throw new RangeError(`no dialect "${name}"`);
  return load();
}

/** A body in the form of a chat request, not checked yet. */
export interface ChatBody {
  readonly chat: unknown;
  /** The request in its own API format, where it came in another one. */
  readonly native: NativeRequest | undefined;
  /** As it came: errors name its paths. */
  readonly body: unknown;
}

/**
 * A body as a chat body, from whatever API format it came in.
 *
 * @throws {@link RouterError} that names the first place that is wrong in its own format.
 */
export function chatBodyOf(
  services: Pick<RuntimeServices, 'limits' | 'registry'>,
  body: unknown,
  dialect: DialectName | undefined,
): MaybePromise<ChatBody> {
  return dialect === undefined ? { chat: body, native: undefined, body } : translated(services, body, dialect);
}

async function translated(
  { limits, registry }: Pick<RuntimeServices, 'limits' | 'registry'>,
  body: unknown,
  dialect: DialectName,
): Promise<ChatBody> {
  const translation = (await loadDialect(dialect)).toChat(body, limits, registry.routing);
  if (!translation.ok) throw errorOfFault(translation.fault);
  const { chat, native } = translation.value;
  return { chat, native: native && { ...native, dialect }, body };
}
