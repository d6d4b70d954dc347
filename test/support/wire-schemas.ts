import type { AnySchema } from '../../src/schema/form.ts';
import { lockSchema } from '../../src/protocol/catalog-lock.ts';
import { chatRequestSchema } from '../../src/protocol/chat-request.ts';
import { batchFieldsSchema, customIdSchema } from '../../src/protocol/create-batch.ts';
import { embeddingRequestSchema, multimodalInputSchema } from '../../src/protocol/embedding.ts';
import { fileParserSchema, webFetchSchema, webSchema, webSearchSchema } from '../../src/protocol/web-options.ts';
import {
  advisorSchema,
  analysisSchema,
  autoRouterSchema,
  fusionPluginSchema,
  fusionToolSchema,
  paretoRouterSchema,
  subagentSchema,
} from '../../src/protocol/inner-model-options.ts';
import { guardrailOptionsSchema } from '../../src/protocol/guardrail-options.ts';
import { messageSchema } from '../../src/protocol/message.ts';
import { messagesRequestSchema } from '../../src/formats/messages/protocol/messages-request.ts';
import { messagesToolSchema } from '../../src/formats/messages/protocol/tool.ts';
import { changeSchema, choicesSchema } from '../../src/protocol/plugin-output.ts';
import { modelPatternsSchema, pluginEntrySchema } from '../../src/protocol/plugins.ts';
import { providerPreferencesSchema } from '../../src/protocol/provider-preferences.ts';
import { responseFormatSchema, stopConditionsSchema } from '../../src/protocol/reasoning.ts';
import { schemaOfItem } from '../../src/formats/responses/protocol/input-item.ts';
import { responsesRequestSchema } from '../../src/formats/responses/protocol/responses-request.ts';
import { schemaOfChoice, schemaOfTool } from '../../src/formats/responses/protocol/tool.ts';
import { datetimeSchema, imageSchema, mcpSchema, searchModelsSchema } from '../../src/protocol/server-tool-options.ts';
import { toolChoiceSchema, toolSchema } from '../../src/protocol/tools.ts';

/** Every schema of what callers, plugins and configurations send. */
export const WIRE_SCHEMAS: Readonly<Record<string, AnySchema>> = {
  'chat request': chatRequestSchema,
  message: messageSchema,
  tool: toolSchema,
  'tool choice': toolChoiceSchema,
  'response format': responseFormatSchema,
  'provider preferences': providerPreferencesSchema,
  'plugin entry': pluginEntrySchema,
  'stop conditions': stopConditionsSchema,
  'embedding request': embeddingRequestSchema,
  'multimodal input': multimodalInputSchema,
  'messages request': messagesRequestSchema,
  'messages tool': messagesToolSchema,
  'responses request': responsesRequestSchema,
  'responses user message': schemaOfItem({ role: 'user' }),
  'responses assistant message': schemaOfItem({ role: 'assistant' }),
  'responses call': schemaOfItem({ type: 'function_call' }),
  'responses output': schemaOfItem({ type: 'function_call_output' }),
  'responses reasoning': schemaOfItem({ type: 'reasoning' }),
  'responses custom tool': schemaOfTool({ type: 'custom' }),
  'responses hosted tool': schemaOfTool({ type: 'web_search' }),
  'responses allowed tools': schemaOfChoice({ type: 'allowed_tools' }),
  'batch fields': batchFieldsSchema,
  'custom id': customIdSchema,
  'model patterns': modelPatternsSchema,
  'auto-router': autoRouterSchema,
  'pareto-router': paretoRouterSchema,
  'fusion plugin': fusionPluginSchema,
  'fusion tool': fusionToolSchema,
  'fusion analysis': analysisSchema,
  advisor: advisorSchema,
  subagent: subagentSchema,
  web: webSchema,
  'web search': webSearchSchema,
  'web fetch': webFetchSchema,
  'file-parser': fileParserSchema,
  guardrails: guardrailOptionsSchema,
  image: imageSchema,
  datetime: datetimeSchema,
  'search models': searchModelsSchema,
  mcp: mcpSchema,
  'change of a plugin': changeSchema,
  'choices of a plugin': choicesSchema,
  'catalog lock': lockSchema,
};
