export interface Box {
  readonly type: string
  /** Where its content begins. */
  readonly start: number
  readonly data: Buffer
}

/** The boxes of an MP4 file, or those within a box; throws where they do not fit. */
export function boxesOf(bytes: Buffer): readonly Box[] {
  const boxes: Box[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at)
    if (length < 8 || at + length > bytes.length) throw new Error(`a box of ${length} bytes at ${at}`)
    const data = bytes.subarray(at + 8, at + length)
    boxes.push({ type: bytes.toString('latin1', at + 4, at + 8), start: at + 8, data })
    at += length
  }
  return boxes
}
