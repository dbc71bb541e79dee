import { createHash } from 'node:crypto'

/** What an image costs a model that embeds it, in tokens. */
export const IMAGE_TOKENS = 85

/** Keyword of an uncompressed `iTXt` chunk without a language, as pictures of the simulator have it; then the text, to the chunk's end. */
const DESCRIPTION = Buffer.from('iTXtDescription\0\0\0\0\0')
/** Longest description that is read, in bytes. */
const MAX_DESCRIPTION_BYTES = 32 * 1024

/**
 * What an image is to the embedding model: a card of the simulator's is near the words that stand on it; any other image
 * is a thing of its own, alike to nothing but itself.
 */
export function wordsIn(base64: string): string {
  const bytes = Buffer.from(base64, 'base64')
  const at = bytes.subarray(0, 2 * MAX_DESCRIPTION_BYTES).indexOf(DESCRIPTION)
  const length = at < 4 ? 0 : bytes.readUInt32BE(at - 4) - (DESCRIPTION.length - 4)
  const from = at + DESCRIPTION.length
  if (length > 0 && length <= MAX_DESCRIPTION_BYTES && from + length <= bytes.length)
    return bytes.toString('utf8', from, from + length)
  return `image ${createHash('sha256').update(bytes).digest('hex')}`
}
