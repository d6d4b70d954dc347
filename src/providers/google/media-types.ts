/** Media types by the ending of a file's name or address. */
const BY_ENDING: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  bmp: 'image/bmp',
  heic: 'image/heic',
  heif: 'image/heif',
  mp4: 'video/mp4',
  mpeg: 'video/mpeg',
  mpg: 'video/mpg',
  mov: 'video/mov',
  avi: 'video/avi',
  flv: 'video/x-flv',
  webm: 'video/webm',
  wmv: 'video/wmv',
  '3gp': 'video/3gpp',
  mp3: 'audio/mp3',
  wav: 'audio/wav',
  ogg: 'audio/ogg',
  flac: 'audio/flac',
  aac: 'audio/aac',
  aiff: 'audio/aiff',
  m4a: 'audio/m4a',
  pdf: 'application/pdf',
  json: 'application/json',
  html: 'text/html',
  htm: 'text/html',
  css: 'text/css',
  csv: 'text/csv',
  xml: 'text/xml',
  rtf: 'text/rtf',
  md: 'text/md',
  txt: 'text/plain',
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

/** The media type of an address or a file's name, or undefined when its ending says nothing. */
export function typeOfName(name: string | undefined): string | undefined {
  const path = (name ?? '').split(/[?#]/, 1)[0] ?? '';
  const ending = /\.([a-z0-9]{2,4})$/i.exec(path)?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(BY_ENDING, ending) ? BY_ENDING[ending] : undefined;
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
