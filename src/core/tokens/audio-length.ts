/** Finds the length of audio from the head of its file, to estimate tokens. */
import { big, byteLength, bytesAt, little } from './base64-bytes.ts';

/** Bytes at the start and at the end of a file in which its length is looked for. */
const HEAD = 4_096;
const TAIL = 65_536;
/** Bytes of a second, where a file does not say: MP3 and its like at 128 kbit/s, and bare samples as OpenAI takes them. */
const COMPRESSED = 16_000;
const SAMPLES = 48_000;

/** Kilobits of a second of MP3, by the number in the header of a frame: of MPEG 1, and of the later, slower ones. */
const KILOBITS_1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const KILOBITS_2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
const HERTZ = [44_100, 48_000, 32_000];

/** Seconds of audio in base64, from what the head of the file says; a guess by its length where it says nothing. */
export function audioSeconds(base64: string, format: string): number {
  const length = byteLength(base64);
  const head = bytesAt(base64, 0, HEAD) ?? '';
  return (
    wavSeconds(head, length) ??
    flacSeconds(head) ??
    oggSeconds(head, base64, length) ??
    mp3Seconds(head, base64, length) ??
    length / (/pcm|wav/i.test(format) ? SAMPLES : COMPRESSED)
  );
}

function wavSeconds(head: string, length: number): number | undefined {
  if (!head.startsWith('RIFF') || head.slice(8, 12) !== 'WAVE') return undefined;
  let bytesPerSecond = 0;
  for (let at = 12; at + 8 <= head.length;) {
    const size = little(head, at + 4, 4);
    const name = head.slice(at, at + 4);
    if (name === 'fmt ') bytesPerSecond = little(head, at + 16, 4);
    // What is written while it is recorded does not know its size.
    if (name === 'data') return bytesPerSecond === 0 ? undefined : Math.min(size, length - at - 8) / bytesPerSecond;
    at += 8 + size + (size % 2);
  }
  return bytesPerSecond === 0 ? undefined : length / bytesPerSecond;
}

function flacSeconds(head: string): number | undefined {
  if (!head.startsWith('fLaC')) return undefined;
  const hertz = big(head, 18, 3) >>> 4;
  const samples = (big(head, 21, 1) & 15) * 2 ** 32 + big(head, 22, 4);
  return hertz === 0 || samples === 0 ? undefined : samples / hertz;
}

/** What a page of an Ogg file says on which no packet ends, as in a file that is cut off: −1. */
const NO_SAMPLES = '\xff'.repeat(8);

/** The last page of an Ogg file says how many samples came before it. */
function oggSeconds(head: string, base64: string, length: number): number | undefined {
  if (!head.startsWith('OggS')) return undefined;
  const from = Math.max(0, length - TAIL);
  const tail = bytesAt(base64, from, TAIL) ?? '';
  const last = tail.lastIndexOf('OggS');
  const vorbis = head.indexOf('\x01vorbis');
  const hertz = vorbis < 0 ? 48_000 : little(head, vorbis + 12, 4);
  if (last < 0 || hertz === 0 || tail.startsWith(NO_SAMPLES, last + 6)) return undefined;
  return little(tail, last + 6, 6) / hertz;
}

function mp3Seconds(head: string, base64: string, length: number): number | undefined {
  let start = 0;
  let bytes = head;
  if (head.startsWith('ID3')) {
    // Seven bits of each byte count.
    for (let index = 6; index < 10; index += 1) start = start * 128 + (head.charCodeAt(index) & 127);
    start += 10;
    bytes = bytesAt(base64, start, HEAD) ?? '';
  }
  const version = (bytes.charCodeAt(1) >> 3) & 3;
  const isFrame = big(bytes, 0, 2) >= 0xffe0 && version !== 1 && ((bytes.charCodeAt(1) >> 1) & 3) === 1;
  const kilobits = (version === 3 ? KILOBITS_1 : KILOBITS_2)[bytes.charCodeAt(2) >> 4] ?? 0;
  const hertz = (HERTZ[(bytes.charCodeAt(2) >> 2) & 3] ?? 0) / (version === 3 ? 1 : version === 2 ? 2 : 4);
  if (!isFrame || kilobits === 0 || hertz === 0) return undefined;
  const frames = framesOf(bytes.slice(0, 200));
  if (frames !== undefined) return (frames * (version === 3 ? 1_152 : 576)) / hertz;
  return (length - start) / (kilobits * 125);
}

/** Files of a varying rate say in their first frame how many there are. */
function framesOf(frame: string): number | undefined {
  const at = Math.max(frame.indexOf('Xing'), frame.indexOf('Info'));
  return at >= 0 && (big(frame, at + 4, 4) & 1) === 1 ? big(frame, at + 8, 4) : undefined;
}
