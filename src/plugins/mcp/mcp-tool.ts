/** The server tool `router:mcp`: tools of MCP servers. */
import { defineServerTool } from '../../core/pipeline/define-plugin.ts';
import type { ServerToolDefinition, ToolOutcome } from '../../contracts/server-tool.ts';
import { createOutbound } from '../../net/outbound.ts';
import { systemEnvironment } from '../../platform/environment.ts';
import { echo } from '../../protocol/fault.ts';
import { type JsonObject, isJsonObject, type JsonValue } from '../../protocol/json.ts';
import { nearName } from '../../protocol/near-name.ts';
import type { OptionsCheck } from '../../protocol/options.ts';
import { errorOf } from '../../protocol/router-error.ts';
import { parseMcpOptions } from '../../protocol/server-tool-options.ts';
import { type ListedTool, McpConnection } from './connection.ts';
import { checkMcpOptions, type McpServer, type McpToolOptions } from './servers.ts';
import { McpFailure } from './session.ts';
import { fitsSchema } from '../response-healing/fits-schema.ts';
import * as read from '../../platform/json.ts';
import type { Outbound } from '../../net/outbound-request.ts';

/** What a request says about `router:mcp`. */
export interface McpOptions {
  /** Name of a server that the router has. */
  readonly server: string;
  /** Its tools that the model may use. Default: all that the router allows. */
  readonly allowedTools?: readonly string[] | undefined;
  /** One of its tools, once they are known. */
  readonly tool?: ListedTool | undefined;
}

/** Tools of one server that a request may offer: more than providers take. */
const MAX_TOOLS = 128;

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_MAX_BYTES = 4_000_000;

/**
 * The server tool `router:mcp` (gaps 2.1): the tools of an MCP server that the program has configured, each as the
 * function `server__tool`. A request says which server, and which of its tools:
 * `{ type: 'router:mcp', parameters: { server: 'tickets', allowed_tools: ['search'] } }`.
 *
 * Needs the package `@modelcontextprotocol/sdk`, which is loaded when a request first offers a server. Connections are
 * shared by all requests and closed by `router.close()`. A server whose tools cannot be listed, or that has
 * none, fails the request with 502; a call that fails is a result that says so to the model.
 *
 * @example
 * ```ts
 * const router = createRouter({
 *   serverTools: defaultServerTools([mcpTool({ servers: { tickets: { url: 'https://mcp.example.com/mcp' } } })]),
 * });
 * ```
 * @throws {@link ConfigError} with everything that is wrong with the options.
 */
export function mcpTool(options: McpToolOptions): ServerToolDefinition<McpOptions> {
  let opened: Outbound | undefined;
  const outbound = (): Outbound => (opened ??= createOutbound(options.outbound ?? {}, systemEnvironment()));
  checkMcpOptions(options);
  const { servers, timeoutMs = DEFAULT_TIMEOUT_MS, maxBytes = DEFAULT_MAX_BYTES } = options;
  const connections = new Map<string, McpConnection>();
  const connectionTo = (name: string, server: McpServer): McpConnection => {
    const connection = connections.get(name) ?? new McpConnection(name, { server, outbound, timeoutMs, maxBytes });
    connections.set(name, connection);
    return connection;
  };

  return defineServerTool<McpOptions>({
    type: 'router:mcp',
    repeatable: true,
    timeoutMs,
    parseOptions: (value) => parseOptions(value, servers),
    nameOf: ({ server, tool }) => (tool === undefined ? server : `${server}__${tool.name}`),

    async expand(entry, context) {
      const server = serverOf(servers, entry.server);
      const tools = await connectionTo(entry.server, server)
        .tools(context)
        .catch((error: unknown) => {
          throw errorForCaller(entry.server, error);
        });
      for (const name of server.tools ?? []) {
        if (tools.some((tool) => tool.name === name)) continue;
        context.warn(`The MCP server "${entry.server}" has no tool ${echo(name)}, which the configuration allows`);
      }
      return offeredTools(entry, server, tools).map((tool) => ({ ...entry, tool }));
    },

    describe({ tool }) {
      return { description: tool?.description ?? '', parameters: tool?.parameters ?? {} };
    },

    async execute(args, { server, tool }, { signal }) {
      if (tool === undefined) return failed('There is no such tool');
      try {
        const connection = connectionTo(server, serverOf(servers, server));
        return outcomeOf(await connection.call(tool.name, args, signal), tool);
      } catch (error) {
        if (error instanceof McpFailure && error.said !== undefined) return failed(error.said);
        throw errorForCaller(server, error);
      }
    },

    async close() {
      await Promise.all([...connections.values()].map((connection) => connection.close()));
      await opened?.close();
      opened = undefined;
    },
  });
}

