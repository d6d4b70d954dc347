import { brotliCompressSync } from 'node:zlib';
import { ENTRY_POINTS } from './entry-points.ts';
import { loadedSize } from './loaded-size.ts';

/**
 * What users load, in kilobytes of a thousand bytes, compressed with Brotli; see {@link loadedSize}. Fails when something
 * is larger than its budget. Entry points that package.json does not have are left out. Needs a build.
 * Usage: npm run check:size
 */
interface Budget {
  readonly entry: string;
  readonly names: string;
  /** Most kilobytes, compressed. */
  readonly kilobytes: number;
  /** Most kilobytes before compression, where they are limited, too. */
  readonly minifiedKilobytes?: number;
  /** See {@link loadedSize}. */
  readonly split?: boolean;
}

const BUDGETS: readonly Budget[] = [
  { entry: 'signalbox', names: '*', kilobytes: 200 },
  { entry: 'signalbox', names: '{ createRouter }', kilobytes: 178 },
  { entry: 'signalbox', names: '{ verifyWebhook }', kilobytes: 8, split: false },
  // What a bundler takes of files that join many modules: everything beside the name must be seen to be unused.
  { entry: 'signalbox', names: '{ definePlugin }', kilobytes: 5, minifiedKilobytes: 5, split: false },
  { entry: 'signalbox', names: '{ RouterError }', kilobytes: 3, minifiedKilobytes: 3, split: false },
  { entry: 'signalbox/fetch', names: '{ fetchRouter }', kilobytes: 25, minifiedKilobytes: 80, split: false },
  { entry: 'signalbox/minimal', names: '{ createRouter }', kilobytes: 121 },
  { entry: 'signalbox/webhooks', names: '{ verifyWebhook }', kilobytes: 8 },
];

const kilo = (bytes: number): string => (bytes / 1_000).toFixed(1);

const rows: Record<string, string | number>[] = [];
for (const { entry, names, kilobytes, minifiedKilobytes = Infinity, split } of BUDGETS) {
  if (!ENTRY_POINTS.some(({ specifier }) => specifier === entry)) continue;
  const { minified, compressed } = await loadedSize(entry, names, split);
  const fits = compressed <= kilobytes * 1_000 && minified <= minifiedKilobytes * 1_000;
  rows.push({
    import: `${names} from '${entry}'`,
    'minified kB': kilo(minified),
    'compressed kB': kilo(compressed),
    'budget kB': kilobytes,
    '': fits ? 'fits' : 'TOO LARGE',
  });
  if (!fits) process.exitCode = 1;
}

/** The inspector's page, with everything in it. */
const PAGE_KILOBYTES = 60;
const { page } = await import('#inspector-page');
const compressed = brotliCompressSync(page).length;
rows.push({
  import: 'the page of signalbox/inspector',
  'minified kB': kilo(Buffer.byteLength(page)),
  'compressed kB': kilo(compressed),
  'budget kB': PAGE_KILOBYTES,
  '': compressed <= PAGE_KILOBYTES * 1_000 ? 'fits' : 'TOO LARGE',
});
if (compressed > PAGE_KILOBYTES * 1_000) process.exitCode = 1;
console.table(rows);
