/** Runs in a process of its own: it replaces modules. */
import { expect, it, vi } from 'vitest';
import { extractText } from '../../../../src/plugins/services/pdf/extract-text.ts';

vi.mock('unpdf', () => ({ getDocumentProxy: undefined }));

it('says that the unpdf of the host is too old to read PDFs with', async () => {
  const job = { data: new Uint8Array(), allPages: true, maxPages: 1, maxCharacters: 1 };
  await expect(extractText(job)).rejects.toMatchObject({
    message: 'PDFs cannot be read here: the installed unpdf is too old for it (npm install unpdf@latest)',
  });
});
