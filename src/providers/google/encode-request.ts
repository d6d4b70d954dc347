import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { encodeConversation } from './encode-contents.ts';
import { type Takes, encodeGeneration } from './encode-generation.ts';
import { encodeFunctions, encodeSearch, type EncodedTools } from './encode-tools.ts';
import { type ModelFamily, familyOf } from './families.ts';
import type { GoogleSurface } from './wire.ts';

/** Where a request goes, and what is remembered of earlier answers. */
export interface EncodeContext {
  readonly surface: GoogleSurface;
  /** Safety settings of every request that brings none. */
  readonly safetySettings?: readonly JsonObject[] | undefined;
  /** The signature of a call whose message came back without it. */
  readonly recall: (callId: string) => string | undefined;
}

/**
 * Fields of Google's that this contract does not know and that callers may set themselves, in both spellings that
 * Google accepts. All other unknown fields are left out, because Google refuses a request with one.
 */
const PASSED_ON: Readonly<Record<string, string>> = {
  safetySettings: 'safetySettings',
  safety_settings: 'safetySettings',
  cachedContent: 'cachedContent',
  cached_content: 'cachedContent',
  labels: 'labels',
};

/** Google's names of the tiers. Vertex AI has none. */
const TIERS: Readonly<Record<string, string>> = { default: 'standard', flex: 'flex', priority: 'priority' };

/**
 * Writes a request for `generateContent`. Parameters that Google or the endpoint does not take are left out; those the
 * caller left out stay out.
 */
export function encodeRequest(request: NormalizedRequest, endpoint: Endpoint, context: EncodeContext): JsonObject {
  const family = familyOf(endpoint.upstreamModel);
  const takes: Takes = (name) => endpoint.parameters?.has(name) !== false;
  const extra = passedOn(request.extra);
  const conversation = encodeConversation(request.messages, { ...context, family });
  const tools = chooseTools(request, family, takes);
  const generationConfig = encodeGeneration(request, endpoint, {
    family,
    takes,
    vertex: context.surface.vertex,
    formatAllowed: family.formatWithTools || tools.tools === undefined,
  });
  const body = {
    ...(context.safetySettings === undefined ? {} : { safetySettings: context.safetySettings }),
    ...extra,
    contents: conversation.contents,
    // What is cached holds instructions and tools already, and Google refuses to be told them twice.
    ...(extra['cachedContent'] === undefined ? { systemInstruction: conversation.systemInstruction, ...tools } : {}),
    ...(Object.keys(generationConfig).length > 0 ? { generationConfig } : {}),
    ...encodeTier(request, endpoint, context.surface),
  };
  return body as unknown as JsonObject;
}

/** Where a model takes tools or a form of the answer but not both, tools win unless none may be called. */
function chooseTools(request: NormalizedRequest, family: ModelFamily, takes: Takes): EncodedTools {
  const { tools, toolChoice: choice, responseFormat } = request;
  const formWanted = responseFormat?.type === 'json_object' || responseFormat?.type === 'json_schema';
  if (tools.length > 0 && takes('tools')) {
    if (choice === 'none' && formWanted && !family.formatWithTools) return {};
    return encodeFunctions(tools, takes('tool_choice') ? choice : undefined);
  }
  return takes('web_search_options') ? encodeSearch(request) : {};
}

function passedOn(extra: JsonObject): JsonObject {
  const known = Object.entries(extra).filter(([name]) => Object.hasOwn(PASSED_ON, name));
  return Object.fromEntries(known.map(([name, value]) => [PASSED_ON[name] ?? name, value]));
}

/** A tier endpoint asks for its own tier; where nobody declared tiers, Google decides about the wanted one. */
function encodeTier({ serviceTier }: NormalizedRequest, endpoint: Endpoint, { vertex }: GoogleSurface): object {
  if (vertex) return {};
  const undeclared = endpoint.parameters === undefined ? serviceTier : undefined;
  const tier = endpoint.tier === 'default' ? undeclared : endpoint.tier;
  return tier !== undefined && Object.hasOwn(TIERS, tier) ? { serviceTier: TIERS[tier] } : {};
}
