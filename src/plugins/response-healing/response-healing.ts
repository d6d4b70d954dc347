/** The plugin `response-healing`: repairs JSON in answers. */
import type { Plugin } from '../../contracts/plugin.ts';
import { definePlugin } from '../../core/pipeline/define-plugin.ts';
import { parseHealingOptions } from '../../protocol/web-options.ts';
import { onDemand } from '../../platform/wait.ts';

/** Options of the plugin in a request or a default. */
export interface ResponseHealingRequestOptions {
  /** `schema`: an answer in a `json_schema` fits it, or the request fails. */
  readonly ensure?: 'schema' | undefined;
}

/**
 * The plugin `response-healing` (contract: plugins; gaps 5.7): makes JSON of non-streaming responses that should be
 * JSON and are not quite. Takes part when a request names it and requires `json_object` or `json_schema`; streams pass
 * unchanged.
 *
 * Text that is JSON already is never changed. What cannot be healed without inventing something stays as it is: an
 * answer that was cut off, prose without JSON, JSON that does not fit the schema. A stage says what was done.
 *
 * With `ensure: 'schema'` answers in a `json_schema` are held to it, streaming and non-streaming: what does not fit after
 * healing is asked for again at the next endpoint, then once with its fault named; see {@link Plugin.onAnswer}.
 */
export function responseHealing(): Plugin {
  return definePlugin<ResponseHealingRequestOptions>({
    id: 'response-healing',
    whenItThrows: 'skip',
    parseOptions: parseHealingOptions,
    async load() {
      await loadHealing();
    },
    onAnswer({ responseFormat: format }, { ensure }, context) {
      const held = ensure === undefined ? undefined : loadHealing();
      return held instanceof Promise ? undefined : held?.answerJudge(format, context);
    },
    async onResult(result, { responseFormat: format }, { ensure }, context) {
      if (format?.type !== 'json_object' && format?.type !== 'json_schema') return result;
      return (await loadHealing()).healedResult(result, format, ensure, context);
    },
  });
}

const loadHealing = onDemand(() => import('./healed-result.ts'));
