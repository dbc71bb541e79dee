/** Samples a second, of 16 bits each, on one channel: what `pcm` means in this protocol. */
export const SAMPLE_RATE = 24_000
export const SAMPLE_BYTES = 2

const PCM = 1
const CHANNELS = 1
const CHUNK_HEAD_BYTES = 8

/**
 * The head of a WAV file before its samples (RIFF, Microsoft and IBM 1991): the form, the format, and a `LIST` of
 * `INFO` whose comment (`ICMT`) is the text that is spoken, in UTF-8. `size` is the length of the samples in bytes.
 */
export function wavHead(text: string, size: number): Buffer {
  const format = Buffer.alloc(16)
  format.writeUInt16LE(PCM, 0)
  format.writeUInt16LE(CHANNELS, 2)
  format.writeUInt32LE(SAMPLE_RATE, 4)
  format.writeUInt32LE(SAMPLE_RATE * CHANNELS * SAMPLE_BYTES, 8)
  format.writeUInt16LE(CHANNELS * SAMPLE_BYTES, 12)
  format.writeUInt16LE(8 * SAMPLE_BYTES, 14)
  const info = [Buffer.from('INFO'), chunk('ISFT', Buffer.from('simulator\0')), chunk('ICMT', Buffer.from(`${text}\0`))]
  const rest = Buffer.concat([
    Buffer.from('WAVE'),
    chunk('fmt ', format),
    chunk('LIST', Buffer.concat(info)),
    head('data', size),
  ])
  return Buffer.concat([head('RIFF', rest.length + size), rest])
}

/** The text that {@link wavHead} put into a file; `undefined` for other files. Never throws. */
export function spokenText(file: Buffer): string | undefined {
  if (file.toString('latin1', 0, 4) !== 'RIFF' || file.toString('latin1', 8, 12) !== 'WAVE') return undefined
  const list = chunksOf(file.subarray(12)).find(
    ({ id, data }) => id === 'LIST' && data.toString('latin1', 0, 4) === 'INFO',
  )
  const comment = list && chunksOf(list.data.subarray(4)).find(({ id }) => id === 'ICMT')
  return comment?.data.toString('utf8').replace(/\0+$/, '')
}

function head(id: string, size: number): Buffer {
  const bytes = Buffer.alloc(CHUNK_HEAD_BYTES)
  bytes.write(id, 'latin1')
  bytes.writeUInt32LE(size, 4)
  return bytes
}

/** A chunk; one of odd length is padded. */
function chunk(id: string, data: Buffer): Buffer {
  return Buffer.concat([head(id, data.length), data, Buffer.alloc(data.length % 2)])
}

/** The chunks; the last may be cut off. */
export function chunksOf(bytes: Buffer): readonly { readonly id: string; readonly data: Buffer }[] {
  const chunks: { id: string; data: Buffer }[] = []
  for (let at = 0; at + CHUNK_HEAD_BYTES <= bytes.length; ) {
    const size = bytes.readUInt32LE(at + 4)
    chunks.push({
      id: bytes.toString('latin1', at, at + 4),
      data: bytes.subarray(at + CHUNK_HEAD_BYTES, at + CHUNK_HEAD_BYTES + size),
    })
    at += CHUNK_HEAD_BYTES + size + (size % 2)
  }
  return chunks
}
