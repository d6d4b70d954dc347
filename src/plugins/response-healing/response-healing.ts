import type { Plugin } from '../../contracts/plugin.ts';
import { definePlugin } from '../../core/pipeline/define-plugin.ts';
import type { StageRecord } from '../../contracts/plugin-context.ts';
import type { Annotation, Choice } from '../../protocol/chat-result.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { ResponseFormat } from '../../protocol/reasoning.ts';
import type { OptionsCheck } from '../../protocol/options.ts';
import { RouterError } from '../../protocol/router-error.ts';
import { echo } from '../../protocol/fault.ts';
import { onDemand } from '../../platform/wait.ts';
import type { Healed } from './heal.ts';

type JsonFormat = Extract<ResponseFormat, { readonly type: 'json_object' | 'json_schema' }>;

/** Options of the plugin in a request or a default. */
export interface ResponseHealingRequestOptions {
  /** `schema`: an answer in a `json_schema` fits it, or the request fails. */
  readonly ensure?: 'schema' | undefined;
}

/**
 * The plugin `response-healing` (contract: plugins; gaps 5.7): makes JSON of non-streaming responses that should be
 * JSON and are not quite. Takes part when a request names it and asks for `json_object` or `json_schema`; streams pass
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
    parseOptions,
    async load() {
      await Promise.all([loadHealing(), loadHeld()]);
    },
    onAnswer({ responseFormat: format }, { ensure }, context) {
      const schema = ensure === undefined || format?.type !== 'json_schema' ? undefined : schemaOf(format);
      if (ensure !== undefined && schema === undefined && context.because === 'request') throw nothingToFit();
      const held = schema === undefined ? undefined : loadHeld();
      if (schema === undefined || held === undefined || held instanceof Promise) return undefined;
      return (choices) => {
        const { verdict, summary, repairs, isChecked } = held.heldAnswer(choices, schema, withContent);
        const refused = verdict.type === 'refused';
        context.stage({
          type: 'response_healing',
          summary: refused ? `does not fit the schema: ${summary}` : summary,
          data: {
            mode: 'json_schema',
            ensure: 'schema',
            improved: repairs.length > 0 && !refused,
            ...(repairs.length === 0 ? {} : { repairs }),
            schema: refused ? 'does not fit' : isChecked ? 'fits' : 'not checked completely',
            ...(refused ? { path: verdict.mismatch.path } : {}),
          },
        });
        return verdict;
      };
    },
    async onResult(result, { responseFormat: format }, { ensure }, context) {
      if (format?.type !== 'json_object' && format?.type !== 'json_schema') return result;
      // What was held to its schema is as it should be.
      if (ensure !== undefined && format.type === 'json_schema' && schemaOf(format) !== undefined) return result;
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
  }) as Plugin;
}

const loadHealing = onDemand(() => import('./heal.ts'));

const loadHeld = onDemand(() => import('./held-answer.ts'));

/** What was asked for cannot be done; a default waits for requests that have a schema. */
function nothingToFit(): RouterError {
  const message =
    'plugins: "response-healing" with ensure: "schema" needs a schema that answers must fit; send response_format: ' +
    '{ type: "json_schema", json_schema: { name, schema } }, or leave "ensure" out';
  return new RouterError({ status: 400, errorType: 'invalid_request', message, metadata: { path: 'plugins' } });
}

function parseOptions({ ensure, ...others }: JsonObject): OptionsCheck<ResponseHealingRequestOptions> {
  const unknown = Object.keys(others).find((name) => others[name] != null);
  if (unknown !== undefined) {
    return { ok: false, path: '', problem: `has the option "ensure" and no other, but has ${echo(unknown)}` };
  }
  if (ensure == null) return { ok: true, options: {} };
  if (ensure === 'schema') return { ok: true, options: { ensure } };
  return { ok: false, path: 'ensure', problem: `must be "schema", not ${echo(JSON.stringify(ensure))}` };
}

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
