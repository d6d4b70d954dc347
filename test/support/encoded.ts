import type { EndpointDeclaration } from '../../src/catalog/endpoint.ts';
import type { VendorAccepts } from '../../src/core/accepts.ts';
import type { ChatRequest } from '../../src/protocol/chat-request.ts';
import { type VendorQuirks, differencesOf } from '../../src/providers/openai-compatible/vendor-quirks.ts';
import {
  type EncodedBody,
  encodeRequest,
  endpointRules,
} from '../../src/providers/openai-compatible/encode-request.ts';
import { foldAccepts } from '../../src/providers/fold-accepts.ts';
import { ANY_SERVER } from '../../src/providers/accepts/any-server.ts';
import { AZURE } from '../../src/providers/accepts/azure.ts';
import { type PresetVendor, VENDOR_PRESETS } from '../../src/providers/openai-compatible/presets.ts';
import { presetAccepts } from '../../src/providers/accepts/by-vendor.ts';
import { serving } from './requests.ts';

/** What goes to a provider of a dialect for a request, without the members that every body has. */
export function encoded(
  body: Partial<ChatRequest> & Readonly<Record<string, unknown>>,
  dialect: VendorQuirks = {},
  declared: EndpointDeclaration = {},
  vendor: VendorAccepts = ANY_SERVER,
): EncodedBody {
  const {
    model: _,
    messages: __,
    user: ___,
    ...rest
  } = encodedWhole(body, { ...dialect, userField: 'user' }, declared, vendor);
  return rest;
}

/** The whole body that goes to a provider of a dialect, and of a vendor's record where it has one. */
export function encodedWhole(
  body: Partial<ChatRequest> & Readonly<Record<string, unknown>>,
  dialect: VendorQuirks = {},
  declared: EndpointDeclaration = {},
  vendor: VendorAccepts = ANY_SERVER,
): EncodedBody {
  const request = serving({ up: { upstreamModel: 'one-instruct', ...declared } }).request(body);
  const [endpoint] = request.targets[0]?.endpoints ?? [];
  if (endpoint === undefined) throw new Error('no endpoint');
  // What is written is what counts: members that are undefined do not go out.
  return JSON.parse(
    JSON.stringify(
      encodeRequest(
        request,
        endpoint,
        endpointRules(endpoint, { quirks: dialect, acceptsOf: foldAccepts(vendor, differencesOf(dialect)) }),
      ),
    ),
  ) as EncodedBody;
}

/** The messages that go to a provider of a dialect. */
export function encodedMessages(
  messages: ChatRequest['messages'],
  dialect: VendorQuirks = {},
  vendor?: VendorAccepts,
): unknown {
  return encodedWhole({ messages }, dialect, {}, vendor)['messages'];
}

/** The record of a vendor by its slug. */
export function acceptsOfVendor(slug: string): Promise<VendorAccepts> {
  return slug in VENDOR_PRESETS ? presetAccepts(slug as PresetVendor) : Promise.resolve(AZURE);
}
