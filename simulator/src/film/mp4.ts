interface Track {
  readonly width: number
  readonly height: number
  /** Parameter sets of the stream. */
  readonly sequence: Buffer
  readonly picture: Buffer
  /** One unit of the stream a picture; the first can be shown by itself. */
  readonly pictures: readonly Buffer[]
  readonly picturesPerSecond: number
  /** Kept in the file as its comment. */
  readonly comment: string
}

/** Seconds from the format's epoch, 1904, to that of 2025: files are the same whenever they are made. */
const CREATED_SECONDS = 3_818_534_400
const UNITY: readonly number[] = [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000]
const UNDETERMINED = 0x55c4
const RESOLUTION = 0x480000
const WHOLE = 0x10000
const SIZE_BYTES = 4
const HEAD_BYTES = 8
const TEXT = 1

/** Writes a film as an MP4 file (ISO/IEC 14496-12 and -15); the description comes first, so that it plays while it loads. */
export function mp4(track: Track): Buffer {
  const samples = track.pictures.map(picture => Buffer.concat([u32(picture.length), picture]))
  const kind = box('ftyp', ascii('isom'), u32(0x200), ascii('isomiso2avc1mp41'))
  // The offset is a number of fixed width: the table is as long with a wrong one.
  const length = movie(track, samples, 0).length
  const offset = kind.length + length + HEAD_BYTES
  return Buffer.concat([kind, movie(track, samples, offset), box('mdat', ...samples)])
}

function movie(track: Track, samples: readonly Buffer[], offset: number): Buffer {
  const { width, height, picturesPerSecond: scale } = track
  const length = samples.length
  const mvhd = full(
    'mvhd',
    0,
    0,
    u32(CREATED_SECONDS, CREATED_SECONDS, scale, length, WHOLE),
    u16(0x100, 0),
    u32(0, 0, ...UNITY, 0, 0, 0, 0, 0, 0, 2),
  )
  const place = [
    u32(CREATED_SECONDS, CREATED_SECONDS, 1, 0, length, 0, 0),
    u16(0, 0, 0, 0),
    u32(...UNITY, width * WHOLE, height * WHOLE),
  ]
  const mdhd = full('mdhd', 0, 0, u32(CREATED_SECONDS, CREATED_SECONDS, scale, length), u16(UNDETERMINED, 0))
  const hdlr = full('hdlr', 0, 0, u32(0), ascii('vide'), u32(0, 0, 0), ascii('simulator\0'))
  const dinf = box('dinf', full('dref', 0, 0, u32(1), full('url ', 0, 1)))
  const minf = box('minf', full('vmhd', 0, 1, u16(0, 0, 0, 0)), dinf, table(track, samples, offset))
  const trak = box('trak', full('tkhd', 0, 3, ...place), box('mdia', mdhd, hdlr, minf))
  return box('moov', mvhd, trak, comment(track.comment))
}

/** `stbl`: what the samples are, how long each is shown, and where they lie: all in one chunk. */
function table(track: Track, samples: readonly Buffer[], offset: number): Buffer {
  const { width, height } = track
  const entry = [Buffer.alloc(6), u16(1), Buffer.alloc(16), u16(width, height), u32(RESOLUTION, RESOLUTION, 0), u16(1)]
  const avc1 = box('avc1', ...entry, Buffer.alloc(32), u16(24, 0xffff), configuration(track))
  return box(
    'stbl',
    full('stsd', 0, 0, u32(1), avc1),
    full('stts', 0, 0, u32(1, samples.length, 1)),
    full('stss', 0, 0, u32(1, 1)),
    full('stsc', 0, 0, u32(1, 1, samples.length, 1)),
    full('stsz', 0, 0, u32(0, samples.length), u32(...samples.map(sample => sample.length))),
    full('stco', 0, 0, u32(1, offset)),
  )
}

/** `AVCDecoderConfigurationRecord` (ISO/IEC 14496-15, section 5.3.3). */
function configuration({ sequence, picture }: Track): Buffer {
  const lengths = 0b1111_1100 | (SIZE_BYTES - 1)
  const head = Buffer.from([1, ...sequence.subarray(1, 4), lengths, 0b1110_0001])
  return box('avcC', head, u16(sequence.length), sequence, Buffer.from([1]), u16(picture.length), picture)
}

/** Metadata in the form that players look for: a handler of `mdir` and a list with one text. */
function comment(text: string): Buffer {
  const hdlr = full('hdlr', 0, 0, u32(0), ascii('mdirappl'), u32(0, 0), ascii('\0'))
  const data = box('data', u32(TEXT, 0), Buffer.from(text))
  return box('udta', full('meta', 0, 0, hdlr, box('ilst', box('\u{a9}cmt', data))))
}

function box(type: string, ...content: readonly Buffer[]): Buffer {
  const length = content.reduce((sum, { length }) => sum + length, HEAD_BYTES)
  return Buffer.concat([u32(length), ascii(type), ...content], length)
}

function full(type: string, version: number, flags: number, ...content: readonly Buffer[]): Buffer {
  return box(type, u32(version * 2 ** 24 + flags), ...content)
}

function ascii(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

function u32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4)
  return bytes
}

function u16(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2)
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, index * 2)
  return bytes
}
