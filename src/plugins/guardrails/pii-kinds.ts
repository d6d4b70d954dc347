/** Finds personal data, by kind. */
import { literalAddress } from '../../net/outbound-url.ts';
import type { PiiKind } from '../../protocol/guardrail-options.ts';
import type { GuardrailFinding } from './finding.ts';

/** US social security numbers, written in their three groups; numbers that are never given out are left alone. */
function findSsns(text: string): readonly GuardrailFinding[] {
  return [...text.matchAll(SHAPE)]
    .filter(([, area = '', , group, serial]) => !/^(?:000|666|9)/.test(area) && group !== '00' && serial !== '0000')
    .map(({ 0: number, index }) => ({ pattern: 'SSN', start: index, end: index + number.length }));
}

const SHAPE = /(?<![\d-])(\d{3})([ -])(\d{2})\2(\d{4})(?![\d-])/g;

/** Addresses of the internet protocol, versions 4 and 6. */
function findIpAddresses(text: string): readonly GuardrailFinding[] {
  return [...found(text, VERSION_4, isVersion4), ...found(text, VERSION_6, isVersion6)];
}

const VERSION_4 = /(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\.?\w)/g;
const VERSION_6 = /(?<![\w:.])[0-9a-f:]{3,39}(?![\w:])/g;

function found(text: string, shape: RegExp, isAddress: (text: string) => boolean): readonly GuardrailFinding[] {
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

const LOCAL = /[a-z0-9._%+-]/;
const DOMAIN = /[a-z0-9.-]/;
const MAX_LOCAL = 64;
const MAX_DOMAIN = 253;

/** E-mail addresses. Looks left and right of each `@`, so the work is proportional to the text. */
function findEmails(text: string): readonly GuardrailFinding[] {
  const findings: GuardrailFinding[] = [];
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    let start = at;
    while (start > 0 && at - start < MAX_LOCAL && LOCAL.test(text.charAt(start - 1))) start -= 1;
    let end = at + 1;
    while (end < text.length && end - at <= MAX_DOMAIN && DOMAIN.test(text.charAt(end))) end += 1;
    while (end > at + 1 && /[.-]/.test(text.charAt(end - 1))) end -= 1;
    const domain = text.slice(at + 1, end);
    if (start === at || !isDomain(domain)) continue;
    findings.push({ pattern: 'EMAIL', start, end });
  }
  return findings;
}

function isDomain(text: string): boolean {
  const labels = text.split('.');
  return (
    labels.length > 1 &&
    labels.every((label) => /^[a-z0-9-]{1,63}$/.test(label)) &&
    /^[a-z][a-z0-9-]+$/.test(labels.at(-1) ?? '')
  );
}

/**
 * Shapes of telephone numbers. A row of digits alone is none, and neither is a date: there must be a `+`, or the groups
 * of a country. Every repetition is limited, so the work is proportional to the text.
 */
const SHAPES: readonly RegExp[] = [
  // International.
  /(?<![\w+]|\d[ .-])(?:\+|00(?=[1-9]))\d(?:[ .()/-]{0,2}\d){6,14}(?!\d)/g,
  // North America.
  /(?<![\d.])(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\d.-]*\d)/g,
  // National, with the code of a city or network.
  /(?<![\w.,-]|\d )\(?0[1-9]\d{1,3}\)?[ /-]\d{2,8}(?:[ -]\d{2,8}){0,3}(?!\d)/g,
  // National, in pairs.
  /(?<![\w.]|\d[ -])0[1-9](?:[ .-]\d{2}){4}(?![\d.-]*\d)/g,
];

const FEWEST_DIGITS = 9;
const MOST_DIGITS = 15;

/** Telephone numbers. */
function findPhones(text: string): readonly GuardrailFinding[] {
  return SHAPES.flatMap((shape) =>
    [...text.matchAll(shape)]
      .filter(([number]) => {
        const digits = number.replaceAll(/\D/g, '').length;
        return digits <= MOST_DIGITS && digits >= (number.startsWith('+') ? 8 : FEWEST_DIGITS);
      })
      .map(({ 0: number, index }) => ({ pattern: 'PHONE', start: index, end: index + number.length })),
  );
}

const LONGEST = 19;

/**
 * Numbers of payment cards: digits in groups with one blank or dash between, that begin like those of a card
 * organisation, are as long as they, and whose check digit is right.
 */
function findCreditCards(text: string): readonly GuardrailFinding[] {
  const groups = [...text.matchAll(/\d+/g)];
  const findings: GuardrailFinding[] = [];
  for (let first = 0; first < groups.length;) {
    const card = cardFrom(text, groups, first);
    if (card === undefined) {
      first += 1;
      continue;
    }
    findings.push(card.finding);
    first = card.next;
  }
  return findings;
}

