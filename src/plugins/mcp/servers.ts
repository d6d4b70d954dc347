/** The options of MCP servers. */
import { unknown } from '../../schema/scalars.ts';
import { narrowed } from '../../schema/choices.ts';
import { schemaOf, fill } from '../../options/option.ts';
import { OUTBOUND, type OutboundOptions } from '../../options/http.ts';
import { OutboundError } from '../../net/outbound-error.ts';
import { checkOutboundUrl } from '../../net/outbound-url.ts';
import { optionProblems, checkShape } from '../../platform/check-options.ts';
import {
  anyString,
  wholeNumber,
  group,
  headerText,
  httpAddress,
  valueThat,
  milliseconds,
  type OptionShape,
  nonEmptyString,
} from '../../options/values.ts';
import { array, record } from '../../schema/collections.ts';
import { ConfigError, type ConfigProblem } from '../../protocol/router-error.ts';

/** What all MCP servers have in common. */
interface AnyMcpServer {
  /** Its tools that models may use, by the names that the server gives them. Default: all. */
  readonly tools?: readonly string[] | undefined;
}

/** An MCP server that is reached over streamable HTTP. */
export interface McpHttpServer extends AnyMcpServer {
  /** Its endpoint, for example `https://mcp.example.com/mcp`. Redirects within its origin are followed. */
  readonly url: string;
  /** Headers of every request, for example `{ authorization: 'Bearer …' }`. Default: none of its own. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** An MCP server that is a program on this machine, started when a request first needs it and spoken to over stdio. */
export interface McpProgramServer extends AnyMcpServer {
  /** The program. No shell is involved. */
  readonly command: string;
  /** Its arguments. Default: none. */
  readonly args?: readonly string[] | undefined;
  /** Its environment variables, beside `PATH`, `HOME` and a few others that hold no secrets. Default: none. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Working directory. Default: that of this process. */
  readonly cwd?: string | undefined;
}

/** Where an MCP server is, and what of it may be used. Only the program says so, never a request. */
export type McpServer = McpHttpServer | McpProgramServer;

/** Options of `mcpTool`. */
export interface McpToolOptions {
  /** Servers by the names that requests use: 1 to 24 lower-case letters, digits and `-`. */
  readonly servers: Readonly<Record<string, McpServer>>;
  /** Which addresses of servers may be called. Default: ports 80, 443 and 8443 of public hosts. */
  readonly outbound?: OutboundOptions | undefined;
  /** Milliseconds that a call may take, and finding out which tools a server has. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Bytes that a server may answer to one request. Default 4,000,000. */
  readonly maxBytes?: number | undefined;
}

const names = array(nonEmptyString);

const HTTP_SERVER: OptionShape<McpHttpServer> = {
  tools: names,
  url: httpAddress,
  headers: record(
    valueThat('a string without line breaks', (value) => typeof value === 'string' && /^[^\r\n\0]*$/.test(value)),
  ),
};

const PROGRAM_SERVER: OptionShape<McpProgramServer> = {
  tools: names,
  command: nonEmptyString,
  args: array(anyString),
  env: record(anyString),
  cwd: nonEmptyString,
};

const httpServer = group(HTTP_SERVER, ['url']);
const programServer = group(PROGRAM_SERVER, ['command']);

/** A server is distinguished by its form, so that what is wrong is said of the form that was meant. */
const serverForm = narrowed(unknown, (value) => ('command' in Object(value) ? programServer : httpServer));

const OPTIONS: OptionShape<McpToolOptions> = {
  servers: record(serverForm),
  outbound: schemaOf(OUTBOUND),
  timeoutMs: milliseconds,
  maxBytes: wholeNumber(1),
};

const NAME = /^[a-z0-9-]{1,24}$/;

/**
 * Checks the options of `mcpTool`, and the addresses of its servers as far as they show it by themselves.
 *
 * @throws {@link ConfigError} with everything that is wrong.
 */
export function checkMcpOptions(options: McpToolOptions): void {
  checkShape(OPTIONS, options, 'mcpTool', ['servers']);
  const problems = Object.entries(options.servers).flatMap(([name, server]) => [
    ...nameProblems(name),
    ...headerProblems(name, server),
    ...addressProblems(name, server, options.outbound),
  ]);
  if (problems.length > 0) throw new ConfigError(problems);
}

function nameProblems(name: string): readonly ConfigProblem[] {
  if (NAME.test(name)) return [];
  // Names of functions begin with it, up to the first "__": without "_" no two of them can be the same.
  return [{ path: 'mcpTool.servers', problem: 'must have names of 1 to 24 lower-case letters, digits and "-"' }];
}

function headerProblems(name: string, server: McpServer): readonly ConfigProblem[] {
  const path = `mcpTool.servers.${name}.headers`;
  const headers = 'url' in server ? Object.keys(server.headers ?? {}) : [];
  return headers.flatMap((header) => optionProblems(headerText, header, path));
}

function addressProblems(
  name: string,
  server: McpServer,
  { ports, allowedHosts }: OutboundOptions = {},
): readonly ConfigProblem[] {
  if (!('url' in server)) return [];
  try {
    const allowed = { ports: new Set(fill(OUTBOUND, { ports }).ports), allowedHosts: new Set(allowedHosts) };
    checkOutboundUrl(server.url, { schemes: 'any', ...allowed });
    return [];
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    const { hostname, port, protocol } = new URL(server.url);
    const host = `${hostname}:${port === '' ? (protocol === 'https:' ? '443' : '80') : port}`;
    const problem = `${error.message.replace('The URL ', '')}; for one of your own network, give outbound: { allowedHosts: ['${host}'] }`;
    return [{ path: `mcpTool.servers.${name}.url`, problem }];
  }
}
