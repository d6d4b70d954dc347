/** The plugin `response-healing`: repairs JSON in answers. */
import type { Plugin } from '../../contracts/plugin.ts';
import { definePlugin } from '../../core/pipeline/define-plugin.ts';
import type { StageRecord } from '../../contracts/plugin-context.ts';
import type { Annotation, Choice } from '../../protocol/chat-result.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { ResponseFormat } from '../../protocol/reasoning.ts';
import { onDemand } from '../../platform/wait.ts';
import type { Healed } from './heal.ts';

type JsonFormat = Extract<ResponseFormat, { readonly type: 'json_object' | 'json_schema' }>;

/**
 * The plugin `response-healing` (contract: plugins; gaps 5.7): makes JSON of non-streaming responses that should be
 * JSON and are not quite. Takes part when a request names it and requires `json_object` or `json_schema`; streams pass
 * unchanged.
 *
 * Text that is JSON already is never changed. What cannot be healed without inventing something stays as it is: an
 * answer that was cut off, prose without JSON, JSON that does not fit the schema. A stage says what was done.
 */
export function responseHealing(): Plugin {
  return definePlugin({
    id: 'response-healing',
    whenItThrows: 'skip',
    async onResult(result, { responseFormat: format }, _options, context) {
      if (format?.type !== 'json_object' && format?.type !== 'json_schema') return result;
      // Loaded by the first response that should be JSON.
      const { heal } = await loadHealing();
      const several = result.choices.length > 1;
      const choices = result.choices.map((choice) => {
        const { content } = choice.message;
        if (content === null || (choice.message.tool_calls ?? []).length > 0 || choice.message.refusal !== null) {
          return choice;
        }
        const healed = heal(content, { schema: schemaOf(format), complete: isComplete(choice) });
        if (healed.type === 'intact') return choice;
        context.stage(stageOf(format, choice, content.length, healed, several));
        return healed.type === 'healed' ? withContent(choice, healed.json) : choice;
      });
      return choices.every((choice, index) => choice === result.choices[index]) ? result : { ...result, choices };
    },
  });
}

const loadHealing = onDemand(() => import('./heal.ts'));

function schemaOf(format: JsonFormat): JsonObject | undefined {
  if (format.type === 'json_object') return undefined;
  return (format.json_schema.schema ?? undefined) as JsonObject | undefined;
}

/** Whether the model said all that it wanted to say. Some providers do not tell why an answer ended. */
function isComplete({ finish_reason: reason, error }: Choice): boolean {
  return error === undefined && (reason === 'stop' || reason === null);
}

/** An answer with another text. Citations stay, but no longer say which characters they belong to. */
function withContent(choice: Choice, content: string): Choice {
  const { annotations, ...message } = choice.message;
  return {
    ...choice,
    message: {
      ...message,
      content,
      ...(annotations === undefined ? {} : { annotations: annotations.map(withoutPlace) }),
    },
  };
}

function withoutPlace(annotation: Annotation): Annotation {
  if (annotation.type !== 'url_citation') return annotation;
  const { start_index: _, end_index: __, ...citation } = annotation.url_citation;
  return { ...annotation, url_citation: citation };
}

function stageOf(
  { type: mode }: JsonFormat,
  { index }: Choice,
  length: number,
  healed: Exclude<Healed, { readonly type: 'intact' }>,
  several: boolean,
): StageRecord {
  const improved = healed.type === 'healed';
  const which = several ? `choice ${index}: ` : '';
  return {
    type: 'response_healing',
    summary: `${which}${improved ? healed.repairs.join(', ') : `left as it is: ${healed.reason}`}`,
    data: {
      mode,
      improved,
      original_length: length,
      healed_length: improved ? healed.json.length : length,
      ...(improved ? { repairs: healed.repairs } : { reason: healed.reason }),
      ...(improved && mode === 'json_schema' ? { schema: healed.fits ? 'fits' : 'not checked completely' } : {}),
      ...(several ? { choice: index } : {}),
    },
  };
}
