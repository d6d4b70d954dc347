import { describe, expect, it } from 'vitest';
import { audioSeconds } from '../../../src/core/tokens/audio-length.ts';
import { mp3, wav } from '../../support/reported-counts.ts';

const base64 = (bytes: Buffer): string => bytes.toString('base64');

describe('the length of audio', () => {
  it('of a WAV is its samples over those of a second', () => {
    expect(audioSeconds(wav(3.7), 'wav')).toBeCloseTo(3.7, 2);
  });

  it('of a WAV that was written while it was recorded is that of what is there', () => {
    const bytes = Buffer.from(wav(12), 'base64');
    bytes.writeUInt32LE(0xff_ff_ff_ff, 40);
    expect(audioSeconds(base64(bytes), 'wav')).toBeCloseTo(12, 1);
  });

  it('of a WAV with other parts before its samples is not longer', () => {
    const [head, rest] = [Buffer.from(wav(5), 'base64').subarray(0, 36), Buffer.from(wav(5), 'base64').subarray(36)];
    const list = Buffer.alloc(8 + 6, 'x');
    list.write('LIST');
    list.writeUInt32LE(6, 4);
    expect(audioSeconds(base64(Buffer.concat([head, list, rest])), 'wav')).toBeCloseTo(5, 2);
  });

  it('of an MP3 with a varying rate is in its first frame', () => {
    expect(audioSeconds(mp3(4.32), 'mp3')).toBeCloseTo(4.32, 1);
  });

  it.each([
    ['MPEG 1 at 128 kbit/s', [0xff, 0xfb, 0x90, 0xc4], 16_000],
    ['MPEG 2 at 64 kbit/s', [0xff, 0xf3, 0x84, 0xc4], 8_000],
  ] as const)('of an MP3 with one rate is its bytes over that: %s, after a title', (_, frame, perSecond) => {
    const title = Buffer.alloc(10 + 300);
    title.write('ID3\x04\0\0\0\0\x02\x2c', 'latin1');
    const sound = Buffer.alloc(perSecond * 7);
    Buffer.from(frame).copy(sound);
    expect(audioSeconds(base64(Buffer.concat([title, sound])), 'mp3')).toBeCloseTo(7, 2);
  });

  it('of a FLAC is in its head', () => {
    const bytes = Buffer.alloc(60);
    bytes.write('fLaC\0\0\0\x22', 'latin1');
    // 44,100 Hz in twenty bits, two channels and sixteen bits a sample, then the samples.
    bytes.writeUInt32BE((44_100 << 12) | (1 << 9) | (15 << 4), 18);
    bytes.writeUInt32BE(44_100 * 90, 22);
    expect(audioSeconds(base64(bytes), 'flac')).toBe(90);
  });

  it.each([
    ['Opus', 'OpusHead', 48_000],
    ['Vorbis', '\x01vorbis', 44_100],
  ] as const)('of an Ogg file of %s is in its last page', (_, codec, hertz) => {
    const page = (samples: number): Buffer => {
      const bytes = Buffer.alloc(60);
      bytes.write('OggS', 'latin1');
      bytes.writeUIntLE(samples, 6, 6);
      bytes.write(codec, 28, 'latin1');
      bytes.writeUInt32LE(hertz, 40);
      return bytes;
    };
    const sound = Buffer.alloc(200_000);
    expect(audioSeconds(base64(Buffer.concat([page(0), sound, page(hertz * 61)])), 'ogg')).toBe(61);
  });

  it('of an Ogg file whose last page says nothing is guessed', () => {
    const bytes = Buffer.alloc(32_000);
    bytes.write('OggS\0\0', 'latin1');
    bytes.fill(0xff, 6, 14);
    bytes.write('OpusHead', 28, 'latin1');
    expect(audioSeconds(base64(bytes), 'ogg')).toBeCloseTo(2, 2);
  });

  it('is guessed where the file says nothing, and what is no base64 is no failure', () => {
    expect(audioSeconds('A'.repeat(64_000), 'pcm16')).toBe(1);
    expect(audioSeconds('A'.repeat(64_000), 'm4a')).toBe(3);
    expect(audioSeconds('?'.repeat(64_000), 'm4a')).toBe(3);
    expect(audioSeconds('', 'wav')).toBe(0);
  });

  it('is found in the beginning and the end only', () => {
    const long = wav(1) + 'A'.repeat(50_000_000);
    const before = process.cpuUsage();
    audioSeconds(long, 'wav');
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(50);
  });
});
