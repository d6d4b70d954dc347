/** Finds addresses in requests that lead into a private network, whoever would fetch them. */
import { failed, faultAt, passed, type Checked } from '../protocol/fault.ts';
import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import { hostAndPort, isAllowedHost, leadsToPublicHost, literalAddress } from './outbound-url.ts';

/** Members that hold the address of a picture, a file, a sound or a video, in every API format. */
const ADDRESS_MEMBERS: ReadonlySet<string> = new Set([
  'image_url',
  'video_url',
  'audio_url',
  'input_audio',
  'file_url',
  'file_data',
  'file_uri',
  'server_url',
]);

/** Members with words of models and programs, in which any address may be: nothing fetches what is there. */
const WORDS: ReadonlySet<string> = new Set(['arguments', 'parameters', 'input_schema', 'schema', 'metadata', 'text']);

/** Objects whose `input` are the arguments of a tool. */
const TOOL_USE = /tool_use$/;

/**
 * Whether a checked body names no private, local, link-local or metadata address.
 *
 * @param allowed - Hosts, each with or without its port, that may be named all the same.
 */
export function checkAddresses(body: unknown, allowed: ReadonlySet<string>): Checked<undefined> {
  const path = privateAddressIn(body, '', allowed);
  return path === undefined ? passed(undefined) : failed(faultAt(path, PROBLEM));
}

const PROBLEM =
  'must lead to a host on the public internet: send a data URL instead, or have the operator name the host in net.allowPrivate';

function privateAddressIn(value: unknown, path: string, allowed: ReadonlySet<string>): string | undefined {
  if (Array.isArray(value)) {
    for (const [index, one] of value.entries()) {
      const found = privateAddressIn(one, `${path}[${index}]`, allowed);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const own = path === '' ? name : `${path}.${name}`;
    const found = isAddress(value, path, name)
      ? privateAddress(member, own, allowed)
      : isWords(value, name)
        ? undefined
        : privateAddressIn(member, own, allowed);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether a member of an object is an address, or holds it as its `url`. */
function isAddress({ type }: JsonObject, path: string, name: string): boolean {
  if (ADDRESS_MEMBERS.has(name)) return true;
  // A source of Anthropic's, and a server of theirs.
  return name === 'url' && ((path.endsWith('.source') && type === 'url') || /^mcp_servers\[\d+\]$/.test(path));
}

function isWords({ type }: JsonObject, name: string): boolean {
  return WORDS.has(name) || (name === 'input' && typeof type === 'string' && TOOL_USE.test(type));
}

function privateAddress(value: unknown, path: string, allowed: ReadonlySet<string>): string | undefined {
  if (isJsonObject(value)) {
    for (const name of ['url', 'data', 'file_data', 'file_url', 'file_uri']) {
      const found = privateAddress(value[name], `${path}.${name}`, allowed);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (typeof value !== 'string' || !/^\s*https?:/i.test(value.slice(0, MAX_LEADING))) return undefined;
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url !== undefined && (isAllowedHost(hostAndPort(url), allowed) || isPlainlyPublic(url, value))) return undefined;
  return path;
}

/**
 * Whether every reader of an address would be led to the same public host. Who fetches it may read user names, backslashes,
 * and numbers with leading zeros in another way than we do, and a name without a dot is one of its own network.
 */
function isPlainlyPublic(url: URL, text: string): boolean {
  const { hostname, username, password } = url;
  if (!leadsToPublicHost(url) || username !== '' || password !== '' || UNUSUAL.test(text)) return false;
  if (!hostname.startsWith('[') && !hostname.replace(/\.$/, '').includes('.')) return false;
  return literalAddress(hostname) === undefined || text.includes(`//${hostname}`);
}

/** Backslashes, blanks and control characters: readers of addresses differ in what they make of them. */
const UNUSUAL = /[\\\s\p{Cc}]/u;

/** Characters in which the scheme of an address is. */
const MAX_LEADING = 64;
