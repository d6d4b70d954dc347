import { expect, it } from 'vitest';
import { likelyType } from '../../../src/formats/ai-sdk/media-types.ts';

it.each([
  ['iVBORw0K', 'image/jpeg', undefined, 'image/jpeg'],
  ['iVBORw0K', 'image', undefined, 'image/png'],
  ['UklGRgAA', 'image/*', undefined, 'image/webp'],
  ['UklGRgAA', 'audio/*', undefined, 'audio/wav'],
  ['//uQxAAA', 'audio/*', undefined, 'audio/mpeg'],
  ['AAAAAAAA', 'audio/*', undefined, 'audio/mpeg'],
  ['AAAAAAAA', 'audio/*', 'pcm', 'audio/pcm'],
  ['AAAAAAAA', 'application/*', undefined, 'application/octet-stream'],
])('a file that begins with %s and is said to be %s (usually %s) is %s', (base64, said, usual, type) => {
  expect(likelyType(base64, said, usual)).toBe(type);
});
