import * as z from 'zod';
import { closed, nullish } from './fields.ts';
import { type OptionsParser, optionsParser } from './options.ts';

/** How PDFs are read; `pdf-text` is a deprecated name of `cloudflare-ai` (gaps 5.6). */
export type PdfEngine = 'native' | 'cloudflare-ai' | 'mistral-ocr' | 'pdf-text';

/** Options of the plugin `file-parser`. */
export interface FileParserRequestOptions {
  readonly pdf?: { readonly engine?: PdfEngine | null | undefined } | null | undefined;
}

/** Checks the options of the plugin `file-parser`. `max_files`, which some clients send, says nothing. */
export const parseFileParserOptions: OptionsParser<FileParserRequestOptions> = optionsParser(
  closed({
    pdf: nullish(closed({ engine: nullish(z.enum(['native', 'cloudflare-ai', 'mistral-ocr', 'pdf-text'])) })),
    max_files: nullish(z.unknown()),
  }),
);
