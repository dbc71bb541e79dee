import { readFile, stat } from 'node:fs/promises'
import { extname } from 'node:path'
import type { JsonObject } from '../../core/json.js'
import { CommandError } from '../io.js'

/** Largest file that is sent. */
const MAX_FILE_BYTES = 25 * 1024 * 1024

const IMAGE_TYPES: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
}
const AUDIO_FORMATS: readonly string[] = ['wav', 'mp3']

/** Files as parts of a message. */
export async function attachments(images: readonly string[], audio: readonly string[]): Promise<readonly JsonObject[]> {
  return Promise.all([...images.map(imagePart), ...audio.map(audioPart)])
}

/** The media type that an image's name says. Throws {@link CommandError} where it says none. */
export function imageType(file: string): string {
  const type = IMAGE_TYPES[extname(file).toLowerCase()]
  if (type === undefined) throw new CommandError(`${file} is not a ${Object.keys(IMAGE_TYPES).join(', ')} file`)
  return type
}

async function imagePart(file: string): Promise<JsonObject> {
  const type = imageType(file)
  const data = (await bytesOf(file)).toString('base64')
  return { type: 'image_url', image_url: { url: `data:${type};base64,${data}` } }
}

async function audioPart(file: string): Promise<JsonObject> {
  const format = extname(file).toLowerCase().slice(1)
  if (!AUDIO_FORMATS.includes(format)) throw new CommandError(`${file} is not a .wav or .mp3 file`)
  return { type: 'input_audio', input_audio: { data: (await bytesOf(file)).toString('base64'), format } }
}

/** Throws {@link CommandError} where the file is not there or too large. */
export async function bytesOf(file: string): Promise<Buffer> {
  try {
    if ((await stat(file)).size <= MAX_FILE_BYTES) return await readFile(file)
  } catch (error) {
    throw new CommandError(`${file} cannot be read (${error instanceof Error && 'code' in error ? error.code : error})`)
  }
  throw new CommandError(`${file} is larger than ${MAX_FILE_BYTES} bytes`)
}
