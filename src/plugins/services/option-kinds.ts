/** The kinds of values that options of plugins have. */
import { OUTBOUND } from '../../options/http.ts';
import {
  groupOf,
  headerText,
  httpAddress,
  array,
  milliseconds,
  enumeration,
  type OptionKind,
  string,
  integer,
  withFunctions,
} from '../../platform/option-kinds.ts';

/** A whole number from 0 on. */
export const countKind = integer(0);
/** A whole number from 1 on. */
export const positive = integer(1);
/** What becomes of a request whose plugin throws. */
export const whenItThrowsKind = enumeration<'fail' | 'skip'>({ fail: true, skip: true });
/** How a service is called. */
export const transportKind = withFunctions('a transport', 'send', 'close');
/** Options that every service with a key and a model has. */
export const SERVICE_OPTIONS = {
  apiKey: headerText,
  baseURL: httpAddress,
  model: string,
  timeoutMs: milliseconds,
  transport: transportKind,
} as const;
/** What reads PDFs. */
export const pdfReaderKind = withFunctions('a reader of PDFs, such as localPdfReader() makes one', 'read');
/** Search engines. */
export const enginesKind = array(withFunctions('a search engine, such as exa() makes one', 'search'));
/** What may be called at addresses that users give. */
export const outboundKind: OptionKind = groupOf(OUTBOUND);
