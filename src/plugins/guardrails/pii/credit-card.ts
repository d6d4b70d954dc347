import type { Finding } from '../finding.ts';

const LONGEST = 19;

/**
 * Numbers of payment cards: digits in groups with one blank or dash between, that begin like those of a card
 * organisation, are as long as they, and whose check digit is right.
 */
export function findCreditCards(text: string): readonly Finding[] {
  const groups = [...text.matchAll(/\d+/g)];
  const findings: Finding[] = [];
  for (let first = 0; first < groups.length;) {
    const found = cardFrom(text, groups, first);
    if (found === undefined) {
      first += 1;
      continue;
    }
    findings.push(found.finding);
    first = found.next;
  }
  return findings;
}

/** The longest number that begins with a group. A group beyond 19 digits ends the search, so few are looked at. */
function cardFrom(
  text: string,
  groups: readonly RegExpExecArray[],
  first: number,
): { readonly finding: Finding; readonly next: number } | undefined {
  const start = groups[first]?.index ?? 0;
  if (!/[2-6]/.test(text.charAt(start))) return undefined;
  // The digits behind the point of a number are none of a card.
  if (/\d[.,]$/.test(text.slice(Math.max(0, start - 2), start))) return undefined;
  let digits = '';
  let found: { readonly finding: Finding; readonly next: number } | undefined;
  for (let at = first, end = start; at < groups.length; at += 1) {
    const group = groups[at];
    if (group === undefined || (at > first && !/^[ -]$/.test(text.slice(end, group.index)))) break;
    digits += group[0];
    if (digits.length > LONGEST) break;
    end = group.index + group[0].length;
    if (isCard(digits)) found = { finding: { pattern: 'CREDIT_CARD', start, end }, next: at + 1 };
  }
  return found;
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
