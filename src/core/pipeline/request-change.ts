import type { Needs, NormalizedRequest } from '../normalize/normalized-request.ts';

/** Members of a request that plugins may change. */
export const CHANGEABLE = [
  'messages',
  'parameters',
  'tools',
  'serverTools',
  'toolChoice',
  'responseFormat',
  'reasoning',
  'outputModalities',
  'preferences',
  'extra',
] as const satisfies readonly (keyof NormalizedRequest)[];

/**
 * What a plugin changes in a request. A member that is given replaces the request's own; to add a message, give all
 * messages: `{ messages: [...request.messages, mine] }`. What an endpoint must be able to do (`request.needs`) is
 * derived again from the result.
 */
export type RequestChange = Partial<Pick<NormalizedRequest, (typeof CHANGEABLE)[number]>> & {
  /**
   * What the plugin knows better than the derivation; wins over it, for this and all later changes. A plugin that will
   * shorten the prompt for each endpoint gives a smaller `promptTokens`, so that small endpoints stay candidates.
   */
  readonly needs?: Partial<Needs>;
};
