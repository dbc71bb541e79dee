const VENDOR = Buffer.from('simulator')
const COMMENT = 'COMMENT='
const MAX_SCANNED_BYTES = 64 * 1024

/** A comment header as Ogg and FLAC files have it (Vorbis I, section 5): little-endian lengths before each text. */
export function commentHeader(text: string): Buffer {
  const comment = Buffer.from(COMMENT + text)
  return Buffer.concat([size(VENDOR), VENDOR, number(1), size(comment), comment])
}

/** The text of a {@link commentHeader} near the beginning of a file. Never throws. */
export function commentIn(file: Buffer): string | undefined {
  const mark = Buffer.concat([VENDOR, number(1)])
  const found = file.subarray(0, MAX_SCANNED_BYTES).indexOf(mark)
  const at = found + mark.length
  if (found < 0 || at + 4 + COMMENT.length > file.length) return undefined
  const end = at + 4 + file.readUInt32LE(at)
  if (end > file.length || file.toString('latin1', at + 4, at + 4 + COMMENT.length) !== COMMENT) return undefined
  return file.toString('utf8', at + 4 + COMMENT.length, end)
}

function size(bytes: Buffer): Buffer {
  return number(bytes.length)
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
