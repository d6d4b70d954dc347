import { deflateSync } from 'node:zlib';

/** Writes a PDF of numbered objects; the first is its catalog. */
function pdfOf(objects: readonly (string | Buffer)[], trailer = ''): Uint8Array {
  const parts: Buffer[] = [Buffer.from('%PDF-1.7\n', 'latin1')];
  let length = parts[0]?.length ?? 0;
  const add = (part: string | Buffer): void => {
    const bytes = typeof part === 'string' ? Buffer.from(part, 'latin1') : part;
    parts.push(bytes);
    length += bytes.length;
  };
  const offsets = objects.map((object, index) => {
    const offset = length;
    add(`${index + 1} 0 obj\n`);
    add(object);
    add('\nendobj\n');
    return offset;
  });
  const start = length;
  const entries = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  add(`xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${entries}`);
  add(`trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${start}\n%%EOF\n`);
  return new Uint8Array(Buffer.concat(parts));
}

function streamOf(content: Buffer, dictionary = ''): Buffer {
  const head = Buffer.from(`<< /Length ${content.length} ${dictionary} >>\nstream\n`, 'latin1');
  return Buffer.concat([head, content, Buffer.from('\nendstream', 'latin1')]);
}

const FONT = '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>';

/** A PDF of pages with the given texts, each a line. */
export function pdfWith(texts: readonly string[], { title }: { readonly title?: string } = {}): Uint8Array {
  const first = 5;
  const pages = texts.map((_, index) => first + index * 2);
  const objects: (string | Buffer)[] = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${pages.map((number) => `${number} 0 R`).join(' ')}] /Count ${texts.length} >>`,
    FONT,
    `<< /Title (${title ?? ''}) >>`,
  ];
  for (const [index, text] of texts.entries()) {
    objects.push(pageOf(first + index * 2 + 1));
    const escaped = text.replaceAll(/[\\()]/g, '\\$&');
    objects.push(streamOf(Buffer.from(`BT /F1 12 Tf 72 720 Td (${escaped}) Tj ET`, 'latin1')));
  }
  return pdfOf(objects, title === undefined ? '' : '/Info 4 0 R');
}

/** A PDF of many pages that all show the same. */
export function pdfOfPages(count: number): Uint8Array {
  const kids = Array.from({ length: count }, (_, index) => `${5 + index} 0 R`).join(' ');
  return pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids}] /Count ${count} >>`,
    FONT,
    streamOf(Buffer.from('BT /F1 12 Tf 72 720 Td (Same) Tj ET', 'latin1')),
    ...Array.from({ length: count }, () => pageOf(4)),
  ]);
}

/** A small PDF whose one page unfolds to so many bytes. */
export function pdfBomb(bytes: number): Uint8Array {
  const packed = deflateSync(Buffer.alloc(bytes, ' '), { level: 1 });
  return pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [4 0 R] /Count 1 >>',
    FONT,
    pageOf(5),
    streamOf(packed, '/Filter /FlateDecode'),
  ]);
}

/** A PDF that cannot be opened without its password. */
export function encryptedPdf(): Uint8Array {
  const garbage = '<' + '5a'.repeat(32) + '>';
  return pdfOf(
    [
      '<< /Type /Catalog /Pages 2 0 R >>',
      '<< /Type /Pages /Kids [4 0 R] /Count 1 >>',
      FONT,
      pageOf(5),
      streamOf(Buffer.from('BT ET', 'latin1')),
      `<< /Filter /Standard /V 1 /R 2 /O ${garbage} /U ${garbage} /P -4 >>`,
    ],
    `/Encrypt 6 0 R /ID [${garbage} ${garbage}]`,
  );
}

/** A PDF whose table of objects points to itself. */
export function endlessPdf(): Uint8Array {
  const text = Buffer.from(pdfWith(['Once'])).toString('latin1');
  const at = text.lastIndexOf('xref', text.indexOf('startxref') - 1);
  return new Uint8Array(Buffer.from(text.replace('/Root 1 0 R', `/Root 1 0 R /Prev ${at}`), 'latin1'));
}

/** The file as a data URL. */
export function dataUrlOf(data: Uint8Array, type = 'application/pdf'): string {
  return `data:${type};base64,${Buffer.from(data).toString('base64')}`;
}

function pageOf(contents: number): string {
  return `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${contents} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`;
}
