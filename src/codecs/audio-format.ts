const MIMES: Readonly<Record<string, string>> = { mp3: 'audio/mpeg', m4a: 'audio/mp4', pcm16: 'audio/pcm' }

/** `mp3` → `audio/mpeg`: formats as the compatible protocols call them. */
export function mimeOfAudio(format: string): string {
  return Object.hasOwn(MIMES, format) ? (MIMES[format] ?? format) : `audio/${format}`
}

const FORMATS: Readonly<Record<string, string>> = {
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/wave': 'wav',
  'audio/vnd.wave': 'wav',
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
  'audio/mp4': 'm4a',
  'audio/pcm': 'pcm16',
}

/** `audio/mpeg` → `mp3`. */
export function formatOfAudio(mime: string): string {
  const name = mime.toLowerCase()
  const format = Object.hasOwn(FORMATS, name) ? FORMATS[name] : name.slice(name.indexOf('/') + 1)
  return format ?? 'wav'
}
