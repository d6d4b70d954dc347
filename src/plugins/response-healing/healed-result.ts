/** What the plugin `response-healing` does to answers. Loaded by the first request that it takes part in. */
import type { AnswerJudge } from '../../contracts/plugin.ts';
import type { ChunksContext, PluginContext, StageRecord } from '../../contracts/plugin-context.ts';
import type { Annotation, ChatResult, Choice } from '../../protocol/chat-result.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { ResponseFormat } from '../../protocol/reasoning.ts';
import { RouterError } from '../../protocol/router-error.ts';
import { heal, type Healed } from './heal.ts';
import { heldAnswer } from './held-answer.ts';

type JsonFormat = Extract<ResponseFormat, { readonly type: 'json_object' | 'json_schema' }>;

/**
 * How answers are held to their schema; undefined where there is none.
 *
 * @throws {@link RouterError} 400 where the request itself asks for that without a schema.
 */
export function answerJudge(
  format: ResponseFormat | undefined,
  context: Pick<ChunksContext, 'because' | 'stage'>,
): AnswerJudge | undefined {
  const schema = format?.type === 'json_schema' ? schemaOf(format) : undefined;
  if (schema === undefined) {
    if (context.because === 'request') throw nothingToFit();
    return undefined;
  }
  return (choices) => {
    const { verdict, summary, repairs, isChecked } = heldAnswer(choices, schema, withContent);
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
}

/** What was asked for cannot be done; a default waits for requests that have a schema. */
function nothingToFit(): RouterError {
  const message =
    'plugins: "response-healing" with ensure: "schema" needs a schema that answers must fit; send response_format: ' +
    '{ type: "json_schema", json_schema: { name, schema } }, or leave "ensure" out';
  return new RouterError({ status: 400, errorType: 'invalid_request', message, metadata: { path: 'plugins' } });
}

/**
 * A non-streaming response, repaired where it is not quite JSON.
 *
 * @param ensure - `schema` where it was held to its schema, if it has one: then it is as it should be.
 */
export function healedResult(
  result: ChatResult,
  format: JsonFormat,
  ensure: 'schema' | undefined,
  context: Pick<PluginContext, 'stage'>,
): ChatResult {
  if (ensure !== undefined && format.type === 'json_schema' && schemaOf(format) !== undefined) return result;
  const choices = result.choices.map((choice) => {
    const { content } = choice.message;
    if (content === null || (choice.message.tool_calls ?? []).length > 0 || choice.message.refusal !== null) {
      return choice;
    }
    const healed = heal(content, { schema: schemaOf(format), complete: isComplete(choice) });
    if (healed.type === 'intact') return choice;
    context.stage(stageOf(result, choice, format, healed));
    return healed.type === 'healed' ? withContent(choice, healed.json) : choice;
  });
  return choices.every((choice, index) => choice === result.choices[index]) ? result : { ...result, choices };
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
  { choices }: ChatResult,
  { index, message }: Choice,
  { type: mode }: JsonFormat,
  healed: Exclude<Healed, { readonly type: 'intact' }>,
): StageRecord {
  const several = choices.length > 1;
  const { length } = message.content ?? '';
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
