import type { Finding } from '../finding.ts';

const LOCAL = /[a-z0-9._%+-]/;
const DOMAIN = /[a-z0-9.-]/;
const MAX_LOCAL = 64;
const MAX_DOMAIN = 253;

/** E-mail addresses. Looks left and right of each `@`, so the work is proportional to the text. */
export function findEmails(text: string): readonly Finding[] {
  const findings: Finding[] = [];
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
