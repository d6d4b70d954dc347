import { typeOfName as registeredTypeOfName } from '../media-types.ts';

/** Media types that Google has names of its own for. */
const GOOGLE_NAMES: Readonly<Record<string, string>> = {
  'video/quicktime': 'video/mov',
  'video/x-msvideo': 'video/avi',
  'video/x-ms-wmv': 'video/wmv',
  'audio/mpeg': 'audio/mp3',
  'audio/mp4': 'audio/m4a',
  'text/markdown': 'text/md',
};

/** Formats of `input_audio` whose media type has another name; 24,000 samples a second is what they are elsewhere. */
const AUDIO_FORMATS: Readonly<Record<string, string>> = {
  mpeg: 'audio/mp3',
  aif: 'audio/aiff',
  pcm16: 'audio/L16;rate=24000',
  pcm24: 'audio/L24;rate=24000',
};

/** What a part is when nothing says more. */
const DEFAULTS = { image: 'image/jpeg', video: 'video/mp4', file: 'application/pdf' } as const;

/** Kinds of media that a part may announce. */
export type MediaKind = keyof typeof DEFAULTS;

/** The media type of an address or a file's name in Google's words, or undefined when its ending says nothing. */
export function typeOfName(name: string | undefined): string | undefined {
  const registered = registeredTypeOfName(name);
  return registered === undefined ? undefined : (GOOGLE_NAMES[registered] ?? registered);
}

/** The media type of a part of this kind that says nothing of its own. */
export function defaultType(kind: MediaKind): string {
  return DEFAULTS[kind];
}

/** The media type of `input_audio` in a format. */
export function typeOfAudio(format: string): string {
  const name = format.toLowerCase();
  if (Object.hasOwn(AUDIO_FORMATS, name)) return AUDIO_FORMATS[name] ?? `audio/${name}`;
  return `audio/${name.replace(/[^\w.+-]/g, '')}`;
}
