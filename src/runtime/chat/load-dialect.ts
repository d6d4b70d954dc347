import type { Dialect } from '../../core/dialects/dialect.ts';
import type { DialectName } from '../../protocol/dialect.ts';

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
