import type { Catalog } from '../../catalog/catalog.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { isForbidden } from '../selection/filters.ts';
import type { Choice, ResultMessage } from '../../protocol/chat-result.ts';

/** Who gave an answer that was kept. */
export interface KeptAnswer {
  /** Id of the endpoint; of an answer that a plugin gave by itself, that of the endpoint that stands for it. */
  readonly endpoint: string;
  readonly model: string;
}

/** What decides whether a kept answer may be given again, besides the request. */
interface KeptContext {
  readonly catalog: Pick<Catalog, 'endpoints'>;
  /** Ids of the plugins that take part: they may answer themselves, and choose other models. */
  readonly plugins: readonly string[];
}

/**
 * Whether an answer is whole, so that equal requests may be given it: something is in each of its choices, and each ended
 * by itself. One that ended because it was long enough did so only where its request said how long it may be; otherwise
 * a provider cut it. What a filter withheld is no answer, and what has no reason for its end may have been cut.
 */
export function isWhole(choices: readonly Choice[], { needs }: Pick<NormalizedRequest, 'needs'>): boolean {
  return (
    choices.length > 0 &&
    choices.every(({ finish_reason: reason, message, error }) => {
      const ended = reason === 'stop' || reason === 'tool_calls';
      const isLongEnough = reason === 'length' && needs.outputTokens !== undefined;
      return error === undefined && (ended || isLongEnough) && hasContent(message);
    })
  );
}

/** Whether a message says anything. What a model thought is no answer by itself. */
function hasContent({ content, refusal, tool_calls: calls, images, audio }: ResultMessage): boolean {
  const isText = [content, refusal].some((text) => text != null && /\S/.test(text));
  return isText || (calls?.length ?? 0) > 0 || (images?.length ?? 0) > 0 || audio !== undefined;
}

/**
 * Whether a kept answer may still be given to a request: rules, policies and preferences apply to it as they are now,
 * whatever they were when it was made. Whether its endpoint is well, or free, makes no difference.
 */
export function mayAnswer(kept: KeptAnswer, request: NormalizedRequest, context: KeptContext): boolean {
  const { catalog, plugins } = context;
  const { targets, account, preferences, requested } = request;
  const isOpen = plugins.length > 0 || targets.some(({ router }) => router !== undefined);
  const known = isOpen ? catalog.endpoints(kept.model) : targets.flatMap(({ endpoints }) => endpoints);
  // That of an account's own key ends with the account.
  const endpoint = known.find(({ id }) => kept.endpoint === id || kept.endpoint === `${id}@${account.id}`);
  if (endpoint !== undefined) return !isForbidden(endpoint, request);
  const isPlugin = plugins.some((id) => kept.endpoint.startsWith(`${id}#`));
  if (!isPlugin || kept.model === requested) return isPlugin;
  return preferences.denied?.(kept.model) === undefined && preferences.models?.(kept.model) !== false;
}
