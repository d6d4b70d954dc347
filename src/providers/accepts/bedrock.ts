import type { VendorAccepts } from '../../core/accepts.ts';
import { ANY_SERVER } from './any-server.ts';

const SOURCE =
  'docs.aws.amazon.com/bedrock/latest/userguide/apis.html, inference-chat-completions.html, inference-responses-api.html, 2026-11';

const { conversation, schemas, reasoning, parameters, usage } = ANY_SERVER.all;

/** What models of Bedrock accept that are called by chat completions or Responses; Claude has the record of Anthropic. */
export const BEDROCK: VendorAccepts = {
  all: {
    conversation: { ...conversation, source: SOURCE },
    schemas: { ...schemas, source: SOURCE },
    reasoning: { ...reasoning, source: SOURCE },
    parameters: { ...parameters, source: SOURCE },
    usage: { ...usage, source: SOURCE },
  },
  families: [
    {
      models: /(?:^|\.)openai\.(?:gpt-\d|o\d)/,
      accepts: { parameters: { wire: 'responses' } },
      source: `${SOURCE}; openai/openai-node bedrock.md, 2026-11`,
    },
    ...ANY_SERVER.families,
  ],
};
