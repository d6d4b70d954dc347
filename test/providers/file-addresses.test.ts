import { describe, expect, it } from 'vitest';
import { EncodeError } from '../../src/providers/codec.ts';
import { FileAddresses } from '../../src/providers/file-addresses.ts';
import type { ChatRequest } from '../../src/protocol/chat-request.ts';
import { sceneOf } from '../support/requests.ts';

const scene = sceneOf({ providers: { alpha: { 'acme/one': {} } } });
const { signal } = new AbortController();

const request = (...files: readonly object[]) =>
  scene.request({
    messages: [{ role: 'user', content: files.map((file) => ({ type: 'file', file })) }] as ChatRequest['messages'],
  });

describe('files that are named by their addresses', () => {
  it('become data, with a type and a name, each fetched once', async () => {
    const asked: string[] = [];
    const files = new FileAddresses((url) => {
      asked.push(url.href);
      return Promise.resolve({ data: new TextEncoder().encode('%PDF-1.7'), mediaType: 'application/pdf; charset=x' });
    });
    const address = { file_data: 'https://x.test/a/report.pdf?page=1' };
    const { messages } = await files.withData(request(address, { ...address, filename: 'mine.pdf' }), signal);
    const data = `data:application/pdf;base64,${btoa('%PDF-1.7')}`;
    expect(messages[0]?.content).toEqual([
      { type: 'file', file: { filename: 'report.pdf', file_data: data } },
      { type: 'file', file: { filename: 'mine.pdf', file_data: data } },
    ]);
    expect(asked).toEqual(['https://x.test/a/report.pdf?page=1']);
  });

  it('get the type of their name where their server says nothing', async () => {
    const files = new FileAddresses(() =>
      Promise.resolve({ data: new Uint8Array([1]), mediaType: 'application/octet-stream' }),
    );
    const { messages } = await files.withData(request({ file_data: 'https://x.test/notes.txt' }), signal);
    expect(JSON.stringify(messages)).toContain('data:text/plain;base64,AQ==');
  });

  it('leave a request alone that has none', async () => {
    const files = new FileAddresses(() => Promise.reject(new Error('nothing is to be fetched')));
    const plain = request({ file_data: 'data:application/pdf;base64,JVBERi0=' }, { file_id: 'file_1' });
    expect(await files.withData(plain, signal)).toBe(plain);
  });

  it('are a problem with a path where they cannot be fetched', async () => {
    const files = new FileAddresses(() => Promise.reject(new Error('secret details')));
    await expect(files.withData(request({ file_data: 'https://x.test/a.pdf' }), signal)).rejects.toThrow(
      new EncodeError(
        'messages[0].content[0].file.file_data cannot be used with this provider. The URL could not be fetched; send a data URL instead',
      ),
    );
  });
});