/** The longest number that begins with a group. A group beyond 19 digits ends the search, so few are looked at. */
function cardFrom(
  text: string,
  groups: readonly RegExpExecArray[],
  first: number,
): { readonly finding: GuardrailFinding; readonly next: number } | undefined {
  const start = groups[first]?.index ?? 0;
  if (!/[2-6]/.test(text.charAt(start))) return undefined;
  // The digits behind the point of a number are none of a card.
  if (/\d[.,]$/.test(text.slice(Math.max(0, start - 2), start))) return undefined;
  let digits = '';
  let card: { readonly finding: GuardrailFinding; readonly next: number } | undefined;
  for (let at = first, end = start; at < groups.length; at += 1) {
    const group = groups[at];
    if (group === undefined || (at > first && !/^[ -]$/.test(text.slice(end, group.index)))) break;
    digits += group[0];
    if (digits.length > LONGEST) break;
    end = group.index + group[0].length;
    if (isCard(digits)) card = { finding: { pattern: 'CREDIT_CARD', start, end }, next: at + 1 };
  }
  return card;
}

function isCard(digits: string): boolean {
  return SERIES.test(digits) && hasLuhnDigit(digits);
}

/** How numbers of the large organisations begin, and how long they are. */
const SERIES =
  /^(?:4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3[0689]\d{12}|35\d{14,17}|5[0678]\d{14,17}|6\d{15,18})$/;

/** Luhn's check: every second digit from the right is doubled. */
export function hasLuhnDigit(digits: string): boolean {
  let sum = 0;
  for (let place = 0; place < digits.length; place += 1) {
    const digit = digits.charCodeAt(digits.length - 1 - place) - 48;
    const doubled = place % 2 === 0 ? digit : digit * 2;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** Characters of an IBAN by country, from the register of IBANs. */
const LENGTHS: Readonly<Record<string, number>> = {
  ad: 24,
  ae: 23,
  al: 28,
  at: 20,
  az: 28,
  ba: 20,
  be: 16,
  bg: 22,
  bh: 22,
  bi: 27,
  br: 29,
  by: 28,
  ch: 21,
  cr: 22,
  cy: 28,
  cz: 24,
  de: 22,
  dj: 27,
  dk: 18,
  do: 28,
  ee: 20,
  eg: 29,
  es: 24,
  fi: 18,
  fk: 18,
  fo: 18,
  fr: 27,
  gb: 22,
  ge: 22,
  gi: 23,
  gl: 18,
  gr: 27,
  gt: 28,
  hr: 21,
  hu: 28,
  ie: 22,
  il: 23,
  iq: 23,
  is: 26,
  it: 27,
  jo: 30,
  kw: 30,
  kz: 20,
  lb: 28,
  lc: 32,
  li: 21,
  lt: 20,
  lu: 20,
  lv: 21,
  ly: 25,
  mc: 27,
  md: 24,
  me: 22,
  mk: 19,
  mn: 20,
  mr: 27,
  mt: 31,
  mu: 30,
  ni: 28,
  nl: 18,
  no: 15,
  om: 23,
  pk: 24,
  pl: 28,
  ps: 29,
  pt: 25,
  qa: 29,
  ro: 24,
  rs: 22,
  ru: 33,
  sa: 24,
  sc: 31,
  sd: 18,
  se: 24,
  si: 19,
  sk: 24,
  sm: 27,
  so: 23,
  st: 25,
  sv: 28,
  tl: 23,
  tn: 24,
  tr: 26,
  ua: 29,
  va: 22,
  vg: 24,
  xk: 20,
  ye: 30,
};

/** International bank account numbers, in one piece or in groups, whose length and check digits are right. */
function findIbans(text: string): readonly GuardrailFinding[] {
  const findings: GuardrailFinding[] = [];
  for (const match of text.matchAll(/(?<![a-z0-9])([a-z]{2})\d{2}/g)) {
    const length = LENGTHS[match[1] ?? ''];
    const end = length === undefined ? undefined : endOf(text, match.index, length);
    if (end !== undefined) findings.push({ pattern: 'IBAN', start: match.index, end });
  }
  return findings;
}

function endOf(text: string, start: number, length: number): number | undefined {
  let iban = '';
  let at = start;
  for (; iban.length < length; at += 1) {
    const character = text.charAt(at);
    if (/[a-z0-9]/.test(character)) iban += character;
    else if (!/[ -]/.test(character) || !/[a-z0-9]/.test(text.charAt(at + 1))) return undefined;
  }
  return /[a-z0-9]/.test(text.charAt(at)) || !hasCheckDigits(iban) ? undefined : at;
}

/** ISO 7064, modulus 97: with its first four characters behind, and letters as numbers, the rest is 1. */
function hasCheckDigits(iban: string): boolean {
  let rest = 0;
  for (const character of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}

/** Finds one kind of personal data in a folded text. */
export const PII_FINDERS: Readonly<Record<PiiKind, (folded: string) => readonly GuardrailFinding[]>> = {
  EMAIL: findEmails,
  PHONE: findPhones,
  CREDIT_CARD: findCreditCards,
  IBAN: findIbans,
  IP_ADDRESS: findIpAddresses,
  SSN: findSsns,
};
