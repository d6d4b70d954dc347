import { literalAddress } from '../../../outbound/address.ts';
import type { Finding } from '../finding.ts';

/** Addresses of the internet protocol, versions 4 and 6. */
export function findIpAddresses(text: string): readonly Finding[] {
  return [...found(text, VERSION_4, isVersion4), ...found(text, VERSION_6, isVersion6)];
}

const VERSION_4 = /(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\.?\w)/g;
const VERSION_6 = /(?<![\w:.])[0-9a-f:]{3,39}(?![\w:])/g;

function found(text: string, shape: RegExp, isAddress: (text: string) => boolean): readonly Finding[] {
  return [...text.matchAll(shape)]
    .filter(([address]) => isAddress(address))
    .map(({ 0: address, index }) => ({ pattern: 'IP_ADDRESS', start: index, end: index + address.length }));
}

function isVersion4(text: string): boolean {
  return text.split('.').every((part) => Number(part) <= 255);
}

/** Short ones are more likely names in a program, `a::b`, besides the one that everybody has. */
function isVersion6(text: string): boolean {
  if (text.indexOf(':') === text.lastIndexOf(':')) return false;
  return (text === '::1' || text.replaceAll(':', '').length >= 4) && literalAddress(text) !== undefined;
}
