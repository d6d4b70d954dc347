/** Keeps the connection to one MCP server, shared by all requests. */
import * as read from '../../platform/json.ts';
import type { ToolExpansion } from '../../contracts/server-tool.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import { McpFailure, type McpSession, openSession, type SessionOptions } from './session.ts';
import { echo } from '../../protocol/fault.ts';
import { inspectJson } from '../../protocol/inspect-json.ts';

/** Pages of a list that are read, and entries in all. */
const MAX_PAGES = 20;
const MAX_ENTRIES = 1_000;

/** Milliseconds after which the tools of a server are listed again. */
const LIST_MS = 300_000;

/** Tools that a warning names. */
const MAX_NAMED = 5;

/**
 * The connection to one server, which all requests share. It is made when the first of them needs it, and made again
 * after it has ended. What it does for several requests ends by its own time, not when one of them leaves.
 */
export class McpConnection {
  readonly #name: string;
  readonly #options: Pick<SessionOptions, 'server' | 'outbound' | 'timeoutMs' | 'maxBytes'>;
  #session: Promise<McpSession> | undefined;
  /** Ends what is under way when the connection is closed. */
  #closing = new AbortController();
  #listed: (ToolList & { readonly at: number }) | undefined;
  #listing: Promise<ToolList> | undefined;

  constructor(name: string, options: Pick<SessionOptions, 'server' | 'outbound' | 'timeoutMs' | 'maxBytes'>) {
    this.#name = name;
    this.#options = options;
  }

  /**
   * The tools that the server has.
   *
   * @throws {@link McpFailure}
   */
  async tools({ now, warn }: Pick<ToolExpansion, 'now' | 'warn'>): Promise<readonly ListedTool[]> {
    if (this.#listed !== undefined && now() - this.#listed.at < LIST_MS) return this.#listed.tools;
    this.#listing ??= this.#list(now).finally(() => (this.#listing = undefined));
    const { tools, problems } = await this.#listing;
    if (problems.length > 0) {
      const more = problems.length > MAX_NAMED ? `, and ${problems.length - MAX_NAMED} more` : '';
      const shown = problems.slice(0, MAX_NAMED).join(', ');
      warn(`The MCP server "${this.#name}" lists tools that are not offered: ${shown}${more}`);
    }
    return tools;
  }

  /**
   * Calls a tool.
   *
   * @throws {@link McpFailure}
   */
  async call(name: string, args: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    return this.#request('tools/call', { name, arguments: args }, signal);
  }

  /** Ends the connection. One that is needed after that is made anew. */
  async close(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    this.#listed = undefined;
    this.#closing.abort();
    this.#closing = new AbortController();
    await session?.then(
      (one) => one.close(),
      () => undefined,
    );
  }

  async #list(now: () => number): Promise<ToolList> {
    const at = now();
    const entries: unknown[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES && entries.length < MAX_ENTRIES; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const result = await this.#request('tools/list', params, this.#closing.signal);
      entries.push(...read.list(result['tools']));
      cursor = read.text(result['nextCursor']);
      if (cursor === undefined) break;
    }
    const list = readTools(entries.slice(0, MAX_ENTRIES));
    this.#listed = { ...list, at };
    return list;
  }

  async #request(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const session = await this.#opened();
    try {
      return await session.request(method, params, signal);
    } catch (error) {
      if (!(error instanceof McpFailure) || error.problem !== 'forgotten') throw error;
      // The protocol asks for a new session then; what was asked has not been done.
      this.#forget(session);
      return (await this.#opened()).request(method, params, signal);
    }
  }

  #opened(): Promise<McpSession> {
    if (this.#session !== undefined) return this.#session;
    const opening: Promise<McpSession> = openSession({
      ...this.#options,
      signal: this.#closing.signal,
      onClosed: () => this.#drop(opening),
      onToolsChanged: () => (this.#listed = undefined),
    });
    this.#session = opening;
    // What failed may work the next time.
    opening.catch(() => this.#drop(opening));
    return opening;
  }

  #forget(session: McpSession): void {
    this.#session = undefined;
    void session.close().catch(() => undefined);
  }

  #drop(session: Promise<McpSession>): void {
    if (this.#session === session) this.#session = undefined;
  }
}

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
interface ToolList {
  readonly tools: readonly ListedTool[];
  /** Sentences without their subject's end, such as `"search" has a schema that is no object`. */
  readonly problems: readonly string[];
}

/** What the schema of one tool may be: a model pays for it with every request. */
const SCHEMA = { depth: 32, nodes: 4_000 } as const;
const MAX_SCHEMA_LENGTH = 40_000;
const MAX_DESCRIPTION_LENGTH = 4_000;

/** Reads the tools that a server lists. A tool that cannot be offered as it is listed is left out. */
function readTools(listed: readonly unknown[]): ToolList {
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
