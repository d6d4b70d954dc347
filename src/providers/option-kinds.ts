import { kind } from '../core/options/option-kinds.ts';

/** A text, whatever it says: what it must look like is checked elsewhere. */
export const anyText = kind('a text', (value) => typeof value === 'string');
/** A number, whatever it is. */
export const anyNumber = kind('a number', (value) => typeof value === 'number');
/** What may stand behind a header's name. */
export const headerValue = kind('one line of text', (value) => typeof value === 'string' && !/[\r\n\0]/.test(value));
