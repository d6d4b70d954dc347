import type { Finding } from '../finding.ts';

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
export function findIbans(text: string): readonly Finding[] {
  const findings: Finding[] = [];
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
