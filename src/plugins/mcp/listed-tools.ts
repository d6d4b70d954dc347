import { echo } from '../../protocol/fault.ts';
import { inspectJson, isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import * as read from '../../platform/json.ts';

/** A tool as a server lists it. */
export interface ListedTool {
  /** As the server calls it. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments, an object. */
  readonly parameters: JsonObject;
  /** JSON Schema that its structured results promise to fit. */
  readonly outputSchema?: JsonObject | undefined;
}

/** What of a list can be used, and what is wrong with the rest. */
export interface ToolList {
  readonly tools: readonly ListedTool[];
  /** Sentences without their subject's end, such as `"search" has a schema that is no object`. */
  readonly problems: readonly string[];
}

/** What the schema of one tool may be: a model pays for it with every request. */
const SCHEMA = { depth: 32, nodes: 4_000 } as const;
const MAX_SCHEMA_LENGTH = 40_000;
const MAX_DESCRIPTION_LENGTH = 4_000;

/** Reads the tools that a server lists. A tool that cannot be offered as it is listed is left out. */
export function readTools(listed: readonly unknown[]): ToolList {
  const tools = new Map<string, ListedTool>();
  const problems: string[] = [];
  for (const [index, entry] of listed.entries()) {
    const { name, description, inputSchema, outputSchema } = read.object(entry);
    const own = read.string(name);
    const problem = nameProblem(own, tools) ?? schemaProblem(inputSchema);
    if (own === undefined || problem !== undefined) {
      problems.push(`${own === undefined ? `entry ${index}` : echo(own)} ${problem}`);
      continue;
    }
    tools.set(own, {
      name: own,
      description: (read.text(description) ?? own).slice(0, MAX_DESCRIPTION_LENGTH),
      parameters: read.object(inputSchema),
      outputSchema: isJsonObject(outputSchema) && schemaProblem(outputSchema) === undefined ? outputSchema : undefined,
    });
  }
  return { tools: [...tools.values()], problems };
}

function nameProblem(name: string | undefined, known: ReadonlyMap<string, ListedTool>): string | undefined {
  if (name === undefined || !/^[\x21-\x7e]{1,128}$/.test(name)) return 'has no name of 1 to 128 visible characters';
  return known.has(name) ? 'is listed twice' : undefined;
}

function schemaProblem(schema: JsonValue | undefined): string | undefined {
  if (!isJsonObject(schema) || schema['type'] !== 'object') return 'has a schema that is not one of an object';
  const inspection = inspectJson(schema, SCHEMA);
  if (!inspection.ok) return 'has a schema that is too large';
  return JSON.stringify(schema).length > MAX_SCHEMA_LENGTH ? 'has a schema that is too large' : undefined;
}
