import type { BatchEndpoint } from '../../protocol/batch.ts';
import { type RequestFault, faultAt } from '../../protocol/fault.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';

/** Plugins whose work is a server tool's. */
const SERVER_PLUGINS: ReadonlySet<unknown> = new Set(['web', 'web-fetch', 'fusion']);

/** Tools that a provider runs itself where the body is one of Anthropic's. Its other typed tools are run by callers. */
const HOSTED_TOOLS = /^(?:(?:open)?router:|web_search|web_fetch|code_execution|tool_search|mcp)/;

/**
 * What requests in a batch may not ask for, although the operation itself takes it: streams, other output than text,
 * and tools that the service runs (gaps 8.4). The rest is checked by the operation's own rules.
 */
export function checkItemRules(endpoint: BatchEndpoint, body: JsonObject): RequestFault | undefined {
  if (body['stream'] === true) {
    return faultAt('stream', 'must be false or left out: the answers of a batch are fetched when it is completed');
  }
  if (endpoint === '/v1/embeddings') return undefined;
  return (
    checkOutput(body) ??
    checkTools(endpoint, body['tools']) ??
    checkPlugins(body['plugins']) ??
    checkModel(body['model'])
  );
}

function checkOutput(body: JsonObject): RequestFault | undefined {
  const { modalities } = body;
  if (Array.isArray(modalities)) {
    const index = modalities.findIndex((one) => one !== 'text');
    if (index >= 0) return faultAt(`modalities[${index}]`, `must be "text": batches make text only`);
  }
  for (const name of ['audio', 'image_config']) {
    if (body[name] != null) return faultAt(name, 'cannot be used in a batch: batches make text only');
  }
  return undefined;
}

function checkTools(endpoint: BatchEndpoint, tools: JsonValue | undefined): RequestFault | undefined {
  if (!Array.isArray(tools)) return undefined;
  const index = (tools as readonly JsonValue[]).findIndex(
    (tool) => isJsonObject(tool) && isServerTool(endpoint, tool['type']),
  );
  return index < 0
    ? undefined
    : faultAt(
        `tools[${index}]`,
        'is a tool that the service runs, which batches do not have; send it as a request of its own',
      );
}

function isServerTool(endpoint: BatchEndpoint, type: JsonValue | undefined): boolean {
  if (type == null || type === 'function' || type === 'custom') return false;
  return endpoint !== '/v1/messages' || (typeof type === 'string' && HOSTED_TOOLS.test(type));
}

function checkPlugins(plugins: JsonValue | undefined): RequestFault | undefined {
  if (!Array.isArray(plugins)) return undefined;
  const index = (plugins as readonly JsonValue[]).findIndex(
    (plugin) => isJsonObject(plugin) && plugin['enabled'] !== false && SERVER_PLUGINS.has(plugin['id']),
  );
  return index < 0
    ? undefined
    : faultAt(`plugins[${index}]`, 'uses tools that the service runs, which batches do not have');
}

function checkModel(model: JsonValue | undefined): RequestFault | undefined {
  return typeof model === 'string' && model.endsWith(':online')
    ? faultAt('model', 'must not end in ":online": batches do not search the web')
    : undefined;
}
