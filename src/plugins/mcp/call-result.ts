import type { ToolOutcome } from '../../contracts/server-tool.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import { fitsSchema } from '../response-healing/fits-schema.ts';
import type { ListedTool } from './listed-tools.ts';
import * as read from '../../platform/json.ts';

/**
 * What a model reads of the result of `tools/call`: its texts, or its structured content where there is no text. Pictures
 * and sounds are named and not shown. A result that is none, or that breaks the schema that the tool itself declares, is
 * an error to the model.
 */
export function outcomeOf(result: JsonObject, { outputSchema }: ListedTool): ToolOutcome {
  const { content, structuredContent, isError } = result;
  if (content !== undefined && !Array.isArray(content)) return failed('The tool gave a result that is none');
  if (content === undefined && structuredContent === undefined) return failed('The tool gave a result that is none');
  const text = read.objects(content).map(textOf).join('\n');
  if (isError === true) return failed(text || 'The tool failed');
  if (outputSchema !== undefined) {
    const isBroken = !isJsonObject(structuredContent) || fitsSchema(outputSchema, structuredContent) === false;
    if (isBroken) return failed('The tool gave a result that does not fit the schema that it declares');
  }
  if (text !== '' || structuredContent === undefined) return { result: text };
  return { result: structuredContent };
}

/** A failure as a model reads it. */
export function failed(error: string): ToolOutcome {
  return { result: { status: 'error', error } };
}

function textOf(block: JsonObject): string {
  switch (block['type']) {
    case 'text':
      return read.string(block['text']) ?? '';
    case 'resource':
      return resourceText(read.object(block['resource']));
    case 'resource_link':
      return `[resource ${named(block['name'])} ${named(block['uri'])}]`;
    default:
      return `[${named(block['type'])} ${named(block['mimeType'])}, not shown]`;
  }
}

function resourceText({ text, uri, mimeType }: JsonObject): string {
  return read.string(text) ?? `[resource ${named(uri)} ${named(mimeType)}, not shown]`;
}

function named(value: JsonValue | undefined): string {
  return (read.text(value) ?? 'unknown').slice(0, MAX_NAMED);
}

const MAX_NAMED = 500;
