import type { Finding } from '../finding.ts';

/** US social security numbers, written in their three groups; numbers that are never given out are left alone. */
export function findSsns(text: string): readonly Finding[] {
  return [...text.matchAll(SHAPE)]
    .filter(([, area = '', , group, serial]) => !/^(?:000|666|9)/.test(area) && group !== '00' && serial !== '0000')
    .map(({ 0: number, index }) => ({ pattern: 'SSN', start: index, end: index + number.length }));
}

const SHAPE = /(?<![\d-])(\d{3})([ -])(\d{2})\2(\d{4})(?![\d-])/g;
