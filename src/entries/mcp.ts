/** Public surface: the tools of MCP servers. Needs the optional package `@modelcontextprotocol/sdk`. */
export { mcpTool } from '../plugins/mcp/mcp-tool.ts';
export type { McpOptions } from '../plugins/mcp/mcp-tool.ts';
export type { McpHttpServer, McpProgramServer, McpServer, McpToolOptions } from '../plugins/mcp/servers.ts';
export type { ListedTool } from '../plugins/mcp/connection.ts';