function serverOf(servers: McpToolOptions['servers'], name: string): McpServer {
  const server = Object.hasOwn(servers, name) ? servers[name] : undefined;
  if (server === undefined) throw new RangeError('a server is known once the options are checked');
  return server;
}

/** The tools of a server that an entry offers. */
function offeredTools(
  { server: name, allowedTools }: McpOptions,
  { tools: configured }: McpServer,
  tools: readonly ListedTool[],
): readonly ListedTool[] {
  const usable = tools.filter((tool) => configured === undefined || configured.includes(tool.name));
  if (usable.length === 0) throw errorOf(502, `The MCP server "${name}" offers no tools that can be used`);
  const missing = allowedTools?.find((wanted) => !usable.some((tool) => tool.name === wanted));
  if (missing !== undefined)
    throw errorOf(400, `The MCP server "${name}" has no tool ${echo(missing)}; ${known(usable)}`);
  const offered = usable.filter((tool) => allowedTools?.includes(tool.name) !== false);
  if (offered.length <= MAX_TOOLS) return offered;
  const problem = `The MCP server "${name}" has ${offered.length} tools, of which a request can offer ${MAX_TOOLS}`;
  throw errorOf(400, `${problem}: choose them with allowed_tools`);
}

const MAX_NAMED = 20;

function known(tools: readonly ListedTool[]): string {
  const names = tools.slice(0, MAX_NAMED).map((tool) => tool.name);
  return `it has ${names.join(', ')}${tools.length > MAX_NAMED ? ' and more' : ''}`;
}

/** Checks the options of an entry as far as the configuration tells. */
function parseOptions(value: JsonObject, servers: McpToolOptions['servers']): OptionsCheck<McpOptions> {
  const parsed = parseMcpOptions(value);
  if (!parsed.ok) return parsed;
  const { server: name, allowed_tools: allowedTools } = parsed.options;
  const all = Object.keys(servers);
  if (!all.includes(name)) {
    const near = nearName(name, all);
    const hint = near === undefined ? '' : ` (did you mean "${near}"?)`;
    const problem = `must be an MCP server of this router, not ${echo(name)}${hint}; it has ${all.join(', ') || 'none'}`;
    return { ok: false, path: 'server', problem };
  }
  const { tools: configured } = serverOf(servers, name);
  const index = allowedTools?.findIndex((one) => configured?.includes(one) === false) ?? -1;
  if (index >= 0) {
    const problem = `must be a tool that this router allows of "${name}": ${configured?.join(', ')}`;
    return { ok: false, path: `allowed_tools[${index}]`, problem };
  }
  return { ok: true, options: { server: name, allowedTools } };
}

function errorForCaller(server: string, error: unknown): unknown {
  if (!(error instanceof McpFailure)) return error;
  if (error.problem === 'not_installed') return errorOf(500, `MCP servers ${error.message}`);
  return errorOf(502, `The MCP server "${server}" ${error.message}`);
}

/**
 * What a model reads of the result of `tools/call`: its texts, or its structured content where there is no text. Pictures
 * and sounds are named and not shown. A result that is none, or that breaks the schema that the tool itself declares, is
 * an error to the model.
 */
function outcomeOf(result: JsonObject, { outputSchema }: ListedTool): ToolOutcome {
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
function failed(error: string): ToolOutcome {
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
  return (read.text(value) ?? 'unknown').slice(0, MAX_NAME_LENGTH);
}

const MAX_NAME_LENGTH = 500;
